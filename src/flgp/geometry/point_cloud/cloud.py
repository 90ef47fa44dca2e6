"""The unknown manifold: a point cloud, its anchors, and the eigenfunctions of the walk through them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Self

import numpy as np

from ..._progress import note, stage
from ..._stored import stored
from ..._threads import current_threads, thread_map, threads
from ..._typing import Array, IntArray, RowLike
from ...rows.blocks import Blocks, row_blocks
from ...rows.sources import in_memory, is_streamed, refuse_overflow
from ..base import SparseRows, closeness_of
from ..bases import Quantities
from ..spectrum import Spectrum, SpectrumBasis, fit_spectrum, link_parts, mean_spectrum
from .anchors import choose_sets
from .defaults import auto_anchor_sets, auto_anchors, auto_eigenpairs
from .joining import NeighborBlock, NeighborGraph, join_to_anchors
from .walk import Transition, anchor_gram, fit_transition

# Bandwidths are searched as c in 4ε² = c · mean d²: the paper's grid.
BANDWIDTH_GRID = np.geomspace(0.1, 10.0, 20)
# Number of rows in the bandwidth search, up to twice as many if there are many anchors; the final graph uses
# all rows.
_SEARCH_ROWS, _SEARCH_ROWS_PER_ANCHOR = 65_536, 100
# r, unless it is given; and where every point is an anchor, which is tried for up to so many rows.
_NEIGHBORS, _NEIGHBORS_OF_ALL, _COMPARED_ROWS = 3, 5, 2_000
# Neighbours of rows on disk are kept up to this many pairs, about 200 MB.
CACHED_PAIRS = 10_000_000


@dataclass(frozen=True)
class CloudPlaces:
    """Points and their nearest anchors, which do not depend on the bandwidth."""

    neighbors: NeighborBlock
    closeness: Array  # (b,)


@stored("basis of a point cloud")
@dataclass(frozen=True)
class CloudBasis(SpectrumBasis):
    """Eigenfunctions of the walk point → anchor → point: φ(x) = z(x) B."""

    transition: Transition

    @property
    def bandwidth(self) -> float | None:
        """ε of the SE kernel; None for local anchor embedding."""
        return self.transition.epsilon

    def part_of(self, places: CloudPlaces) -> IntArray:
        return self.spectrum.components[places.neighbors.index[:, 0]]

    def rows(self, places: CloudPlaces) -> SparseRows:
        return SparseRows(places.neighbors.index, self.transition.rows(places.neighbors))


@dataclass(frozen=True, eq=False)
class PointCloud(Quantities):
    """A manifold known only from points on it; see `FLGPRegressor` for the parameters."""

    n_anchors: int | str = "auto"
    n_neighbors: int | str = "auto"
    anchors: str | Array = "kmeans"
    anchor_weights: str = "auto"
    n_anchor_sets: int | str = "auto"
    base_kernel: str = "lae"
    bandwidth: float | None = None

    def columns(self, n_columns: int) -> int:
        return n_columns

    @classmethod
    def of_all_points(cls) -> PointCloud:
        """Every point an anchor: nothing is left to chance, but it takes few points."""
        return cls(anchors="all", n_neighbors=_NEIGHBORS_OF_ALL)

    def candidates(self, rows: RowLike) -> list[PointCloud]:
        """Of few rows, if nothing about the graph is given, also that with every point an anchor."""
        asked = [self.n_anchors, self.n_neighbors, self.n_anchor_sets, self.anchor_weights, self.base_kernel]
        free = asked == [*["auto"] * 4, "lae"] and isinstance(self.anchors, str) and self.anchors == "kmeans"
        few = rows.shape[0] <= _COMPARED_ROWS and in_memory(rows)
        return [self, PointCloud.of_all_points()] if free and few else [self]

    def fit(self, rows: RowLike, rng: np.random.Generator) -> FittedCloud:
        """Stages 1 to 3 on all rows (n, p): anchors, neighbours, weights."""
        n, p = rows.shape
        given = self._given_anchors(p)
        n_sets = self._count_anchor_sets(n, p)
        n_anchors = auto_anchors(n, n_sets) if isinstance(self.n_anchors, str) else int(self.n_anchors)
        with stage(f"anchors for {n:,} points"):
            sets = choose_sets(rows, n_anchors, given, rng, n_sets)
        self._note_reduced(min(map(len, sets)), given)
        uniform = self.anchor_weights == "uniform" or (
            self.anchor_weights == "auto" and isinstance(given, str) and given in ("random", "all")
        )
        # The neighbours of rows in a file larger than memory may not fit in memory either.
        r = _NEIGHBORS if isinstance(self.n_neighbors, str) else int(self.n_neighbors)
        keep = not is_streamed(rows) or n * r * n_sets <= CACHED_PAIRS
        with stage(f"neighbours among {sum(map(len, sets)):,} anchors"):
            graph = join_to_anchors(
                row_blocks(rows),
                sets,
                r,
                lae=self.base_kernel == "lae",
                counts=not uniform,
                keep=keep,
                drop_singletons=isinstance(given, str) and given in ("kmeans", "minibatch"),
            )
        return FittedCloud(graph, None if graph.lae else self.bandwidth, keep)

    def _note_reduced(self, n_anchors: int, given: str | Array) -> None:
        """Numbers that were asked for, and that the rows are too few for."""
        by_rule = isinstance(given, str) and given != "all"
        if by_rule and not isinstance(self.n_anchors, str) and n_anchors < self.n_anchors:
            note(f"n_anchors={self.n_anchors} was reduced to {n_anchors}, the number of distinct rows")
        if not isinstance(self.n_neighbors, str) and n_anchors < self.n_neighbors:
            note(f"n_neighbors={self.n_neighbors} was reduced to the number of anchors, {n_anchors}")

    def _given_anchors(self, p: int) -> str | Array:
        if isinstance(self.anchors, str):
            return self.anchors
        try:
            anchors = np.asarray(self.anchors, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"anchors must be the name of a rule or a numeric array of shape (s, {p})."
            ) from error
        if anchors.ndim != 2 or anchors.shape[1] != p or len(anchors) == 0:
            raise ValueError(
                f"anchors has shape {anchors.shape}, but the points have {p} columns. Pass an array of shape "
                f"(s, {p})."
            )
        if not np.isfinite(anchors).all():
            raise ValueError("anchors contains NaN or infinity. Remove those rows.")
        refuse_overflow(anchors, "anchors")
        return anchors

    def _count_anchor_sets(self, n: int, p: int) -> int:
        chosen = isinstance(self.anchors, str) and self.anchors != "all"
        if isinstance(self.n_anchor_sets, str):
            return auto_anchor_sets(n, p) if chosen and isinstance(self.n_anchors, str) else 1
        if self.n_anchor_sets > 1 and not chosen:
            raise ValueError(
                f"n_anchor_sets={self.n_anchor_sets} needs randomly chosen anchors: use "
                "anchors='kmeans', 'minibatch' or 'random'."
            )
        return int(self.n_anchor_sets)


@stored("point cloud")
@dataclass(frozen=True)
class FittedCloud:
    """Every point joined to its nearest anchors."""

    graph: NeighborGraph
    given_bandwidth: float | None = None
    in_memory: bool = True  # whether the neighbours of the fitted rows were kept between passes

    @property
    def anchors(self) -> Array:
        return self.graph.anchors

    def locate(self, X: Array) -> CloudPlaces:
        return self.places_of(self.graph.find(X))

    def places_of(self, block: NeighborBlock) -> CloudPlaces:
        """Points whose neighbours are known."""
        return CloudPlaces(block, closeness_of(self.graph.relative_distance(block.index, block.sqdist)))

    def fitted_places(self) -> Blocks[CloudPlaces] | None:
        """Places of the fitted rows, block by block; None if the rows would have to be read again."""
        blocks: Blocks[NeighborBlock] | None = self.graph.blocks
        return blocks.map(self.places_of, keep=False) if blocks is not None and self.in_memory else None

    def distance(self, X: Array) -> Array:
        """Distance to the nearest anchor, relative to the largest distance of fitted points there, (b,)."""
        return self.graph.relative_distance(*self.graph.search(X, 1))

    def coordinates(self, X: Array) -> Array:
        return np.asarray(X, dtype=np.float64)

    def n_eigenpairs(self, n_labeled: int) -> int:
        return auto_eigenpairs(len(self.anchors), n_labeled, self.graph.n_sets)

    @property
    def bandwidths(self) -> Array | None:
        """ε on the paper's grid; None if ε is given or the weights do not use it."""
        if self.graph.lae or self.given_bandwidth is not None:
            return None
        return np.sqrt(BANDWIDTH_GRID * self.graph.mean_sqdist) / 2.0

    @property
    def typical_bandwidth(self) -> float | None:
        """A bandwidth for use without labels: the given one, or 4ε² = mean d²."""
        if self.graph.lae:
            return None
        return self.given_bandwidth or float(np.sqrt(self.graph.mean_sqdist)) / 2

    def basis(
        self,
        n_eigenpairs: int,
        bandwidth: float | None = None,
        near: CloudBasis | None = None,
        rough: bool = False,
    ) -> CloudBasis:
        """Stages 4 and 5 on all rows, or (`rough`) on a sample of them, with `n_eigenpairs` per set.

        `near` is the basis at another bandwidth, during a search: the solver starts from it and stops early.
        """
        graph, blocks = self.graph, self._sample if rough else None
        step = fit_transition(graph, bandwidth or self.given_bandwidth, blocks)
        gram = anchor_gram(graph, step, blocks)
        start = None if near is None else near.spectrum
        if graph.set_sizes is None:
            # No mean over one set: BLAS keeps all threads, and the features are not copied.
            # Rows of Z sum to 1, so the entries of ZᵀZ sum to the number of rows.
            return CloudBasis(fit_spectrum(gram, round(gram.sum()), n_eigenpairs, start), step)
        each = max(current_threads() // graph.n_sets, 1)

        def of_set(span: tuple[int, int]) -> Spectrum:
            block = gram[slice(*span), slice(*span)]
            start_of_set = None if start is None else start.of_anchors(slice(*span))
            with threads(each):
                return fit_spectrum(block, round(block.sum()), n_eigenpairs, start_of_set)

        bounds = np.cumsum([0, *graph.set_sizes]).tolist()
        spectrum = mean_spectrum(list(thread_map(of_set, pairwise(bounds), graph.n_sets)))
        if spectrum.n_components > 1:
            spectrum = link_parts(spectrum, graph.search(graph.anchors, 1)[0])
        return CloudBasis(spectrum, step)

    def frozen(self) -> Self:
        """The geometry without the n·r neighbours of the fitted points."""
        return replace(self, graph=replace(self.graph, blocks=None))

    @cached_property
    def _sample(self) -> Blocks[NeighborBlock] | None:
        """Every k-th row, enough of them to rank the bandwidths; None: all rows."""
        graph = self.graph
        rows = int(np.clip(_SEARCH_ROWS_PER_ANCHOR * len(graph.anchors), _SEARCH_ROWS, 2 * _SEARCH_ROWS))
        stride = graph.n_rows // rows
        return graph.blocks.map_at(partial(_thinned, stride)) if stride > 1 else None


def _thinned(stride: int, block: NeighborBlock, start: int) -> NeighborBlock:
    """Every `stride`-th row; the choice does not depend on how the rows are divided into blocks."""
    return block.thinned(stride, -start % stride)
