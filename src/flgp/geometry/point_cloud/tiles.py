"""Tiles of distances between points and anchors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._typing import Array, IntArray

# Entries of one distance tile (4 MB), so that it stays in cache.
_TILE_ENTRIES = 1_000_000
# From this many anchors on, the nearest ones are searched in groups of this size.
_MANY_COLUMNS, _GROUP = 4_096, 20
# Every so many columns show below which limit many of the smallest entries are.
_STRIDE = 16


def tile_rows(n_anchors: int) -> int:
    """Rows of a tile."""
    return max(16, _TILE_ENTRIES // n_anchors)


def score_tiles(points: Array, across: Array, half_norms: Array) -> Iterator[tuple[slice, Array]]:
    """Tiles of ½|u|² - x·u, which orders the anchors of a row x as their distances do.

    `points` (n, p), anchors `across` (p, s) and `half_norms` (s,) have one precision. Each tile overwrites
    the last one: allocating new memory would cost as much as the work on it.
    """
    n_rows = tile_rows(len(half_norms))
    tile = np.empty((min(n_rows, len(points)), len(half_norms)), dtype=across.dtype)
    for start in range(0, len(points), n_rows):
        rows = slice(start, min(start + n_rows, len(points)))
        score = tile[: rows.stop - start]
        np.matmul(points[rows], across, out=score)
        np.subtract(half_norms, score, out=score)
        yield rows, score


def smallest(score: Array, k: int) -> IntArray:
    """Column indices of the k smallest entries of each row; overwrites `score` unless there are many columns.

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
        groups = smallest(lowest, k)
        members = (groups[:, :, None] + n_groups * np.arange(_GROUP)).reshape(len(score), -1)
        rest = np.arange(n_groups * _GROUP, n_columns)
        members = np.concatenate([members, np.broadcast_to(rest, (len(score), len(rest)))], axis=1)
        return np.take_along_axis(members, smallest(np.take_along_axis(score, members, axis=1), k), axis=1)
    rows = np.arange(len(score))
    chosen = np.empty((len(score), k), dtype=np.intp)
    for column in range(k):
        chosen[:, column] = score.argmin(axis=1)
        score[rows, chosen[:, column]] = np.inf
    return chosen


def smallest_apart(score: Array, k: int) -> IntArray:
    """Column indices of the smallest entries of the k groups of columns with the smallest minima.

    Nearly those of the k smallest of all, for less. There must be at least k groups.
    """
    n_groups = score.shape[1] // _GROUP
    grouped = score[:, : n_groups * _GROUP].reshape(len(score), _GROUP, n_groups)
    groups = smallest(grouped.min(axis=1), k)
    member = grouped[np.arange(len(score))[:, None], :, groups].argmin(axis=2)
    return groups + n_groups * member


def many_smallest(score: Array, k: int) -> IntArray:
    """Column indices of the k smallest entries of each row, in any order, for k far above ten.

    Only entries below a limit are compared, which some of the columns show; if it was too low anywhere, all.
    """
    some, share = score[:, ::_STRIDE], k / _STRIDE
    enough = int(share + 4.0 * np.sqrt(share)) + 1
    if 4 * enough < some.shape[1]:
        limit = np.partition(some, enough, axis=1)[:, enough]
        near = score <= limit[:, None]
        counts = np.count_nonzero(near, axis=1)
        if counts.min() >= k:
            found = np.flatnonzero(near)
            held = np.arange(counts.max()) < counts[:, None]
            value, columns = (
                np.full(held.shape, np.inf, dtype=score.dtype),
                np.zeros(held.shape, dtype=np.intp),
            )
            value[held], columns[held] = score.ravel()[found], found % score.shape[1]
            return np.take_along_axis(columns, np.argpartition(value, k - 1, axis=1)[:, :k], axis=1)
    return np.argpartition(score, k - 1, axis=1)[:, :k]
