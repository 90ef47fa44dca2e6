"""The graph of the GLGP (Dunson, Wu and Wu): every point against landmarks, all of them or the near ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array, RowLike
from ..blocks import row_blocks
from ..graph import NeighborBlock, NeighborGraph
from ..graph.neighbors import AnchorSearch

Matrix = Any  # (b, s): an array, or a sparse csr_array

# Rows against all landmarks at a time: entries of a block (64-bit: 32 MB).
_BLOCK_ENTRIES = 4_000_000


@dataclass(frozen=True)
class LandmarkBlock(NeighborBlock):
    """Squared distances of a block of rows to the landmarks: to all, or (sparse) to the joined ones.

    `index` and `sqdist` (b, 1) are those of the nearest landmark.
    """

    pairs: Matrix


@dataclass(frozen=True)
class LandmarkGraph(NeighborGraph):
    """Every point joined to all landmarks, or (sparse) to those near it.

    Sparse: x and u_j are joined if either is among the r nearest of the other. `reach` (s,) is the squared
    distance of each landmark's r-th neighbour, so the rows of the landmarks are symmetric, and the row of a
    new point follows the same rule.
    """

    reach: Array | None = None
    among_landmarks: Matrix | None = None  # (s, s) squared distances; None once the fit is done

    def find(self, X: Array) -> LandmarkBlock:
        """Distances of any points (b, p) to the landmarks."""
        X = np.asarray(X, dtype=np.float64)
        index, sqdist = self.search(X, 1)
        return LandmarkBlock(index, sqdist, None, joined_pairs(X, self.anchors, self.n_neighbors, self.reach))


def join_to_landmarks(
    rows: RowLike, landmarks: Array, n_neighbors: int | None, n_threads: int = 1
) -> LandmarkGraph:
    """The graph of all rows (n, p) with the landmarks (s, p).

    The mean squared distance, which bandwidths are relative to, is over the joined pairs of landmarks. Rows
    against landmarks are n·s numbers: they are made block by block, whenever they are needed.
    """
    s = len(landmarks)
    search = AnchorSearch(landmarks, [s])
    r = s if n_neighbors is None else min(int(n_neighbors), s)
    # A rounding error must not break a tie one way here and the other way there.
    reach = None if n_neighbors is None else _kth_smallest(landmarks, landmarks, r) * (1 + 1e-9)
    among = joined_pairs(landmarks, landmarks, r, reach)
    mean_sqdist = float(among.sum()) / (among.nnz if sparse.issparse(among) else among.size)
    blocks = row_blocks(rows, n_threads, max(64, _BLOCK_ENTRIES // s))
    farthest = blocks.reduce(lambda X: float(search(X, 1)[1].max()), max)
    # Where every point is a landmark that is 0, but a step of the graph is not far from it either.
    step = float(search(landmarks, min(4, s))[1][:, -1].mean())
    graph = LandmarkGraph(
        anchors=landmarks,
        search=search,
        n_neighbors=r,
        local=False,
        sizes=np.ones(s),
        radii=np.full(s, np.sqrt(max(farthest, step)) + np.finfo(float).tiny),
        nearest_sqdist=np.zeros(s),
        mean_sqdist=mean_sqdist if mean_sqdist > 0 else 1.0,
        n_rows=rows.shape[0],
        blocks=blocks,
        reach=reach,
        among_landmarks=among,
    )
    return LandmarkGraph(**{**vars(graph), "blocks": blocks.map(graph.find, keep=False)})


def squared_distances(X: Array, Y: Array) -> Array:
    """|x - y|² of all pairs, (b, s)."""
    center = Y.mean(axis=0)  # keeps the cancellation below harmless
    X, Y = X - center, Y - center
    x, y = np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", Y, Y)
    sqdist = X @ Y.T
    sqdist *= -2.0
    sqdist += x[:, None]
    sqdist += y
    # What is left of a distance 0 is rounding, and the two points are the same.
    sqdist[sqdist < 1e-13 * (y.max(initial=0.0) + x.max(initial=0.0))] = 0.0
    return sqdist


def joined_pairs(X: Array, landmarks: Array, r: int, reach: Array | None) -> Matrix:
    """Squared distances to the landmarks (b, s): all, or sparse where the two are joined."""
    if reach is None:
        return squared_distances(X, landmarks)
    parts = []
    for block in _tiles(X, len(landmarks)):
        sqdist = squared_distances(block, landmarks)
        own = np.partition(sqdist, r - 1, axis=1)[:, r - 1]
        row, column = np.nonzero(sqdist <= np.maximum(own[:, None], reach))
        parts.append(sparse.csr_array((sqdist[row, column], (row, column)), shape=sqdist.shape))
    return sparse.csr_array(sparse.vstack(parts)) if len(parts) > 1 else parts[0]


def _kth_smallest(X: Array, landmarks: Array, k: int) -> Array:
    """Squared distance to the k-th nearest landmark, (b,)."""
    parts = []
    for tile in _tiles(X, len(landmarks)):
        nearest = np.partition(squared_distances(tile, landmarks), k - 1)
        parts.append(nearest[:, k - 1].copy())  # a view would keep all distances of the tile
    return np.concatenate(parts)


def _tiles(X: Array, width: int) -> list[Array]:
    rows = max(64, _BLOCK_ENTRIES // width)
    return [X[start : start + rows] for start in range(0, len(X), rows)]
