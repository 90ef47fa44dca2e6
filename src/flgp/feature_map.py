"""The feature map φ(x) = z(x) B of any point, seen or not, with its distance from the point cloud."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from scipy import sparse

from ._threads import thread_map
from ._typing import Array, IntArray
from .blocks import Blocks
from .graph import NeighborBlock, NeighborGraph, Transition, anchor_gram, fit_transition
from .spectrum import Spectrum, fit_spectrum, link_parts, mean_spectrum


@dataclass(frozen=True)
class Rows:
    """Rows of the transition matrix, and how far each belongs to the point cloud."""

    index: IntArray  # (b, r)
    z: Array  # (b, r)
    closeness: Array  # (b,) 1 on the cloud, falling to 0 far away
    points: Array | None = field(default=None, kw_only=True)  # (b, p), if known, for a residual
    block: NeighborBlock | None = field(default=None, kw_only=True)  # what other bandwidths need

    def combine(self, values: Array) -> Array:
        """Σ_j z_j values_j: values at the anchors (s,) or (s, k) → (b,) or (b, k)."""
        if values.ndim == 1:
            return np.einsum("br,br->b", self.z, values[self.index])
        b, r = self.index.shape
        indptr = np.arange(0, b * r + 1, r)
        Z = sparse.csr_array((self.z.ravel(), self.index.ravel(), indptr), shape=(b, len(values)))
        return np.asarray(Z @ values)

    def quadratic(self, values: Array) -> Array:
        """Σ_jk z_j z_k values_jk: a matrix at the anchors (s, s) → (b,)."""
        block = values[self.index[:, :, None], self.index[:, None, :]]
        return np.einsum("br,brc,bc->b", self.z, block, self.z)


@dataclass(frozen=True)
class FeatureMap:
    """Stages 2 to 5, fitted: everything that a point needs to get its features."""

    graph: NeighborGraph
    transition: Transition
    spectrum: Spectrum

    @property
    def eigenvalues(self) -> Array:
        """λ (M,)."""
        return self.spectrum.eigenvalues

    def rows(self, X: Array) -> Rows:
        """Transition rows of points (b, p)."""
        return replace(self.rows_of(self.graph.find(X)), points=X)

    def rows_of(self, block: NeighborBlock) -> Rows:
        """Transition rows of points whose neighbours are known."""
        return Rows(block.index, self.transition.rows(block), self._closeness(block), block=block)

    def features(self, rows: Rows) -> Array:
        """φ, shape (b, M); without the factor for distance from the cloud."""
        return rows.combine(self.spectrum.lift)

    def without_blocks(self) -> FeatureMap:
        """The same without the n·r neighbours of the fitted points."""
        return replace(self, graph=replace(self.graph, blocks=Blocks([])))

    def _closeness(self, block: NeighborBlock) -> Array:
        """Factor g on the heat-kernel part of f.

        z(x) sums to 1 wherever x is, so a point far from all anchors would otherwise be as certain as
        the nearest fitted ones. g is 1 within the radius that the fitted points show around the
        anchor, then falls as a Gaussian of the excess; f gets its prior variance back as g falls.
        """
        excess = np.maximum(self.graph.relative_distance(block.index, block.sqdist) - 1.0, 0.0)
        return np.exp(-0.5 * np.minimum(excess, 40.0) ** 2)


def fit_feature_map(
    graph: NeighborGraph,
    n_eigenpairs: int,
    epsilon: float | None = None,
    blocks: Blocks[NeighborBlock] | None = None,
    n_threads: int = 1,
    near: FeatureMap | None = None,
) -> FeatureMap:
    """Stages 4 and 5 on all rows, or on some `blocks` of them; `n_eigenpairs` for each set of anchors.

    `near` is the map at another bandwidth, in a search: this one is then found from it, and roughly.
    """
    step = fit_transition(graph, epsilon, blocks)
    gram = anchor_gram(graph, step, blocks)
    start = None if near is None else near.spectrum
    if graph.set_sizes is None:
        # Not a mean of one: BLAS keeps all threads, and the features are not copied.
        # Rows of Z sum to 1, so the entries of ZᵀZ sum to the number of rows seen.
        return FeatureMap(graph, step, fit_spectrum(gram, round(gram.sum()), n_eigenpairs, n_threads, start))

    def of_set(span: tuple[int, int]) -> Spectrum:
        own = gram[slice(*span), slice(*span)]
        beside = None if start is None else start.of_anchors(slice(*span))
        return fit_spectrum(own, round(own.sum()), n_eigenpairs, max(n_threads // graph.n_sets, 1), beside)

    bounds = np.cumsum([0, *graph.set_sizes]).tolist()
    spectrum = mean_spectrum(list(thread_map(of_set, pairwise(bounds), min(n_threads, graph.n_sets))))
    if spectrum.n_components > 1:
        spectrum = link_parts(spectrum, graph.search(graph.anchors, 1)[0])
    return FeatureMap(graph, step, spectrum)
