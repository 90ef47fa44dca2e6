"""The closest point on a triangle mesh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from .._typing import Array, BoolArray, IntArray

# Triangles examined first, and the factor by which that number grows if they may not be enough.
_FIRST, _GROWTH = 8, 4
# Point-triangle pairs per batch.
_PAIRS = 500_000


@dataclass(frozen=True, eq=False)
class _Group:
    """Triangles of similar size: a tree of their centroids, and a radius that bounds each of them."""

    triangles: IntArray
    tree: cKDTree
    radius: float


class TriangleSearch:
    """Finds the closest triangle and barycentric coordinates there.

    A triangle within distance d of a point has its centroid within d plus the triangle's radius. Triangles
    are grouped by size, so that one large triangle does not widen the search among small ones.
    """

    def __init__(self, vertices: Array, faces: IntArray) -> None:
        corner = vertices[faces]  # (F, 3, 3)
        self._corner = corner
        centre = corner.mean(axis=1)
        radius = np.linalg.norm(corner - centre[:, None], axis=2).max(axis=1)
        size = np.floor(np.log2(np.maximum(radius, 1e-6 * radius.max()))).astype(int)
        groups = [np.flatnonzero(size == level) for level in np.unique(size)]
        groups.sort(key=len, reverse=True)  # the largest group first gives the best bounds
        self._groups = [_Group(group, cKDTree(centre[group]), float(radius[group].max())) for group in groups]

    def __call__(self, points: Array, limit: float = np.inf) -> tuple[IntArray, Array, Array]:
        """Triangle (b,), barycentric coordinates (b, 3) and distance (b,) of points (b, 3).

        For points farther than `limit` the triangle may not be exactly the closest: far away, many are
        almost equally close.
        """
        face = np.zeros(len(points), dtype=np.int64)
        weights = np.zeros((len(points), 3))
        distance = np.full(len(points), np.inf)
        for group in self._groups:
            todo, count = np.arange(len(points)), min(_FIRST, len(group.triangles))
            while len(todo) > 0:
                step = max(_PAIRS // count, 1)
                parts = [todo[a : a + step] for a in range(0, len(todo), step)]
                open_ends = [
                    self._improve(points, part, group, count, limit, face, weights, distance)
                    for part in parts
                ]
                if count == len(group.triangles):
                    break
                todo = np.concatenate([part[more] for part, more in zip(parts, open_ends, strict=True)])
                count = min(_GROWTH * count, len(group.triangles))
        return face, weights, distance

    def _improve(
        self,
        points: Array,
        which: IntArray,
        group: _Group,
        count: int,
        limit: float,
        face: IntArray,
        weights: Array,
        distance: Array,
    ) -> BoolArray:
        """Examine `count` triangles of a group for some points; return those that may have closer ones."""
        apart, nearest = group.tree.query(points[which], count)
        apart, nearest = apart.reshape(len(which), count), nearest.reshape(len(which), count)
        # Only triangles that may be closer than the best so far; the first one always gives a bound.
        bound = np.minimum(distance[which], apart[:, 0] + group.radius)
        row, column = np.nonzero(apart <= bound[:, None] + group.radius)
        triangle = group.triangles[nearest[row, column]]
        squared, barycentric = closest_on_triangles(points[which[row]], self._corner[triangle])
        # The best triangle of each point is the last one in this order.
        order = np.lexsort((-squared, row))
        last = np.r_[np.diff(row[order]) > 0, True] if len(row) else np.zeros(0, dtype=bool)
        best = order[last]
        found = np.sqrt(squared[best])
        better = best[found < distance[which[row[best]]]]
        target = which[row[better]]
        face[target], weights[target] = triangle[better], barycentric[better]
        distance[target] = np.sqrt(squared[better])
        return (apart[:, -1] <= distance[which] + group.radius) & (apart[:, 0] <= limit + group.radius)


def closest_on_triangles(points: Array, corner: Array) -> tuple[Array, Array]:
    """Squared distance (b,) of points from triangles (b, 3, 3), and where: barycentric coordinates (b, 3)."""
    a, b, c = corner[:, 0], corner[:, 1], corner[:, 2]
    ab, ac, ap = b - a, c - a, points - a
    aa, bb, cross = _dot(ab, ab), _dot(ac, ac), _dot(ab, ac)
    along_b, along_c = _dot(ab, ap), _dot(ac, ap)
    # The projection on the plane, if it is inside.
    area = aa * bb - cross**2
    flat = area <= 1e-14 * aa * bb
    safe = np.where(flat, 1.0, area)
    v = (bb * along_b - cross * along_c) / safe
    w = (aa * along_c - cross * along_b) / safe
    inside = ~flat & (v >= 0) & (w >= 0) & (v + w <= 1)
    weights = np.column_stack([1.0 - v - w, v, w])
    squared = np.empty(len(points))
    squared[inside] = _off(points[inside], corner[inside], weights[inside])

    # Otherwise the closest point is on an edge.
    out = np.flatnonzero(~inside)
    nearest = np.full(len(out), np.inf)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        edge = corner[out, j] - corner[out, i]
        length = _dot(edge, edge)
        t = _dot(points[out] - corner[out, i], edge) / np.where(length > 0, length, 1.0)
        on_edge = np.zeros((len(out), 3))
        on_edge[:, j] = np.clip(t, 0.0, 1.0)
        on_edge[:, i] = 1.0 - on_edge[:, j]
        here = _off(points[out], corner[out], on_edge)
        better = here < nearest
        nearest[better], weights[out[better]] = here[better], on_edge[better]
    squared[out] = nearest
    return squared, weights


def _dot(one: Array, two: Array) -> Array:
    return np.einsum("bk,bk->b", one, two)


def _off(points: Array, corner: Array, weights: Array) -> Array:
    """Squared distance (b,) of points from the points of triangles with given weights."""
    gap = points - np.einsum("bi,bik->bk", weights, corner)
    return _dot(gap, gap)
