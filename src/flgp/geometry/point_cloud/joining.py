"""Every point joined to its nearest anchors: stages 2 and 3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..._stored import REBUILT, stored
from ..._typing import Array, IntArray
from ...rows.blocks import Blocks
from .neighbors import AnchorSearch
from .weights import local_anchor_weights

# If all points coincide, distances are 0; bandwidths and radii are then set to the rounding error.
_ROUNDING, _SMALLEST_SQDIST = 1e-15, 1e-200


@dataclass(frozen=True)
class NeighborBlock:
    """Neighbours of a block of rows; they do not depend on the bandwidth. With k sets of anchors r is k·r."""

    index: IntArray  # (b, r) nearest anchors, nearest first, set after set
    sqdist: Array  # (b, r)
    weights: Array | None  # (b, r) local anchor embedding; None for the SE kernel

    def thinned(self, stride: int, first: int = 0) -> NeighborBlock:
        """Every `stride`-th row from row `first` on."""
        rows = slice(first, None, stride)
        weights = None if self.weights is None else self.weights[rows].copy()
        # Copies: a view would keep the whole block in memory.
        return NeighborBlock(self.index[rows].copy(), self.sqdist[rows].copy(), weights)


@stored("anchors and their neighbourhoods")
@dataclass(frozen=True)
class NeighborGraph:
    """Every point joined to its r nearest anchors in each set; every anchor has at least one point."""

    anchors: Array  # (s, p), of all sets
    n_neighbors: int
    lae: bool  # local anchor embedding weights rather than SE
    sizes: Array  # (s,) n_j: points whose nearest anchor is u_j
    radii: Array  # (s,) largest distance of those points, at least the root mean d² of all pairs
    nearest_sqdist: Array  # (s,) smallest d² of any pair with this anchor
    mean_sqdist: float  # over the kept n·r pairs
    n_rows: int
    lae_mass: Array | None = None  # (s,) c_j of local anchor embedding, if already summed
    set_sizes: tuple[int, ...] | None = None  # anchors in each of several sets; None: one set
    blocks: Any = field(default=None, metadata=REBUILT, repr=False)  # of the fitted rows, during a fit
    search: Any = field(default=None, metadata=REBUILT, repr=False)

    def __post_init__(self) -> None:
        if self.search is None:  # read from a file
            search = AnchorSearch(self.anchors, self.set_sizes or [len(self.anchors)])
            object.__setattr__(self, "search", search)

    @property
    def n_sets(self) -> int:
        """Number of sets of anchors."""
        return 1 if self.set_sizes is None else len(self.set_sizes)

    def relative_distance(self, index: IntArray, sqdist: Array) -> Array:
        """Distance to the nearest anchor over its radius, (b,); the smallest over the sets.

        `index` and `sqdist` are (b, r): the neighbours of each set, nearest first.
        """
        first = slice(None, None, index.shape[1] // self.n_sets)
        return along_columns(np.minimum, np.sqrt(sqdist[:, first]) / self.radii[index[:, first]])

    def find(self, X: Array) -> NeighborBlock:
        """Neighbours of any points (b, p)."""
        return find_neighbors(X, self.search, self.n_neighbors, self.lae)


@dataclass(frozen=True)
class _Summary:
    """Sums and extremes of a block of rows per anchor; all but the last two are (s,)."""

    counts: Array
    mass: Array
    radii: Array
    nearest: Array
    total_sqdist: float
    rows: int

    def __add__(self, other: _Summary) -> _Summary:
        return _Summary(
            self.counts + other.counts,
            self.mass + other.mass,
            np.maximum(self.radii, other.radii),
            np.minimum(self.nearest, other.nearest),
            self.total_sqdist + other.total_sqdist,
            self.rows + other.rows,
        )


def find_neighbors(X: Array, search: AnchorSearch, r: int, lae: bool) -> NeighborBlock:
    """Neighbours of a block of rows (b, p), with their local anchor weights if `lae`."""
    index, sqdist = search(X, r)
    if not lae:
        return NeighborBlock(index, sqdist, None)
    X, sets = search.bounded(X), np.split(index, search.n_sets, axis=1)
    weights = [local_anchor_weights(X, search.anchors, index_of_set) for index_of_set in sets]
    return NeighborBlock(index, sqdist, np.concatenate(weights, axis=1))


def join_to_anchors(
    rows: Blocks[Array],
    anchors: Array | Sequence[Array],
    r: int,
    lae: bool,
    counts: bool,
    keep: bool = True,
    drop_singletons: bool = False,
) -> NeighborGraph:
    """Stages 2 and 3: find the neighbours, and drop unused anchors.

    Points (b, p) whose nearest anchor was dropped search again among the remaining anchors. Each of several
    sets of anchors (s, p) has a separate walk.

    `lae`: local anchor embedding weights rather than SE. `counts`: n_j are cluster sizes; otherwise 1.
    `keep`: hold the n·r neighbours in memory; otherwise they are found again in every pass.
    `drop_singletons`: also drop anchors that only a single point uses, unless that would leave fewer than
    half. The walk never leaves the anchor of a single outlier, which would waste an eigenpair.
    """
    sets = [anchors] if isinstance(anchors, np.ndarray) else list(anchors)
    search = AnchorSearch(np.concatenate(sets), [len(part) for part in sets])
    enough = len(search.anchors) // 2
    blocks: Blocks[NeighborBlock] | None = None
    alive = np.ones(len(search.anchors), dtype=bool)
    while True:
        anchors, set_sizes = search.anchors, search.set_sizes
        find = partial(find_neighbors, search=search, r=r, lae=lae)
        if blocks is None or not keep:
            blocks = rows.map(find, keep=keep)
        else:
            blocks = rows.paired_with(blocks).map(partial(_found_again, find, alive))
        summary: _Summary = blocks.reduce(partial(_summary, len(anchors), len(set_sizes)))
        alive = summary.mass > 0
        if counts:
            alive &= summary.counts > 0
        # The point of a singleton gives it weight 1; a larger mass means that other points use it too.
        joined = alive & ((summary.counts > 1) | (summary.mass > 1.01))
        if drop_singletons and np.count_nonzero(joined) >= max(enough, 1):
            alive = joined
        if alive.all():
            break
        search = search.among(alive)
    rounding = max((_ROUNDING * float(np.abs(anchors).max())) ** 2, _SMALLEST_SQDIST)
    r = min(r, *set_sizes)
    mean_sqdist = max(summary.total_sqdist / (summary.rows * r * len(set_sizes)), rounding)
    # An anchor with a single point has radius 0, although its surroundings are as well known as any.
    radii = np.maximum(summary.radii, np.sqrt(mean_sqdist))
    return NeighborGraph(
        anchors=anchors,
        search=search,
        n_neighbors=r,
        lae=lae,
        sizes=summary.counts if counts else np.ones(len(anchors)),
        radii=radii,
        nearest_sqdist=summary.nearest,
        mean_sqdist=mean_sqdist,
        n_rows=summary.rows,
        blocks=blocks,
        lae_mass=summary.mass if lae else None,
        set_sizes=set_sizes if len(set_sizes) > 1 else None,
    )


# What follows maps blocks, with arguments bound by `partial`: objects that can be sent to workers.


def _found_again(
    find: Callable[[Array], NeighborBlock], alive: Array, pair: tuple[Array, NeighborBlock]
) -> NeighborBlock:
    """Neighbours among the anchors still `alive` (s,), updated from earlier ones: few rows have lost any."""
    X, old = pair
    lost = ~alive[old.index].all(axis=1)
    fresh = find(X[lost])
    if fresh.index.shape[1] < old.index.shape[1]:  # a set has fewer than r anchors left
        return find(X)
    index = (np.cumsum(alive) - 1).astype(np.int32)[old.index]
    index[lost] = fresh.index
    sqdist, weights = old.sqdist.copy(), None
    sqdist[lost] = fresh.sqdist
    if old.weights is not None:
        weights = old.weights.copy()
        weights[lost] = fresh.weights
    return NeighborBlock(index, sqdist, weights)


def _summary(s: int, n_sets: int, block: NeighborBlock) -> _Summary:
    first = slice(None, None, block.index.shape[1] // n_sets)  # the nearest anchor of each set
    nearest = block.index[:, first].ravel()
    radii = np.zeros(s)
    np.maximum.at(radii, nearest, np.sqrt(block.sqdist[:, first]).ravel())
    closest = np.full(s, np.inf)
    np.minimum.at(closest, block.index.ravel(), block.sqdist.ravel())
    return _Summary(
        np.bincount(nearest, minlength=s).astype(float),
        local_mass(s, block),
        radii,
        closest,
        float(block.sqdist.sum()),
        len(block.index),
    )


def local_mass(s: int, block: NeighborBlock) -> Array:
    """Σ_i of the weights, or of the pairs where they have none (s,)."""
    weights = None if block.weights is None else block.weights.ravel()
    return np.bincount(block.index.ravel(), weights, s).astype(float)


def along_columns(ufunc: np.ufunc, values: Array) -> Array:
    """The columns of `values` (b, r) combined, (b,)."""
    result = values[:, 0].copy()
    for column in range(1, values.shape[1]):
        ufunc(result, values[:, column], out=result)
    return result
