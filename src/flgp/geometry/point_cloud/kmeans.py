"""k-means for anchors: k-means++ quality in a fraction of the time, the same for any thread count."""

from __future__ import annotations

import numpy as np

from ..._linalg import distinct_rows
from ..._typing import Array, IntArray
from .lloyd import cluster_means, plain_lloyd
from .neighbors import MAX_TREE_COLUMNS, NeighborSearch

# Each seeding round multiplies the number of centres by this: few rounds, and D² stays up to date.
_SEEDING_GROWTH = 1.5
# Lloyd stops when the inertia falls by less than this (relative): roughly, to convergence.
_ROUGH, _FINE = 1e-2, 1e-3
# Assignments after seeding, at most; and those in many columns.
_ROUNDS, _MANY_COLUMN_ROUNDS = 100, 20
# Points per centre that seeding and relocation look at.
_ROUGH_POINTS = 8
# Fractions of the centres that the first and last relocations move; halved when a move does not help.
_RELOCATED, _LAST_RELOCATED = 0.1, 0.02


def kmeans(points: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Cluster centres, shape (at most n_clusters, p): fewer when there are fewer distinct points.

    In few columns, seeding draws with probability ∝ squared distance to the nearest centre, as k-means++
    does, but many at a time. Between rounds of Lloyd's iteration, the centres whose removal costs least move
    into the clusters with the largest inertia. This corrects mistakes of the seeding: two centres where one
    would do, one centre between two sheets.

    In many columns distances concentrate, and both steps would only collect outliers: random seeding and
    plain Lloyd in single precision give lower inertia and lower label error, in a fraction of the time.
    """
    points = np.ascontiguousarray(points)
    if points.shape[1] > MAX_TREE_COLUMNS:
        return plain_lloyd(points, n_clusters, rng.permutation(len(points)), _MANY_COLUMN_ROUNDS)
    # A few points per centre show roughly where centres are missing; all points show exactly where.
    count = min(len(points), _ROUGH_POINTS * n_clusters)
    sample = points[np.sort(rng.choice(len(points), count, replace=False))]
    centers = _seed(sample, n_clusters, rng)
    centers, inertia, used = _lloyd(sample, centers, _ROUGH, _ROUNDS)
    moved = int(_RELOCATED * len(centers))
    while moved > _LAST_RELOCATED * len(centers) and used < _ROUNDS:
        proposal = _relocate(sample, centers, moved)
        proposal, lower, spent = _lloyd(sample, proposal, _ROUGH, _ROUNDS - used)
        used += spent + 1
        if lower < inertia * (1.0 - _FINE):
            centers, inertia = proposal, lower
        else:
            moved //= 2
    centers, _, _ = _lloyd(points, centers, _FINE, max(_ROUNDS - used, 1))
    return centers


def _seed(points: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    centers = points[rng.integers(len(points), size=1)]
    _, sqdist = _assign(points, centers, 1)
    nearest = sqdist[:, 0]
    while len(centers) < n_clusters:
        available = int(np.count_nonzero(nearest))
        if available == 0:  # every distinct point is a centre already
            break
        growth = int(np.ceil(len(centers) * (_SEEDING_GROWTH - 1.0)))
        count = min(growth, n_clusters - len(centers), available)
        new = rng.choice(len(points), size=count, replace=False, p=nearest / nearest.sum())
        fresh = distinct_rows(points[new])
        centers = np.concatenate([centers, fresh])
        _, sqdist = _assign(points, fresh, 1)
        nearest = np.minimum(nearest, sqdist[:, 0])
    return np.asarray(centers, dtype=np.float64)


def _lloyd(points: Array, centers: Array, tol: float, max_iter: int) -> tuple[Array, float, int]:
    """Lloyd's iteration; returns centres, the inertia before their last move, and the rounds used."""
    previous, used = np.inf, 0
    while used < max_iter:
        used += 1
        label, sqdist = _assign(points, centers, 1)
        inertia = float(sqdist.sum())
        centers = cluster_means(points, label[:, 0], sqdist[:, 0], len(centers))
        if inertia >= previous * (1.0 - tol):
            break
        previous = inertia
    return centers, inertia, used


def _assign(points: Array, centers: Array, k: int) -> tuple[IntArray, Array]:
    """The k nearest centres of every point and the squared distances, each (n, k)."""
    return NeighborSearch(centers)(points, k)


def _relocate(points: Array, centers: Array, count: int) -> Array:
    """Move the `count` centres whose removal costs least to points of the worst clusters."""
    if len(centers) < 3:
        return centers
    label, sqdist = _assign(points, centers, 2)
    inertia = np.bincount(label[:, 0], weights=sqdist[:, 0], minlength=len(centers))
    missed = np.bincount(label[:, 0], weights=sqdist[:, 1] - sqdist[:, 0], minlength=len(centers))
    worst = np.argsort(inertia, kind="stable")[::-1][:count]
    # Removing two neighbours at once costs more than the sum of both: only take every other one.
    least = np.argsort(missed, kind="stable")
    heir = np.zeros(len(centers), dtype=np.int64)
    heir[label[:, 0]] = label[:, 1]
    movable: list[int] = []
    kept = np.zeros(len(centers), dtype=bool)
    kept[worst] = True
    for center in least:
        if len(movable) == count:
            break
        if not kept[center]:
            movable.append(center)
            kept[heir[center]] = True
    # The farthest point of each of the worst clusters.
    order = np.lexsort((sqdist[:, 0], label[:, 0]))
    last = np.searchsorted(label[order, 0], worst, side="right") - 1
    centers = centers.copy()
    centers[movable] = points[order[last[: len(movable)]]]
    return centers
