"""The conditioning sets: the ordering of the labelled points and the nearest previous points of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._typing import Array, IntArray
from ...geometry.point_cloud.neighbors import NeighborSearch

# Distance of the entries that pad short neighbourhoods: the correlation there is exactly 0, and the square is
# still finite.
FAR = 1e100
# Number of grids in the ordering: the smallest cell is 2^-30 of the whole.
_LEVELS = 60
# Distances whose inverse, times the finest level, would overflow; and what to multiply them by.
_TINY, _ENLARGED = 1e-270, 2.0**500
# Points of a neighbourhood where labels are taken in whole ones.
_CLUSTER = 50
# Coordinates handled at once (4 MB), so that they stay in cache.
_BATCH_ENTRIES = 500_000


@dataclass(frozen=True)
class Neighborhoods:
    """The k nearest previous neighbours N(i) of labelled points, with all distances inside the set.

    Neighbours have the numbering of the labelled points. A point with fewer than k previous points is padded
    with its own number at a distance where every covariance is 0. Memory: m·k²/2 numbers, about as much as Φ.
    """

    rows: IntArray  # (s,) the points i: all m in order, or some
    neighbors: IntArray  # (s, k)
    cross: Array  # (k, s) |x_i - x_j|, j in N(i)
    within: Array  # (k(k-1)/2, s) |x_j - x_l|, j and l in N(i), in the order of `pair_columns`

    @property
    def n_neighbors(self) -> int:
        """Neighbours of a point, k."""
        return self.neighbors.shape[1]

    def take(self, rows: IntArray) -> Neighborhoods:
        """Those of some of the points."""
        return Neighborhoods(self.rows[rows], self.neighbors[rows], self.cross[:, rows], self.within[:, rows])


def pair_columns(k: int) -> list[tuple[int, slice]]:
    """For each j < k, the slice of the pairs (j, j+1), ..., (j, k-1) among all pairs."""
    starts = np.cumsum([0, *range(k - 1, 0, -1)]).tolist()
    return [(j, slice(starts[j], starts[j] + k - 1 - j)) for j in range(k)]


def distances_within(points: Array, sets: IntArray) -> Array:
    """Distances between the members of each set (b, k) of rows of `points`, shape (k(k-1)/2, b).

    Computed from differences, never from inner products: duplicates are at distance exactly 0.
    """
    b, k = sets.shape
    within = np.empty((k * (k - 1) // 2, b))
    size = max(1, _BATCH_ENTRIES // max(1, k * points.shape[1]))
    for start in range(0, b, size):
        batch = slice(start, start + size)
        members = np.ascontiguousarray(points[sets[batch]].transpose(2, 1, 0))  # (p, k, batch)
        for j, pairs in pair_columns(k):
            difference = members[:, j + 1 :] - members[:, j : j + 1]
            within[pairs, batch] = np.sqrt(np.einsum("plb,plb->lb", difference, difference))
    return within


def check_neighbor_count(n_neighbors: int) -> None:
    """Raise a ValueError unless there is at least one neighbour."""
    if n_neighbors < 1:
        raise ValueError(f"n_residual_neighbors must be at least 1, got {n_neighbors}.")


def coarse_to_fine(points: Array, rng: np.random.Generator) -> IntArray:
    """Rows (m,) ordered so that the first points, however many, cover the whole set evenly; O(m log m).

    Each level adds one point to every occupied grid cell that has none yet; then the cells shrink by √2.
    Measured, Kullback-Leibler divergence of the factorisation from the dense model in nats (m = 2000 in a
    cube, k = 30, squared exponential, ℓ = 0.15 | Matérn 3/2, ℓ = 0.2): maximin, which costs O(m²), 53 | 9.6;
    this 61 | 11.6; random 67 | 13.4; by a coordinate 72 | 10.8. In a plane: 34 | 2.0, 35 | 2.4, 37 | 3.8,
    55 | 3.9. In many dimensions every point soon has a cell to itself: the order is then random, which is as
    good as any there.
    """
    m, p = points.shape
    order = rng.permutation(m)
    # Cells are identified by a random linear hash (modulo 2⁶⁴); a collision only delays a point.
    hash_weights = rng.integers(1, 2**62, size=p) * 2 + 1
    origin, shift = points.min(axis=0), rng.random(p)
    size, done = float(np.ptp(points, axis=0).max()), 0
    if 0 < size < _TINY:  # an exact power of two, so that 1/size is finite
        points, origin, size = points * _ENLARGED, origin * _ENLARGED, size * _ENLARGED
    for level in range(_LEVELS if size > 0 else 0):
        cells = np.floor((points[order] - origin) * (2 ** (level / 2) / size) + shift).astype(np.int64)
        # The first point of each cell: one that is already placed, if there is one.
        _, first = np.unique(cells @ hash_weights, return_index=True)
        new = rng.permutation(first[first >= done])
        rest = np.setdiff1d(np.arange(done, m), new)
        order = np.concatenate([order[:done], order[new], order[rest]])
        done += len(new)
        if done == m:
            break
    return order  # the points left at the end are duplicates


def coarse_order(points: Array) -> IntArray:
    """From coarse to fine, whatever the order of the rows."""
    canonical = np.lexsort(points.T)
    return canonical[coarse_to_fine(points[canonical], np.random.default_rng(0))]


def evenly(count: int, most: int) -> IntArray:
    """At most `most` of 0, …, count - 1, evenly spaced."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.intp))


