"""The elimination order of the latent values of u: nested dissection of the neighbourhoods.

The posterior precision Q_u + W of u is a sum of small blocks, one for each point and its neighbours N(i). A
set of points that separates two halves is eliminated after both, and so on within the halves. The sparse
factor then has few entries, collected in dense blocks (fronts) that suit BLAS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from ..._typing import Array, BoolArray, IntArray
from .neighborhoods import Neighborhoods

# Sets of at most this many points are one front.
_LEAF = 64


@dataclass(frozen=True)
class Front:
    """Points that are eliminated together, and the later points that they are then connected to."""

    own: IntArray  # (j,) the points eliminated here
    border: IntArray  # (r,) later points, in the fronts of ancestors, in elimination order
    parent: int  # number of the front that receives the border; -1 for a root
    into_parent: IntArray  # (r,) positions of the border in (own, border) of the parent
    rows: IntArray  # (q,) points whose block {i} ∪ N(i) has its first-eliminated member here
    places: IntArray  # (q, k + 1) positions of i and N(i) in (own, border)


def dissect(points: Array, near: Neighborhoods) -> list[Front]:
    """Fronts in elimination order, children before parents, for points (m, p)."""
    m = len(points)
    blocks = np.concatenate([np.arange(m)[:, None], near.neighbors], axis=1)  # (m, k + 1)
    graph = _graph(blocks)
    owned, parents = _Dissection(points, graph).fronts()
    when, rank = np.empty((2, m), dtype=np.intp)  # front and rank of each point
    for number, own in enumerate(owned):
        when[own] = number
    rank[np.concatenate(owned)] = np.arange(m)
    first = when[blocks].min(axis=1)
    ends = np.searchsorted(np.sort(first), range(1, len(owned)))
    by_front = np.split(np.argsort(first, kind="stable"), ends)
    borders: list[IntArray] = []
    children: list[list[int]] = [[] for _ in owned]
    for number, own in enumerate(owned):
        reached = [borders[child] for child in children[number]]
        linked = np.unique(np.concatenate([graph[own].indices, *reached]))
        later = linked[when[linked] > number].astype(np.intp)
        borders.append(later[np.argsort(rank[later])])
        if parents[number] >= 0:
            children[parents[number]].append(number)
    place, into_parent = np.empty(m, dtype=np.intp), [np.empty(0, dtype=np.intp)] * len(owned)
    fronts = []
    for number, (own, border, rows) in enumerate(zip(owned, borders, by_front, strict=True)):
        members = np.concatenate([own, border])
        place[members] = np.arange(len(members))
        for child in children[number]:
            into_parent[child] = place[borders[child]]
        fronts.append((own, border, parents[number], rows, place[blocks[rows]]))
    return [
        Front(own, border, parent, into, rows, places)
        for (own, border, parent, rows, places), into in zip(fronts, into_parent, strict=True)
    ]


def stored_entries(fronts: list[Front]) -> int:
    """Number of entries of a factor with this structure."""
    return sum(len(front.own) * (len(front.own) + len(front.border)) for front in fronts)


def _graph(blocks: IntArray) -> sparse.csr_array:
    """The graph (m, m) that joins points in the same block."""
    m, size = blocks.shape
    pointers = np.arange(0, m * size + 1, size)
    occurs = sparse.csr_array((np.ones(m * size), blocks.ravel(), pointers), shape=(m, m))
    return (occurs.T @ occurs).tocsr()


class _Dissection:
    """Recursive bisection along the widest coordinate, with the separators."""

    def __init__(self, points: Array, graph: sparse.csr_array) -> None:
        self.points, self.graph = points, graph
        self.owned: list[IntArray] = []
        self.parents: list[int] = []
        self.side = np.zeros(len(points), dtype=np.int8)

    def fronts(self) -> tuple[list[IntArray], list[int]]:
        """Points of each front, and the number of its parent or -1."""
        self._split(np.arange(len(self.points)))
        return self.owned, self.parents

    def _split(self, nodes: IntArray) -> list[int]:
        """Append the fronts of `nodes`; return the numbers of those without a parent."""
        if len(nodes) <= _LEAF:
            return self._append(nodes, [])
        coordinates = self.points[nodes]
        widest = int(np.argmax(np.ptp(coordinates, axis=0)))
        order = np.argsort(coordinates[:, widest], kind="stable")
        left, right = nodes[order[: len(nodes) // 2]], nodes[order[len(nodes) // 2 :]]
        apart = self._separator(left, right)
        if len(apart) > len(nodes) // 2:  # hardly separable: dense
            return self._append(nodes, [])
        below = [
            root
            for half in (left, right)
            if len(rest := np.setdiff1d(half, apart, assume_unique=True))
            for root in self._split(rest)
        ]
        return self._append(apart, below) if len(apart) else below

    def _append(self, own: IntArray, children: list[int]) -> list[int]:
        self.owned.append(own)
        self.parents.append(-1)
        for child in children:
            self.parents[child] = len(self.owned) - 1
        return [len(self.owned) - 1]

    def _separator(self, left: IntArray, right: IntArray) -> IntArray:
        """The smallest set of points that touches all edges between the two sets."""
        self.side[right] = 1
        rows = self.graph[left]
        crossing = self.side[rows.indices] == 1
        first = np.repeat(np.arange(len(left)), np.diff(rows.indptr))[crossing]
        second = rows.indices[crossing]
        self.side[right] = 0
        if len(first) == 0:
            return np.empty(0, dtype=np.intp)
        ends, start = np.unique(first, return_inverse=True)
        others, stop = np.unique(second, return_inverse=True)
        # Older versions of SciPy only accept 32-bit indices.
        pairs = start.astype(np.int32), stop.astype(np.int32)
        edges = sparse.csr_array((np.ones(len(first)), pairs), shape=(len(ends), len(others)))
        from_left, from_right = _vertex_cover(edges)
        return np.concatenate([left[ends[from_left]], others[from_right].astype(np.intp)])


def _vertex_cover(edges: sparse.csr_array) -> tuple[BoolArray, BoolArray]:
    """The fewest rows and columns that cover all non-zeros, by König's theorem from a maximum matching."""
    partner = maximum_bipartite_matching(edges, perm_type="column")  # column of each row, or -1
    matched_row = np.full(edges.shape[1], -1, dtype=np.intp)
    matched_row[partner[partner >= 0]] = np.flatnonzero(partner >= 0)
    by_row, by_column = partner < 0, np.zeros(edges.shape[1], dtype=bool)  # reached by alternating paths
    fresh = by_row.copy()
    while fresh.any():
        reached = (edges.T @ fresh > 0) & ~by_column
        by_column |= reached
        fresh = np.zeros_like(by_row)
        fresh[matched_row[reached]] = True  # unmatched columns are never reached: the matching is maximum
        fresh &= ~by_row
        by_row |= fresh
    return ~by_row, by_column
