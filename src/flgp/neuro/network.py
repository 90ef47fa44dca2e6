"""Coactivation networks between atlas regions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .._typing import Array, IntArray
from .errors import ImageError
from .outputs import write_csv
from .prior import region_correlation
from .volume import VolumeReconstructor
from .volumes import on_grid_of, read_volume


@dataclass(frozen=True)
class Network:
    """Prior correlation between regions of one subject."""

    labels: list[str]  # K
    correlation: Array  # (K, K)
    coordinates: Array  # (K, 3) centres of the regions within the mask, mm
    sizes: IntArray  # (K,) voxels of each region in the mask
    threshold: float

    @property
    def edges(self) -> list[tuple[int, int, float]]:
        """Pairs of different regions with correlation above the threshold."""
        upper = np.triu(self.correlation > self.threshold, 1)
        return [(int(i), int(j), float(self.correlation[i, j])) for i, j in np.argwhere(upper)]

    @property
    def adjacency(self) -> Array:
        """Correlations above the threshold, 0 elsewhere and on the diagonal, shape (K, K)."""
        kept = np.where(self.correlation > self.threshold, self.correlation, 0.0)
        np.fill_diagonal(kept, 0.0)
        return kept


def coactivation_network(
    reconstructor: VolumeReconstructor,
    atlas: Any,
    labels: Any = None,
    *,
    threshold: float = 0.7,
    min_voxels: int = 10,
    resample: bool = False,
) -> Network:
    """Prior correlation of region means, from the feature map.

    Parameters
    ----------
    reconstructor : fitted VolumeReconstructor
    atlas : path, image or array
        Integers; 0 is background.
    labels : path or mapping from number to name, optional
        A file with one line `number name` (or `number,name`) per region, or one name per line in the order
        of the numbers. None: the numbers themselves.
    threshold : float
        Edges are correlations above this.
    min_voxels : int
        Regions with fewer voxels in the mask are left out.
    resample : bool
        Move an atlas on another grid to that of the map.

    Returns
    -------
    Network
    """
    volume, mask = reconstructor._volume_, reconstructor.mask_
    affine = volume.affine if isinstance(atlas, np.ndarray) else None
    read = on_grid_of(read_volume(atlas, affine=affine, what="the atlas"), volume, resample=resample)
    codes = np.nan_to_num(read.data)
    if not np.array_equal(codes, np.round(codes)):
        raise ImageError(f"{read.name} must hold integers, one per region.")
    numbers = np.unique(codes[codes != 0]).astype(int)
    names = labels if isinstance(labels, dict) else read_labels(labels, numbers)
    unnamed = [int(number) for number in numbers if int(number) not in names]
    if unnamed:
        raise ImageError(f"the labels have no name for atlas region(s) {unnamed[:10]}.")
    here = codes[mask].astype(int)
    found, sizes = np.unique(here[here != 0], return_counts=True)
    found, sizes = found[sizes >= min_voxels], sizes[sizes >= min_voxels]
    if len(found) < 2:
        raise ImageError(
            f"only {len(found)} region(s) of {read.name} have at least {min_voxels} voxels in the mask: a "
            "network needs two. Check that map and atlas are in the same space."
        )
    region = np.full(len(here), -1)
    for k, number in enumerate(found):
        region[here == number] = k
    X = reconstructor.coordinates_
    centres = np.array([X[region == k].mean(axis=0) for k in range(len(found))])
    correlation = region_correlation(reconstructor.model_, X, region, len(found))
    return Network([names[int(number)] for number in found], correlation, centres, sizes, threshold)


def read_labels(path: Any, numbers: IntArray) -> dict[int, str]:
    """Names of atlas regions by number, from a file; without a file, the numbers."""
    if path is None:
        return {int(number): str(number) for number in numbers}
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ImageError(f"the labels {path} cannot be read: {error}") from error
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    numbered = [re.match(r"(\d+)[\s,;]+(.+)", line) for line in lines]
    if sum(match is not None for match in numbered) >= max(len(lines) - 1, 1):  # a header line is allowed
        pairs = (match.groups() for match in numbered if match is not None)
        return {int(number): re.split(r"[\t,;]", name)[0].strip() for number, name in pairs}
    if len(lines) == len(numbers):
        return {int(number): name for number, name in zip(numbers, lines, strict=True)}
    raise ImageError(
        f"the labels {Path(path).name} have {len(lines)} lines, but the atlas has {len(numbers)} regions. "
        "It needs one line `number name` per region, or one name per line in the order of the numbers."
    )


def write_edges(path: Path, networks: Sequence[tuple[str, str, Network]]) -> None:
    """CSV with one line per edge: subject, group, two regions, correlation."""
    rows = [
        (subject, group, network.labels[i], network.labels[j], f"{value:.6f}")
        for subject, group, network in networks
        for i, j, value in network.edges
    ]
    write_csv(path, ("subject", "group", "region_1", "region_2", "correlation"), rows)


def write_matrix(path: Path, network: Network) -> None:
    """CSV with the correlation matrix, labelled on both sides."""
    rows = [[f"{value:.6f}" for value in row] for row in network.correlation]
    named = ([label, *row] for label, row in zip(network.labels, rows, strict=True))
    write_csv(path, ("region", *network.labels), named)


def write_graphml(path: Path, network: Network) -> None:
    """GraphML with names, centres and sizes of the regions, and correlations of the edges."""
    root = ElementTree.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    fields = {"name": "string", "x": "double", "y": "double", "z": "double", "voxels": "int"}
    for name, kind in fields.items():
        ElementTree.SubElement(root, "key", {"id": name, "for": "node", "attr.name": name, "attr.type": kind})
    weight = {"id": "weight", "for": "edge", "attr.name": "weight", "attr.type": "double"}
    ElementTree.SubElement(root, "key", weight)
    graph = ElementTree.SubElement(root, "graph", edgedefault="undirected")
    for k, label in enumerate(network.labels):
        node = ElementTree.SubElement(graph, "node", id=f"n{k}")
        values = (label, *(f"{value:.2f}" for value in network.coordinates[k]), str(network.sizes[k]))
        for name, text in zip(fields, values, strict=True):
            ElementTree.SubElement(node, "data", key=name).text = text
    for i, j, value in network.edges:
        edge = ElementTree.SubElement(graph, "edge", source=f"n{i}", target=f"n{j}")
        ElementTree.SubElement(edge, "data", key="weight").text = f"{value:.6f}"
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