def compact_rows(points: Array, count: int) -> IntArray:
    """`count` rows in whole neighbourhoods, all over the set: long and short distances are seen in them."""
    centers = coarse_order(points)[: max(1, 2 * count // _CLUSTER)]
    nearest, _ = NeighborSearch(points)(points[centers], min(_CLUSTER, len(points)))
    # Neighbourhoods overlap: take them until there are enough.
    _, first = np.unique(nearest, return_index=True)
    return np.sort(nearest.ravel()[np.sort(first)[:count]]).astype(np.intp)


def previous_neighborhoods(points: Array, n_neighbors: int, order: IntArray) -> Neighborhoods:
    """Condition every labelled point on its k nearest previous points, in coordinates (m, p) of u.

    At most m - 1 are used, which gives the exact (dense) covariance. `order` (m,) has the rows in the order
    of the factorisation.
    """
    check_neighbor_count(n_neighbors)
    points = np.ascontiguousarray(points, dtype=np.float64)
    m = len(points)
    neighbors = previous_neighbors(points, n_neighbors, order, np.arange(m))
    k = neighbors.shape[1]
    missing = neighbors == np.arange(m)[:, None]
    cross = np.empty((k, m))
    for slot in range(k):
        difference = points - points[neighbors[:, slot]]
        cross[slot] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    cross[missing.T] = FAR
    within = distances_within(points, neighbors)
    first, second = np.triu_indices(k, 1)
    for row in np.flatnonzero(missing.any(axis=1)):
        within[missing[row, first] | missing[row, second], row] = FAR
    return Neighborhoods(np.arange(m), neighbors, cross, within)


def previous_neighbors(points: Array, n_neighbors: int, order: IntArray, rows: IntArray) -> IntArray:
    """The nearest previous points of some rows, (s, k) row numbers; where there are none, its own number."""
    m = len(points)
    place = np.empty(m, dtype=np.intp)
    place[order] = np.arange(m)
    positions = np.sort(place[rows])
    ordered = _previous(points[order], min(n_neighbors, m - 1), positions)
    found = np.where(ordered < 0, positions[:, None], ordered)
    return order[found[np.searchsorted(positions, place[rows])]]


def _previous(points: Array, k: int, positions: IntArray) -> IntArray:
    """Positions (s, k) of the nearest earlier points of some positions, ascending, padded with -1.

    The range doubles, so that in every round about half of the neighbours of a point come before it and few
    points must be queried again with a larger count.
    """
    m = len(points)
    found = np.full((len(positions), k), -1, dtype=np.intp)
    start, stop = 0, min(m, 4 * k + 1)
    while start < m:
        search = NeighborSearch(points[:stop])
        which = np.flatnonzero((positions >= start) & (positions < stop))
        rows, count = positions[which], min(stop, 2 * k + 8)
        while rows.size:
            candidates, _ = search(points[rows], count)
            earlier = candidates < rows[:, None]
            enough = (earlier.sum(axis=1) >= np.minimum(k, rows)) | (count == stop)
            # A stable sort moves the earlier points to the front and keeps them nearest first.
            front = np.argsort(~earlier[enough], axis=1, kind="stable")[:, :k]
            chosen = np.take_along_axis(candidates[enough], front, axis=1)
            valid = np.take_along_axis(earlier[enough], front, axis=1)
            found[which[enough], : front.shape[1]] = np.where(valid, chosen, -1)
            which, rows, count = which[~enough], rows[~enough], min(stop, 2 * count)
        start, stop = stop, min(m, 2 * stop)
    return found
