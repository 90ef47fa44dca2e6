"""The r nearest anchors of every point: index and squared distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree

from .._typing import Array, IntArray

# Above this many columns a KD-tree visits most of its leaves and BLAS is faster.
MAX_TREE_COLUMNS = 12
# Single precision picks the candidates; this many spare ones are re-ranked in double precision.
_SPARE_CANDIDATES = 4
# Entries of one distance tile (64-bit: 8 MB), so that it stays in cache.
_TILE_ENTRIES = 1_000_000


# In units of the largest coordinate of an anchor: beyond it a point is off the cloud, wherever it is.
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
            # Centring keeps single precision honest for data far from the origin.
            self._center = self.anchors.mean(axis=0)
            centered = self.anchors - self._center
            # In units of their size, because squares in single precision overflow at 1e19.
            self._unit = float(np.abs(centered).max()) or 1.0
            centered /= self._unit
            self._centered = np.ascontiguousarray(centered.T, dtype=np.float32)
            self._half_norms = (0.5 * np.einsum("ij,ij->i", centered, centered)).astype(np.float32)

    def bounded(self, X: Array) -> Array:
        """X in double precision, points absurdly far away moved in, so that squared distances are finite."""
        return np.clip(np.asarray(X, dtype=np.float64), -self._limit, self._limit)

    def __call__(self, X: Array, r: int) -> tuple[IntArray, Array]:
        """Indices (b, r) and squared distances (b, r) of the nearest anchors, nearest first."""
        r, X = min(r, len(self.anchors)), self.bounded(X)
        if self._tree is not None:
            distance, index = self._tree.query(X, k=np.arange(1, r + 1))
            return index.astype(np.int32), distance**2
        rows = max(16, _TILE_ENTRIES // len(self.anchors))
        parts = [self._brute_force(X[i : i + rows], r) for i in range(0, len(X), rows)]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def _brute_force(self, X: Array, r: int) -> tuple[IntArray, Array]:
        X = np.asarray(X, dtype=np.float64)
        # ½|u|² - x·u orders the anchors of one row as their distances do.
        score = self._half_norms - ((X - self._center) / self._unit).astype(np.float32) @ self._centered
        candidates = _smallest(score, min(r + _SPARE_CANDIDATES, score.shape[1]))
        difference = self.anchors[candidates] - X[:, None, :]
        sqdist = np.einsum("bkp,bkp->bk", difference, difference)
        order = np.argsort(sqdist, axis=1, kind="stable")[:, :r]
        index = np.take_along_axis(candidates, order, axis=1).astype(np.int32)
        return index, np.take_along_axis(sqdist, order, axis=1)


class AnchorSearch:
    """The r nearest anchors in each of several sets, the columns of one set after those of another.

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
        """As `NeighborSearch.bounded`."""
        return self._sets[0].bounded(X)

    def __call__(self, X: Array, r: int) -> tuple[IntArray, Array]:
        """Indices (b, k·r) and squared distances (b, k·r) in k sets."""
        found = [search(X, min(r, self._smallest_set)) for search in self._sets]
        if len(found) == 1:
            return found[0]
        index = [part + np.int32(start) for (part, _), start in zip(found, self._starts, strict=True)]
        return np.concatenate(index, axis=1), np.concatenate([sqdist for _, sqdist in found], axis=1)


def _smallest(score: Array, k: int) -> IntArray:
    """Column indices of the k smallest entries of each row; overwrites `score`.

    For few of them, repeated argmin (vectorised in NumPy) is several times faster than argpartition.
    """
    if k > 12 or k == score.shape[1]:
        return np.argpartition(score, min(k, score.shape[1] - 1), axis=1)[:, :k]
    rows = np.arange(len(score))
    chosen = np.empty((len(score), k), dtype=np.intp)
    for column in range(k):
        chosen[:, column] = score.argmin(axis=1)
        score[rows, chosen[:, column]] = np.inf
    return chosen
