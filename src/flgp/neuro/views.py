"""Pictures of maps, seeds, regions, networks and surfaces; left and right are marked in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .._typing import Array
from .network import Network
from .seed import SMALLEST_CORRELATION, SeedMap
from .volumes import Volume

_FAINT = 1e-6  # below this a voxel is transparent
BACKGROUNDS = ("mni", "none")


def _figure(width: float, height: float) -> Figure:
    # Without pyplot: no window, and nothing stays open. Nilearn needs a canvas to draw on.
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def _background(choice: Any) -> Any:
    """The bg_img for nilearn: its MNI template, nothing, or an image of the user."""
    if choice == "none":
        return None
    if choice == "mni":
        from nilearn.datasets import load_mni152_template

        return load_mni152_template(resolution=2)
    return choice


def _panel(
    figure: Figure,
    box: tuple[float, float, float, float],
    image: Any,
    title: str,
    background: Any,
    at: Any,
    cmap: str,
    vmin: float,
    vmax: float,
    colorbar_format: str = "%.2g",
) -> None:
    """Three views through a point, with a colour bar, in a part (left, bottom, width, height) of a figure."""
    from nilearn.plotting import plot_img

    left, bottom, width, height = box
    figure.text(left + 0.01, bottom + height - 0.005, title, fontsize=12, va="top", color="black")
    axes = figure.add_axes((left, bottom, width, height - 0.14 * height))
    plot_img(
        image,
        cut_coords=tuple(float(x) for x in at),
        axes=axes,
        figure=figure,
        bg_img=_background(background),
        black_bg=False,
        threshold=_FAINT,
        colorbar=True,
        cmap=cmap,
        vmin=vmin,
        vmax=vmax,
        cbar_tick_format=colorbar_format,
        annotate=True,
        draw_cross=True,
    )


def _rows(n: int) -> list[tuple[float, float, float, float]]:
    return [(0.0, 1 - (k + 1) / n, 1.0, 1 / n) for k in range(n)]


def _visible(volume: Volume, values: Array, inside: Array) -> Any:
    """An image for display: values inside are never exactly 0, which nilearn does not draw."""
    shown = np.where(inside, np.where(np.abs(values) <= 2 * _FAINT, 4 * _FAINT, values), 0.0)
    return volume.image(np.nan_to_num(shown), keep_range=False)


def plot_reconstruction(reconstructor: Any, result: Any, *, background: Any = "mni") -> Figure:
    """What the model saw, the completed map and its standard deviation, in three views each."""
    volume, mask = reconstructor._volume_, reconstructor.mask_
    seen = np.zeros(mask.shape, dtype=bool)
    seen[mask] = reconstructor.labeled_
    mean, std = (
        np.asarray(image.dataobj, dtype=float).reshape(mask.shape) for image in (result.mean, result.std)
    )
    filled = mask & ~seen
    # The cuts go through what was filled in, such as a lesion.
    at = _middle(volume, filled) if filled.any() else _strongest(volume, np.where(seen, volume.data, 0.0))
    limit = float(np.quantile(np.abs(mean[mask]), 0.99)) or 1.0
    unseen = mask & (std > 0)
    # Parts of the graph without a label have the prior standard deviation, which would hide all others.
    largest = float(np.quantile(std[unseen], 0.98)) if unseen.any() else 1.0
    figure = _figure(9.0, 9.6)
    panels = [
        (volume.data, seen, f"Seen by the model: {seen.sum():,} voxels", "RdBu_r", -limit, limit),
        (mean, mask, f"Completed: {mask.sum():,} voxels", "RdBu_r", -limit, limit),
        (std, unseen, "Standard deviation where predicted", "viridis", 0.0, largest),
    ]
    for box, (values, inside, title, cmap, vmin, vmax) in zip(_rows(3), panels, strict=True):
        _panel(figure, box, _visible(volume, values, inside), title, background, at, cmap, vmin, vmax)
    return figure


def plot_seed(seed: SeedMap, *, background: Any = "mni", name: str = "") -> Figure:
    """Log prior correlation with the seed above the straight distance to it, in the same three views."""
    inside = np.asarray(seed.mask.dataobj) > 0

    def visible(image: Any, sign: float) -> Any:
        values = np.asarray(image.dataobj, dtype=float)
        shown = np.where(inside, np.where(np.abs(values) < 2 * _FAINT, sign * 4 * _FAINT, values), 0.0)
        return type(image)(shown.astype(np.float32), image.affine, image.header)

    x, y, z = seed.at
    figure = _figure(9.0, 6.6)
    low = float(np.log(SMALLEST_CORRELATION))
    upper, lower = _rows(2)
    title = f"{name + ': ' if name else ''}log prior correlation with ({x:g}, {y:g}, {z:g}) mm"
    _panel(figure, upper, visible(seed.log_correlation, -1), title, background, seed.at, "viridis", low, 0.0)
    far = float(np.quantile(np.asarray(seed.distance.dataobj)[inside], 0.99))
    title = "Straight distance to the seed, mm"
    _panel(
        figure, lower, visible(seed.distance, 1), title, background, seed.at, "viridis_r", 0.0, far, "%.0f"
    )
    return figure


def plot_counts(regions: Any, *, background: Any = "mni") -> Figure:
    """Number of subjects in which each voxel is active, in three views through the maximum."""
    counts = regions.counts.astype(float)
    most = int(counts.max())
    at = _strongest(regions.grid, np.where(counts == most, np.abs(regions.total) + 1.0, 0.0))
    figure = _figure(9.0, 3.5)
    image = _visible(regions.grid, counts, counts > 0)
    title = f"Number of subjects whose region contains the voxel (of {int(regions.kept.sum())})"
    _panel(figure, _rows(1)[0], image, title, background, at, "viridis", 0.0, float(most), "%.0f")
    return figure


def _strongest(volume: Volume, values: Array) -> Array:
    """Millimetres of the voxel with the largest |value|."""
    index = np.array(np.unravel_index(np.abs(values).argmax(), values.shape))
    return volume.at(index)


def _middle(volume: Volume, inside: Array) -> Array:
    """Millimetres of the voxel in the middle of the largest connected part."""
    from scipy.ndimage import label

    parts, _ = label(inside)
    largest = int(np.argmax(np.bincount(parts.ravel())[1:])) + 1
    places = np.argwhere(parts == largest)
    index = places[np.argmin(((places - places.mean(axis=0)) ** 2).sum(axis=1))]
    return volume.at(index)


def plot_networks(networks: Sequence[tuple[str, Network]]) -> Figure:
    """Each network on a glass brain, with its correlation matrix below; one column per network."""
    from nilearn.plotting import plot_connectome

    columns = min(len(networks), 4)
    bands = -(-len(networks) // columns)
    figure = _figure(max(5.2 * columns, 7.0), 7.4 * bands)
    for k, (title, network) in enumerate(networks):
        left, top = (k % columns) / columns, 1 - (k // columns) / bands
        width, height = 1 / columns, 1 / bands
        figure.text(left + width / 2, top - 0.02 * height, title, ha="center", va="top", fontsize=12)
        above = figure.add_axes((left, top - 0.46 * height, width, 0.39 * height))
        above.axis("off")
        if not network.edges:
            _draw_nodes(figure, above, network, "ortho" if columns == 1 else "xz")
        else:
            plot_connectome(
                network.adjacency,
                network.coordinates,
                node_size=10,
                node_color="black",
                edge_cmap="autumn_r",
                edge_kwargs={"linewidth": 3},
                edge_vmin=network.threshold,
                edge_vmax=1.0,
                display_mode="ortho" if columns == 1 else "xz",
                axes=above,
                figure=figure,
                annotate=True,
            )
        below = figure.add_axes((left + 0.2 * width, top - 0.97 * height, 0.66 * width, 0.44 * height))
        picture = below.imshow(network.correlation, vmin=-1, vmax=1, cmap="RdBu_r")
        _name_axes(below, network.labels)
        bar = figure.colorbar(picture, ax=below, fraction=0.045, pad=0.03)
        bar.ax.set_title("corr.", fontsize=8)
    return figure


def _draw_nodes(figure: Figure, axes: Any, network: Network, display_mode: str) -> None:
    """A glass brain with the regions alone: nilearn cannot draw a connectome without edges."""
    from nilearn.plotting import plot_glass_brain

    display = plot_glass_brain(None, display_mode=display_mode, axes=axes, figure=figure, annotate=True)
    display.add_markers(network.coordinates, marker_color="black", marker_size=10)
    axes.set_title(no_edges(network), fontsize=9, y=-0.05)


def no_edges(network: Network) -> str:
    """What to say about a network without an edge."""
    off = network.correlation[~np.eye(len(network.labels), dtype=bool)]
    return f"no edge above {network.threshold:g}; the largest correlation is {off.max():.2f}"


def _name_axes(axes: Any, labels: Sequence[str]) -> None:
    """Write names along the left side, as many as fit."""
    step = -(-len(labels) // 40)
    ticks = range(0, len(labels), step)
    axes.set_yticks(ticks, [labels[i][:22] for i in ticks], fontsize=7 if len(labels) <= 20 else 5)
    axes.set_xticks([])
