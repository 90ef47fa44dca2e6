"""Lloyd's iteration in many columns, by matrix products in single precision."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg, sparse

from ..._linalg import distinct_rows
from ..._progress import advance
from ..._threads import blas_for, thread_map
from ..._typing import Array, IntArray
from .neighbors import MAX_TREE_COLUMNS
from .tiles import many_smallest, score_tiles

# Lloyd stops when the inertia falls by less than this (relative).
_TOLERANCE = 1e-4
# A point looks for its next centre among those near its current one, in groups of about this many centres;
# with fewer clusters than this, among all centres.
_GROUP, _CLOSURE, _FEW_CLUSTERS = 8, 256, 500
# From this many on, not even the first round looks at all centres.
_MANY_CLUSTERS = 5_000
_GROUPS_PER_TASK, _ROWS_PER_TASK = 16, 1_024
# Share of the variance in the directions by which points are assigned; rows from which they are learned; the
# fraction of the columns up to which they save time, and the columns up to which they are cheap to find.
_LEADING_VARIANCE, _LEADING_ROWS, _LEADING_SHARE, _MOST_COLUMNS = 0.95, 20_000, 0.7, 1_000


def plain_lloyd(points: Array, n_clusters: int, order: IntArray, max_iter: int) -> Array:
    """Lloyd in single precision from the first points in a random `order`: centres (at most n_clusters, p).

    Only the first round compares every point with every centre. Later a point moves to a centre near its
    current one (a closure, as in Wang, Wang, Ke, Zeng & Li 2012), at a cost that does not grow with the
    number of centres. With many clusters the first round does so as well, near the nearest of an eighth of
    the centres. The final inertia is within a percent of that of full rounds.

    With many clusters points are compared in the directions that hold 95 % of their variance: this takes two
    thirds of the time, and the inertia in all columns is no larger (MNIST, 10,000 clusters).
    """
    center = points.mean(axis=0, dtype=np.float64)
    # In units of the data's size, because squares in single precision overflow at 1e19.
    ends = points.max(axis=0) - center, points.min(axis=0) - center
    unit = float(max(np.abs(end).max() for end in ends)) or 1.0
    data = ((points - center) / unit).astype(np.float32)
    leading = _leading(data) if n_clusters > _FEW_CLUSTERS else data
    norms = np.einsum("ij,ij->i", leading, leading)
    centers: Array = distinct_rows(leading[order[:n_clusters]]).astype(np.float64)
    previous = np.inf
    for n_rounds in range(max_iter):
        rounded = centers.astype(np.float32)
        if len(centers) <= (_FEW_CLUSTERS if n_rounds else _MANY_CLUSTERS):
            label, score = _nearest_of_all(leading, rounded)
        else:
            if n_rounds & (n_rounds - 1) == 0:  # 0, 1, 2, 4, 8, …: neighbours change less and less
                leaders, group, closures = _closures(rounded)
            near = _nearest_of_all(leading, leaders)[0] if n_rounds == 0 else group[label]
            label, score = _nearest_in_closure(leading, rounded, near, closures)
        sqdist = norms + 2.0 * score
        inertia = float(sqdist.sum(dtype=np.float64))
        advance(n_rounds + 1, max_iter, "rounds at most")
        if n_rounds + 1 == max_iter or inertia >= previous * (1.0 - _TOLERANCE):
            break
        previous = inertia
        centers = cluster_means(leading, label, sqdist, len(centers))
    return cluster_means(data, label, sqdist, len(centers)) * unit + center


def _leading(data: Array) -> Array:
    """The centred data (n, p) in the directions of most variance; as they are if that saves little."""
    n, p = data.shape
    if p > _MOST_COLUMNS:
        return data
    some = data if n <= _LEADING_ROWS else data[np.random.default_rng(0).permutation(n)[:_LEADING_ROWS]]
    with blas_for(p):
        values, vectors = linalg.eigh((some.T @ some).astype(np.float64), check_finite=False)
        held = np.cumsum(values[::-1]) / values.sum()
        count = int(np.searchsorted(held, _LEADING_VARIANCE)) + 1
        if not count <= _LEADING_SHARE * p:
            return data
        return data @ np.ascontiguousarray(vectors[:, ::-1][:, :count], dtype=np.float32)


def cluster_means(points: Array, label: IntArray, sqdist: Array, n_clusters: int) -> Array:
    """Means of the clusters; an empty cluster moves to one of the points farthest from its centre."""
    counts = np.bincount(label, minlength=n_clusters)
    if points.shape[1] <= MAX_TREE_COLUMNS:  # less than it takes to make the matrix below
        sums = np.column_stack([np.bincount(label, column, n_clusters) for column in points.T])
    else:
        ones = np.ones(len(label), dtype=points.dtype)
        members = sparse.csr_array((ones, (label, np.arange(len(label)))), shape=(n_clusters, len(label)))
        sums = np.asarray(members @ points, dtype=np.float64)
    centers = sums / np.maximum(counts, 1)[:, None]
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        farthest = np.argsort(sqdist, kind="stable")[::-1][: len(empty)]
        centers[empty[: len(farthest)]] = points[farthest]
    return centers


def _nearest_of_all(data: Array, centers: Array) -> tuple[IntArray, Array]:
    """Nearest centre of every row, and ½|c|² - x·c there; tiles stay in cache."""
    nearest, lowest = np.empty(len(data), dtype=np.intp), np.empty(len(data), dtype=np.float32)

    def take(rows: slice, score: Array) -> None:
        nearest[rows] = label = score.argmin(axis=1)
        lowest[rows] = score[np.arange(len(label)), label]

    _for_tiles(take, data, centers)
    return nearest, lowest


def _for_tiles(use: Callable[[slice, Array], None], data: Array, centers: Array) -> None:
    """Call `use` with each tile of rows of `data` and their ½|c|² - x·c for all centres."""
    half = 0.5 * np.einsum("ij,ij->i", centers, centers)
    across = np.ascontiguousarray(centers.T)

    def task(start: int) -> None:
        for rows, score in score_tiles(data[start : start + _ROWS_PER_TASK], across, half):
            use(slice(start + rows.start, start + rows.stop), score)

    list(thread_map(task, range(0, len(data), _ROWS_PER_TASK)))


def _closures(centers: Array) -> tuple[Array, IntArray, IntArray]:
    """Leaders (G, p), the nearest of them for each centre (s,), and the centres nearest to each (G, c)."""
    leaders = centers[np.linspace(0, len(centers) - 1, len(centers) // _GROUP).astype(np.int64)]
    group, _ = _nearest_of_all(centers, leaders)
    closures = np.empty((len(leaders), _CLOSURE), dtype=np.intp)

    def take(rows: slice, score: Array) -> None:
        closures[rows] = many_smallest(score, _CLOSURE)

    _for_tiles(take, leaders, centers)
    return leaders, group, closures


def _nearest_in_closure(
    data: Array, centers: Array, of_row: IntArray, closures: IntArray
) -> tuple[IntArray, Array]:
    """Like `_nearest_of_all`, among the centres in the closure of each row's group (n,)."""
    half = 0.5 * np.einsum("ij,ij->i", centers, centers)
    order = np.argsort(of_row, kind="stable")
    bounds = np.searchsorted(of_row[order], np.arange(len(closures) + 1))
    nearest, lowest = np.empty_like(of_row), np.empty(len(data), dtype=np.float32)

    def move(groups: range) -> None:
        for g in groups:
            rows, candidates = order[bounds[g] : bounds[g + 1]], closures[g]
            score = half[candidates] - data[rows] @ centers[candidates].T
            best = score.argmin(axis=1)
            nearest[rows], lowest[rows] = candidates[best], score[np.arange(len(rows)), best]

    starts = range(0, len(closures), _GROUPS_PER_TASK)
    list(thread_map(move, (range(len(closures))[a : a + _GROUPS_PER_TASK] for a in starts)))
    return nearest, lowest
