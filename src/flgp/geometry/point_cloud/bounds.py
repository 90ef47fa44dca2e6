"""Which anchors may be near a point, from lower bounds of the distances in a few leading directions."""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np
from scipy import linalg

from ..._threads import blas_for
from ..._typing import Array, BoolArray, IntArray
from .tiles import smallest_apart, tile_rows

# With fewer anchors or columns than this all columns are as quick; with more columns the rotation is slow.
_FEWEST_ANCHORS, _FEWEST_COLUMNS, _MOST_COLUMNS = 4_096, 24, 1_000
# Leading directions that are tried, as fractions of the columns, and the number of anchors to try them on.
_SHARES, _TRIALS = (0.08, 0.16, 0.24, 0.32, 0.4, 0.5, 0.6), 64
# Costs in columns of a product with s anchors: of a pair that passes the bound (points have three times as
# many of them as anchors), and of the bound itself.
_COST_OF_PAIR, _COST_OF_BOUND = 10_000, 10
# Rounding errors of single and double precision, relative to the sizes of point and anchor; generous.
SINGLE, DOUBLE = 1e-5, 1e-5 * 2.0**-29
# Anchors beyond r that set the limit of the search, and pairs in a row from which on it is too slow.
_SPARE, _TOO_MANY = 2, 200


class DistanceBounds:
    """Exact search among anchors (s, p), centred and of size about 1, by their leading directions.

    With x = (a, b) and u = (c, d) in the first k directions and the others, |x - u|² is at least |a - c|² +
    (|b| - |d|)²: a squared distance in k + 1 columns. By that measure few anchors are nearer than the r-th
    nearest (of 10,000 on MNIST, k = 32 of 100: 28), and only these are looked at in all columns. The columns
    of `rotation` (p, p) are orthonormal, those that matter most first.
    """

    def __init__(self, anchors: Array, rotation: Array, k: int) -> None:
        self.k, self.rotation = k, rotation.astype(np.float32)
        rotated = anchors @ rotation
        self.rest = np.ascontiguousarray(rotated[:, k:], dtype=np.float32)
        self.rest_norms = _norms(self.rest)
        half = 0.5 * np.einsum("ij,ij->i", rotated, rotated)
        # ½|u|² - a·c - |b||d| as one product, with x = (a, |b|, 1)
        columns = [-rotated[:, :k], -self.rest_norms[:, None], half[:, None]]
        self.across = np.ascontiguousarray(np.concatenate(columns, axis=1).T, dtype=np.float32)
        self.largest = float(np.sqrt(2.0 * half.max()))

    @classmethod
    def of(cls, anchors: Array) -> DistanceBounds | None:
        """With the quickest number of leading directions; None if all columns at once are quicker."""
        s, p = anchors.shape
        if s < _FEWEST_ANCHORS or not _FEWEST_COLUMNS <= p <= _MOST_COLUMNS:
            return None
        with blas_for(p):
            rotation = linalg.eigh(anchors.T @ anchors, check_finite=False)[1][:, ::-1]
        rotated = anchors @ rotation
        trials = rotated[np.linspace(0, s - 1, _TRIALS).astype(np.intp)]
        sizes = np.einsum("ij,ij->i", rotated, rotated)
        # The fourth smallest, because each anchor is nearest to itself.
        reach = np.partition(sizes - 2.0 * trials @ rotated.T, 3, axis=1)[:, 3:4]
        best, lowest = None, float(p)
        for k in sorted({max(int(share * p), 4) for share in _SHARES}):
            beyond = np.outer(_norms(trials[:, k:]), _norms(rotated[:, k:]))
            bound = sizes - 2.0 * (trials[:, :k] @ rotated[:, :k].T + beyond)
            cost = k + _COST_OF_BOUND + _COST_OF_PAIR / s * np.count_nonzero(bound <= reach) / _TRIALS
            if cost < lowest:
                best, lowest = k, cost
        return None if best is None else cls(anchors, rotation, best)

    def among(self, kept: BoolArray) -> Self | None:
        """The same for some of the anchors; None if so few are left that all columns are as quick."""
        if np.count_nonzero(kept) < _FEWEST_ANCHORS:
            return None
        other = copy(self)
        other.rest, other.rest_norms = self.rest[kept], self.rest_norms[kept]
        other.across = np.ascontiguousarray(self.across[:, kept])
        return other

    def new_tile(self) -> Array:
        """Room for the bounds of some rows."""
        s = len(self.rest)
        return np.empty((tile_rows(s), s), dtype=np.float32)

    def candidates(self, points: Array, r: int, tile: Array) -> tuple[IntArray, IntArray] | None:
        """Pairs (row, anchor), rows ascending, that hold the r nearest anchors of points (b, p).

        None if there are too many. `points` are in single precision, at most as many as rows of `tile`.
        """
        rotated = points @ self.rotation
        rest, bound = np.ascontiguousarray(rotated[:, self.k :]), tile[: len(points)]
        norms, ones = _norms(rest), np.ones((len(points), 1), dtype=np.float32)
        np.matmul(
            np.concatenate([rotated[:, : self.k], norms[:, None], ones], axis=1), self.across, out=bound
        )
        # The r-th smallest distance of some is an upper limit of the r-th smallest of all.
        first = smallest_apart(bound, r + _SPARE)
        inner = np.einsum("bp,bkp->bk", rest, self.rest[first])
        scores = np.take_along_axis(bound, first, axis=1) + norms[:, None] * self.rest_norms[first] - inner
        limit = np.partition(scores, r - 1, axis=1)[:, r - 1]
        limit += SINGLE * self.largest * (_norms(rotated) + self.largest)
        flat = np.flatnonzero(bound <= limit[:, None])
        if len(flat) > _TOO_MANY * len(points):
            return None
        row, anchor = np.divmod(flat, bound.shape[1])
        inner = np.einsum("ij,ij->i", rest[row], self.rest[anchor])
        near = bound.ravel()[flat] + norms[row] * self.rest_norms[anchor] - inner <= limit[row]
        return row[near], anchor[near]


def _norms(rows: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))
