"""The r nearest anchors of every point: index and squared distance."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np
from scipy.spatial import cKDTree

from ..._threads import current_threads
from ..._typing import Array, BoolArray, IntArray
from .bounds import DOUBLE, SINGLE, DistanceBounds
from .tiles import score_tiles, smallest

# Above this many columns a KD-tree visits most of its leaves and BLAS is faster.
MAX_TREE_COLUMNS = 12
# Fewer rows than this are not worth a second thread of the tree.
_ROWS_PER_THREAD = 8_192
# Up to this many neighbours are searched by bounds of the distances.
_FEW_NEIGHBORS = 10
# Single precision picks the candidates; this many spare ones are re-ranked in double precision.
_SPARE_CANDIDATES = 4
# Numbers in differences of rows and anchors that are held at once.
_AT_ONCE = 10_000_000
# In units of the largest anchor coordinate: points beyond this are off the cloud in any case.
_FARTHEST = 1e9


class NeighborSearch:
    """Nearest anchors (s, p) by KD-tree (few columns) or by blocked matrix products (many)."""

    def __init__(self, anchors: Array) -> None:
        self.anchors = np.ascontiguousarray(anchors, dtype=np.float64)
        self._limit = _FARTHEST * (float(np.abs(self.anchors).max()) or 1.0)
        self._tree = cKDTree(self.anchors) if self.anchors.shape[1] <= MAX_TREE_COLUMNS else None
        if self._tree is None:
            # Centring keeps single precision accurate for data far from the origin.
            self._center = self.anchors.mean(axis=0)
            centered = self.anchors - self._center
            # In units of the anchors' size, because squares in single precision overflow at 1e19.
            self._unit = float(np.abs(centered).max()) or 1.0
            centered /= self._unit
            self._centered = np.ascontiguousarray(centered.T, dtype=np.float32)
            self._half_norms = (0.5 * np.einsum("ij,ij->i", centered, centered)).astype(np.float32)
            self._largest = float(np.sqrt(2.0 * self._half_norms.max()))
            self._bounds = DistanceBounds.of(centered)

    def among(self, kept: BoolArray) -> NeighborSearch:
        """The same among some of the anchors."""
        # Without an outlier the others have a unit of their own, in which single precision tells them apart.
        if self._tree is not None or 4.0 * self._half_norms[kept].max() < self._half_norms.max():
            return NeighborSearch(self.anchors[kept])
        other = copy(self)
        other.anchors, other._half_norms = self.anchors[kept], self._half_norms[kept]
        other._centered = np.ascontiguousarray(self._centered[:, kept])
        other._largest = float(np.sqrt(2.0 * other._half_norms.max()))
        other._bounds = None if self._bounds is None else self._bounds.among(kept)
        return other

    def bounded(self, X: Array) -> Array:
        """X in double precision, with very distant points moved in so that squared distances are finite."""
        return np.clip(np.asarray(X, dtype=np.float64), -self._limit, self._limit)

    def __call__(self, X: Array, r: int) -> tuple[IntArray, Array]:
        """Indices (b, r) and squared distances (b, r) of the nearest anchors, nearest first."""
        r, X = min(r, len(self.anchors)), self.bounded(X)
        if self._tree is not None:
            workers = current_threads() if len(X) >= _ROWS_PER_THREAD else 1
            distance, index = self._tree.query(X, k=np.arange(1, r + 1), workers=workers)
            return index.astype(np.int32), distance**2
        return self._brute_force(X, r)

    def _brute_force(self, X: Array, r: int) -> tuple[IntArray, Array]:
        index, sqdist = np.empty((len(X), r), dtype=np.int32), np.empty((len(X), r))
        scaled = ((X - self._center) / self._unit).astype(np.float32)
        bounds, left = self._bounds, [slice(0, len(X))]
        if bounds is not None and r <= _FEW_NEIGHBORS:
            tile, left = bounds.new_tile(), []
            for start in range(0, len(X), len(tile)):
                rows = slice(start, min(start + len(tile), len(X)))
                pairs = bounds.candidates(scaled[rows], r, tile)
                if pairs is None:
                    left.append(rows)
                else:
                    index[rows], sqdist[rows] = self._ranked(X[rows], *pairs, r)
        doubtful = [np.empty(0, dtype=np.intp)]
        count = min(r + _SPARE_CANDIDATES, len(self.anchors))
        for part in left:
            for rows, score in score_tiles(scaled[part], self._centered, self._half_norms):
                own = slice(part.start + rows.start, part.start + rows.stop)
                near = smallest(score, count)
                row = np.repeat(np.arange(len(near)), count)
                found, exact = self._ranked(X[own], row, near.ravel(), count)
                index[own], sqdist[own] = found[:, :r], exact[:, :r]
                gap = (exact[:, -1] - exact[:, r - 1]) / self._unit**2
                if count < len(self.anchors):
                    rounding = SINGLE * self._sizes(scaled[own])
                    doubtful.append(own.start + np.flatnonzero(gap <= 4.0 * rounding))
        self._settle_ties(X, np.concatenate(doubtful), index, sqdist)
        return index, sqdist

    def _settle_ties(self, X: Array, which: IntArray, index: IntArray, sqdist: Array) -> None:
        """Rows whose spare candidates are as near as the others, as far as single precision can tell.

        Their nearest anchors would depend on rounding, and that on a row's place in a matrix product: all
        anchors within the rounding of a product in double precision are ranked, equal ones by their numbers.
        """
        if len(which) == 0:
            return
        r, scaled = index.shape[1], (X[which] - self._center) / self._unit
        centered = (self.anchors - self._center) / self._unit
        half_norms = 0.5 * np.einsum("ij,ij->i", centered, centered)
        for rows, score in score_tiles(scaled, centered.T, half_norms):
            limit = np.partition(score, r - 1, axis=1)[:, r - 1] + 2.0 * DOUBLE * self._sizes(scaled[rows])
            row, anchor = np.nonzero(score <= limit[:, None])
            index[which[rows]], sqdist[which[rows]] = self._ranked(X[which[rows]], row, anchor, r)

    def _sizes(self, scaled: Array) -> Array:
        """What rounding errors of half the squared distances of rows (b, p) are relative to, (b,)."""
        return self._largest * (np.sqrt(np.einsum("ij,ij->i", scaled, scaled)) + self._largest)

    def _ranked(self, X: Array, row: IntArray, anchor: IntArray, r: int) -> tuple[IntArray, Array]:
        """The nearest r anchors of each row among pairs, rows ascending, in double precision."""
        exact, step = np.empty(len(row)), max(_AT_ONCE // X.shape[1], 1)
        for start in range(0, len(row), step):
            some = slice(start, start + step)
            difference = self.anchors[anchor[some]] - X[row[some]]
            exact[some] = np.einsum("kp,kp->k", difference, difference)
        order = np.lexsort((anchor, exact, row))
        chosen = order[np.searchsorted(row, np.arange(len(X)))[:, None] + np.arange(r)]
        return anchor[chosen], exact[chosen]


class AnchorSearch:
    """The r nearest anchors in each of several sets; the columns of the sets follow one another.

    The anchors (s, p) are given set after set, with the sizes of the sets.
    """

    def __init__(self, anchors: Array, set_sizes: Sequence[int]) -> None:
        self.anchors = anchors
        self._sets = [NeighborSearch(part) for part in np.split(anchors, np.cumsum(set_sizes)[:-1])]

    @property
    def set_sizes(self) -> tuple[int, ...]:
        """Anchors of each set."""
        return tuple(len(search.anchors) for search in self._sets)

    def among(self, kept: BoolArray) -> Self:
        """The same among some of the anchors; a set that loses all of them is gone."""
        other = copy(self)
        other.anchors = self.anchors[kept]
        parts = zip(self._sets, np.split(kept, np.cumsum(self.set_sizes)[:-1]), strict=True)
        other._sets = [search.among(own) for search, own in parts if own.any()]
        return other

    @property
    def n_sets(self) -> int:
        """Number of sets."""
        return len(self._sets)

    def bounded(self, X: Array) -> Array:
        """See `NeighborSearch.bounded`."""
        return self._sets[0].bounded(X)

    def __call__(self, X: Array, r: int) -> tuple[IntArray, Array]:
        """Indices (b, k·r) and squared distances (b, k·r) in k sets."""
        sizes = self.set_sizes
        found = [search(X, min(r, *sizes)) for search in self._sets]
        if len(found) == 1:
            return found[0]
        starts = np.cumsum([0, *sizes[:-1]])
        index = [part + np.int32(start) for (part, _), start in zip(found, starts, strict=True)]
        return np.concatenate(index, axis=1), np.concatenate([sqdist for _, sqdist in found], axis=1)
