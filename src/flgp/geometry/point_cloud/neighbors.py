"""The r nearest anchors of every point: index and squared distance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.spatial import cKDTree

from ..._typing import Array, IntArray

# Above this many columns a KD-tree visits most of its leaves and BLAS is faster.
MAX_TREE_COLUMNS = 12
# Single precision picks the candidates; this many spare ones are re-ranked in double precision.
_SPARE_CANDIDATES = 4
# Entries of one distance tile (64-bit: 8 MB), so that it stays in cache.
_TILE_ENTRIES = 1_000_000
# From this many anchors on, the nearest ones are searched in groups of this size.
_MANY_COLUMNS, _GROUP = 4_096, 20


# In units of the largest anchor coordinate: points beyond this are off the cloud in any case.
_FARTHEST = 1e9


class NeighborSearch:
    """Nearest anchors by KD-tree (few columns) or by blocked matrix products (many).

    Parameters
    ----------
    anchors : array of shape (s, p)
    """

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

    def bounded(self, X: Array) -> Array:
        """X in double precision, with very distant points moved in so that squared distances are finite."""
        return np.clip(np.asarray(X, dtype=np.float64), -self._limit, self._limit)

    def __call__(self, X: Array, r: int) -> tuple[IntArray, Array]:
        """Indices (b, r) and squared distances (b, r) of the nearest anchors, nearest first."""
        r, X = min(r, len(self.anchors)), self.bounded(X)
        if self._tree is not None:
            distance, index = self._tree.query(X, k=np.arange(1, r + 1))
            return index.astype(np.int32), distance**2
        return self._brute_force(X, r)

    def _brute_force(self, X: Array, r: int) -> tuple[IntArray, Array]:
        index, sqdist = np.empty((len(X), r), dtype=np.int32), np.empty((len(X), r))
        scaled = ((X - self._center) / self._unit).astype(np.float32)
        for rows, score in score_tiles(scaled, self._centered, self._half_norms):
            candidates = _smallest(score, min(r + _SPARE_CANDIDATES, score.shape[1]))
            difference = self.anchors[candidates] - X[rows, None, :]
            exact = np.einsum("bkp,bkp->bk", difference, difference)
            order = np.argsort(exact, axis=1, kind="stable")[:, :r]
            index[rows] = np.take_along_axis(candidates, order, axis=1)
            sqdist[rows] = np.take_along_axis(exact, order, axis=1)
        return index, sqdist


class AnchorSearch:
    """The r nearest anchors in each of several sets; the columns of the sets follow one another.

    Parameters
    ----------
    anchors : array of shape (s, p)
        Set after set.
    set_sizes : sequence of int
        Their lengths, which sum to s.
    """

    def __init__(self, anchors: Array, set_sizes: Sequence[int]) -> None:
        self.anchors = anchors
        self._smallest_set = min(set_sizes)
        self._starts = np.cumsum([0, *set_sizes[:-1]])
        self._sets = [NeighborSearch(part) for part in np.split(anchors, self._starts[1:])]

    @property
    def n_sets(self) -> int:
        """Number of sets."""
        return len(self._sets)

    def bounded(self, X: Array) -> Array:
        """See `NeighborSearch.bounded`."""
        return self._sets[0].bounded(X)

    def __call__(self, X: Array, r: int) -> tuple[IntArray, Array]:
        """Indices (b, k·r) and squared distances (b, k·r) in k sets."""
        found = [search(X, min(r, self._smallest_set)) for search in self._sets]
        if len(found) == 1:
            return found[0]
        index = [part + np.int32(start) for (part, _), start in zip(found, self._starts, strict=True)]
        return np.concatenate(index, axis=1), np.concatenate([sqdist for _, sqdist in found], axis=1)


def score_tiles(points: Array, across: Array, half_norms: Array) -> Iterator[tuple[slice, Array]]:
    """Tiles of ½|u|² - x·u, which orders the anchors of a row x as their distances do.

    `points` (n, p), anchors `across` (p, s) and `half_norms` (s,) in single precision. Each tile overwrites
    the last one: allocating new memory would cost as much as the work on it.
    """
    n_rows = max(16, _TILE_ENTRIES // len(half_norms))
    tile = np.empty((min(n_rows, len(points)), len(half_norms)), dtype=np.float32)
    for start in range(0, len(points), n_rows):
        rows = slice(start, min(start + n_rows, len(points)))
        score = tile[: rows.stop - start]
        np.matmul(points[rows], across, out=score)
        np.subtract(half_norms, score, out=score)
        yield rows, score


def _smallest(score: Array, k: int) -> IntArray:
    """Column indices of the k smallest entries of each row; overwrites `score`.

    For small k, repeated argmin (vectorised in NumPy) is several times faster than argpartition. With many
    columns, only the k groups with the smallest minima are searched: they hold the k smallest entries.
    """
    n_columns = score.shape[1]
    if k > 12 or k == n_columns:
        return np.argpartition(score, min(k, n_columns - 1), axis=1)[:, :k]
    if n_columns >= _MANY_COLUMNS:
        # Group g: columns g, g + n_groups, … The last, incomplete group is always searched.
        n_groups = n_columns // _GROUP
        lowest = score[:, : n_groups * _GROUP].reshape(len(score), _GROUP, n_groups).min(axis=1)
        groups = _smallest(lowest, k)
        members = (groups[:, :, None] + n_groups * np.arange(_GROUP)).reshape(len(score), -1)
        rest = np.arange(n_groups * _GROUP, n_columns)
        members = np.concatenate([members, np.broadcast_to(rest, (len(score), len(rest)))], axis=1)
        return np.take_along_axis(members, _smallest(np.take_along_axis(score, members, axis=1), k), axis=1)
    rows = np.arange(len(score))
    chosen = np.empty((len(score), k), dtype=np.intp)
    for column in range(k):
        chosen[:, column] = score.argmin(axis=1)
        score[rows, chosen[:, column]] = np.inf
    return chosen
