"""Stage 5: eigenpairs of the graph Laplacian from the small matrix ZᵀZ, and their lift to any point."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from .._stored import stored
from .._threads import thread_map, threads
from .._typing import Array, IntArray
from .base import Rows
from .chebyshev import quickest_eigenpairs
from .eigensolvers import FINE, ROUGH, with_fixed_signs

# The lift divides by σ: smaller ones carry no signal and would only amplify rounding.
_SMALLEST_SIGMA = 1e-4
# Entries of the normalised Gram matrix below this do not connect two anchors.
_EDGE = 1e-13
# Rounding mixes the vectors of eigenvalues closer than this.
_NEARLY = 1e-6
# Largest lift, in entries (2 GB), that the number of components alone may cause.
_MOST_NUMBERS = 250_000_000
# Components up to this size are solved faster than a thread starts.
_TINY_COMPONENT = 300
# The prior variance of a component is a²·n/n_c. A component with this many times the typical value holds so
# few points that the value is an artefact; its features are scaled down to the limit.
_MAX_RELATIVE_VARIANCE = 10.0


# `quickest_eigenpairs`, or another function with the same signature.
Solver = Callable[[sparse.csr_array, int, Array, float], tuple[Array, Array]]


@stored("eigenvectors at nodes")
@dataclass(frozen=True)
class Spectrum:
    """Eigenpairs of L = I - (ZΛ⁻¹Zᵀ)^(1/2), as a feature map φ(x) = z(x) B.

    `n_capped` counts stray components whose prior variance was limited.
    """

    eigenvalues: Array  # (M,) λ_i = 1 - σ_i, ascending
    lift: Array  # (s, M) B = √n Λ^(-1/2) W diag(1/σ)
    components: IntArray  # (s,) connected component of each anchor
    n_capped: int

    @property
    def n_components(self) -> int:
        """Number of connected components of the graph."""
        return int(self.components.max()) + 1

    def of_anchors(self, anchors: slice) -> Spectrum:
        """The spectrum restricted to one of several sets of anchors."""
        lift = self.lift[anchors]
        kept = lift.any(axis=0)
        return replace(
            self, eigenvalues=self.eigenvalues[kept], lift=lift[:, kept], components=self.components[anchors]
        )


@dataclass(frozen=True)
class SpectrumBasis(ABC):
    """An eigenbasis on the nodes of a graph; subclasses say what weights a point has over the nodes."""

    spectrum: Spectrum

    @property
    def eigenvalues(self) -> Array:
        return self.spectrum.eigenvalues

    @property
    def time_unit(self) -> float:
        return 1.0

    @property
    def n_parts(self) -> int:
        return self.spectrum.n_components

    @property
    def n_capped(self) -> int:
        return self.spectrum.n_capped

    def at_nodes(self, weights: Array) -> Array:
        return self.spectrum.lift @ weights

    @abstractmethod
    def rows(self, places: Any) -> Rows:
        """Weights of places over the nodes."""

    def features(self, places: Any) -> Array:
        return self.rows(places).combine(self.spectrum.lift)


def mean_spectrum(parts: Sequence[Spectrum]) -> Spectrum:
    """The concatenated features of several sets of anchors, whose kernel is the mean of the kernels."""
    sizes = [part.n_components for part in parts]
    starts = np.cumsum([0, *sizes[:-1]])
    components = np.concatenate([part.components + a for part, a in zip(parts, starts, strict=True)])
    if min(sizes) == 1:  # one set is connected, so all are
        components = np.zeros_like(components)
    eigenvalues = np.concatenate([part.eigenvalues for part in parts])
    order = np.argsort(eigenvalues, kind="stable")
    lift = linalg.block_diag(*(part.lift for part in parts))[:, order] / np.sqrt(len(parts))
    return Spectrum(eigenvalues[order], lift, components, max(part.n_capped for part in parts))


def link_parts(spectrum: Spectrum, nearest: IntArray) -> Spectrum:
    """Merge the connected parts of different sets that lie in the same place.

    `nearest` (s, k) holds the nearest anchor in each of the k sets, for each anchor.
    """
    labels, count = spectrum.components[nearest], spectrum.n_components
    pairs = (labels[:, :1].repeat(labels.shape[1], axis=1).ravel(), labels.ravel())
    links = sparse.csr_array((np.ones(labels.size), pairs), shape=(count, count))
    merged = connected_components(links, directed=False)[1].astype(np.int64)
    return replace(spectrum, components=merged[spectrum.components])


def fit_spectrum(
    gram: sparse.csr_array,
    n_rows: int,
    n_eigenpairs: int,
    near: Spectrum | None = None,
    solver: Solver = quickest_eigenpairs,
) -> Spectrum:
    """The leading eigenpairs of the graph with Gram matrix ZᵀZ (s, s).

    `near` is the spectrum of a similar graph, during a search: the solver starts from it and stops at a rough
    tolerance, which is far more accurate than a comparison of evidences needs.

    The graph is first split into its connected components: each then has σ = 1 once, and no eigenvector mixes
    two components. At least one eigenpair of each is kept.
    """
    mass = gram.sum(axis=1)  # Λ: the rows of Z sum to 1, so ZᵀZ 1 is the column sum of Z
    # A sample of the rows may miss an anchor, which then has no features.
    root = np.divide(1.0, np.sqrt(mass), out=np.zeros(len(mass)), where=mass > 0)
    normalized = sparse.csr_array(sparse.diags_array(root) @ gram @ sparse.diags_array(root))
    pattern = normalized.copy()
    pattern.data = (pattern.data > _EDGE).astype(float)
    pattern.eliminate_zeros()
    n_components, components = connected_components(pattern, directed=False)
    seen = min(n_components, max(_MOST_NUMBERS // len(mass), 1))
    if seen < n_components and near is None:
        warnings.warn(
            f"The graph has {n_components:,} connected parts, but only the {seen:,} largest fit in memory: "
            "elsewhere predictions are the prior mean. Use a wider bandwidth or more neighbours to connect "
            "them.",
            UserWarning,
            stacklevel=2,
        )
    wanted = max(n_eigenpairs, seen)
    of_each = wanted - seen + 1  # the others have at least one each

    order = np.argsort(components, kind="stable")
    bounds = np.searchsorted(components[order], np.arange(n_components + 1))

    def solve(span: tuple[int, int]) -> tuple[Array, Array, IntArray]:
        members = order[slice(*span)]
        block = normalized[members][:, members] if n_components > 1 else normalized
        trivial = _trivial_vector(mass[members])
        if near is None:
            return *_solved(block, of_each, trivial, solver=solver), members
        vectors = near.lift[members] * trivial[:, None]
        return *_solved(block, of_each, trivial, vectors, ROUGH), members

    # Several components are fastest on one thread each, in parallel unless they are tiny.
    spans = list(pairwise(bounds.tolist()))
    if n_components > 1:
        side_by_side = None if np.diff(bounds).max() > _TINY_COMPONENT else 1
        with threads(1) if side_by_side == 1 else nullcontext():
            pieces = list(thread_map(solve, spans, side_by_side))
    else:
        pieces = [solve(span) for span in spans]

    squared = np.concatenate([values for values, _, _ in pieces])
    owner = np.repeat(np.arange(n_components), [len(values) for values, _, _ in pieces])
    column = np.concatenate([np.arange(len(values)) for values, _, _ in pieces])
    sigma = np.sqrt(np.clip(squared, 0.0, 1.0))
    # First one eigenpair of each component (of the largest ones), then the largest overall.
    smallness = np.where(column > 0, 0.0, -np.bincount(components, weights=mass)[owner])
    rank = np.lexsort((owner, -sigma, smallness, column > 0))
    keep = rank[sigma[rank] > _SMALLEST_SIGMA][:wanted]
    keep = keep[np.lexsort((owner[keep], -sigma[keep]))]

    cap, n_capped = variance_caps(mass, components, n_components, n_rows)
    lift = np.zeros((len(mass), len(keep)))
    for position, pair in enumerate(keep):
        _, vectors, members = pieces[owner[pair]]
        lift[members, position] = vectors[:, column[pair]] / sigma[pair]
    lift *= (np.sqrt(n_rows) * root * np.sqrt(cap[components]))[:, None]
    return Spectrum(1.0 - sigma[keep], lift, components.astype(np.int64), n_capped)


def _trivial_vector(mass: Array) -> Array:
    """The eigenvector with σ = 1 of a component, Λ^(1/2) 1."""
    total = mass.sum()
    return np.sqrt(mass / total) if total > 0 else np.full(len(mass), 1.0)


def _solved(
    block: sparse.csr_array,
    wanted: int,
    trivial: Array,
    start: Array | None = None,
    tolerance: float = FINE,
    solver: Solver = quickest_eigenpairs,
) -> tuple[Array, Array]:
    """Largest eigenvalues σ², descending, with vectors whose signs do not depend on the solver."""
    size = block.shape[0]
    if wanted == 1:
        return np.ones(1), trivial[:, None]
    if start is None:
        start = trivial + np.random.default_rng(0).standard_normal(size) / np.sqrt(size)
    values, vectors = solver(block, wanted, start, tolerance)
    # The top pair is known exactly. If other eigenvalues are as close to 1, because parts are barely
    # connected, the solver cannot separate them: search for them again, orthogonal to the top vector.
    near_one = int(np.count_nonzero(values > 1.0 - _NEARLY))
    if near_one > 1:
        mixed = vectors[:, :near_one] - np.outer(trivial, trivial @ vectors[:, :near_one])
        basis = linalg.svd(mixed, full_matrices=False)[0][:, : near_one - 1]
        projected, rotation = linalg.eigh(basis.T @ (block @ basis))
        values[1:near_one], vectors[:, 1:near_one] = projected[::-1], basis @ rotation[:, ::-1]
    values[0], vectors[:, 0] = 1.0, trivial
    return values, with_fixed_signs(vectors)


def variance_caps(mass: Array, components: IntArray, count: int, n_rows: float) -> tuple[Array, int]:
    """Factor ≤ 1 on the prior variance of each component, and how many are below 1."""
    rows = np.bincount(components, weights=mass, minlength=count).astype(float)
    usual = _weighted_median(n_rows / np.maximum(rows, 1e-300), rows)
    cap = np.minimum(1.0, _MAX_RELATIVE_VARIANCE * usual * rows / n_rows)
    return cap, int(np.count_nonzero(cap < 1.0 - 1e-12))


def _weighted_median(values: Array, weights: Array) -> float:
    order = np.argsort(values)
    half = np.searchsorted(np.cumsum(weights[order]), 0.5 * weights.sum())
    return float(values[order[min(half, len(values) - 1)]])
