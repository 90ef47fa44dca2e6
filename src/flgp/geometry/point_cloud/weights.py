"""Local anchor embedding: each point as the best convex combination of its anchors, solved exactly."""

from __future__ import annotations

import numpy as np

from ..._typing import Array, BoolArray, IntArray
from .neighbors import MAX_TREE_COLUMNS

# With more anchors than p + 1 the optimum is not unique; this ridge, relative to the mean squared
# distance, picks the most even one, so that platforms agree.
RIDGE = 1e-6
# Of the mean squared distance: differences below this are rounding.
_ROUNDING = 1e-12
# Full exchanges that may fail to reduce the number of violations before one-at-a-time exchange, which
# cannot cycle, takes over (Kim & Park's block principal pivoting uses 3).
_FULL_EXCHANGES = 3
# Rounds for each anchor of a point; a handful is usual. What is left after these is rounding.
_ROUNDS_PER_ANCHOR = 50
# Points whose Gram matrices are in the cache together.
_TILE = 8_192
# Numbers in differences of points and anchors that are in the cache together.
_EDGES = 65_536


def local_anchor_weights(X: Array, anchors: Array, index: IntArray) -> Array:
    """K^lae (b, r): argmin |x - Σ_j z_j u_j|² over the simplex on the anchors `index` (b, r) of each row of X
    (b, p).

    The KKT conditions of the minimum-norm point are those of the non-negative least squares problem G y ≥ 1,
    y ≥ 0, y·(Gy - 1) = 0 with z = y / Σy, where G is the Gram matrix of the (u_j - x).
    """
    r = index.shape[1]
    if r == 1:
        return np.ones(index.shape)
    weights = np.empty((r, len(X)))
    for start in range(0, len(X), _TILE):
        tile = slice(start, start + _TILE)
        weights[:, tile] = simplex_minimizer(_grams(X[tile], anchors, index[tile]))
    return weights.T


def _grams(X: Array, anchors: Array, index: IntArray) -> Array:
    """Lower triangles of the Gram matrices (r, r, b): rows run along the last axis, in long vectors."""
    r, p = index.shape[1], X.shape[1]
    gram = np.zeros((r, r, len(X)))
    if p > MAX_TREE_COLUMNS:  # whole rows: single columns of the anchors are far apart in memory
        step = max(_EDGES // (r * p), 1)
        for start in range(0, len(X), step):
            tile = slice(start, start + step)
            edges = anchors[index[tile].T] - X[tile]
            for a in range(r):
                for b in range(a + 1):
                    np.einsum("bp,bp->b", edges[a], edges[b], out=gram[a, b, tile])
        return gram
    for column in range(p):
        edge = anchors[:, column][index.T] - X[:, column]
        for a in range(r):
            for b in range(a + 1):
                gram[a, b] += edge[a] * edge[b]
    return gram


def simplex_minimizer(gram: Array) -> Array:
    """Argmin zᵀGz over the simplex, for a batch: `gram` (r, r, b), lower triangles; result (r, b)."""
    r, _, rows = gram.shape
    scale = sum(gram[a, a] for a in range(r)) / r
    G = gram / np.where(scale > 0, scale, 1.0)
    for a in range(r):
        G[a, a] += RIDGE
    weights = np.empty((r, rows))
    free = np.ones((r, rows), dtype=bool)
    pending = np.arange(rows)
    fewest = np.full(rows, r + 1)
    patience = np.full(rows, _FULL_EXCHANGES)
    y = _solve_on_support(G)
    wrong = y < 0
    for left in reversed(range(_ROUNDS_PER_ANCHOR * r)):
        violations = sum(wrong[a].astype(np.int8) for a in range(r))
        done = np.flatnonzero((violations == 0) | (left == 0))
        for a in range(r):
            weights[a][pending[done]] = y[a][done]
        if len(done) == len(pending):
            break
        going = np.flatnonzero(violations)
        pending, G = pending[going], G.take(going, axis=-1)
        free, wrong = free.take(going, axis=-1), wrong.take(going, axis=-1)
        free, fewest, patience = _exchange(free, wrong, violations[going], fewest[going], patience[going])
        y = _solve_on_support(G, free)
        slack = _matvec(G, y) - 1.0
        # Relative to y, which is huge where a point is on an anchor: rounding must not count as a violation.
        wrong = np.where(free, y < 0, slack < -_ROUNDING * sum(np.abs(y[a]) for a in range(r)))
    weights = np.maximum(weights, 0.0, out=weights)
    weights[:, ~weights.any(axis=0)] = 1.0
    weights /= sum(weights[a] for a in range(r))
    return weights


def _exchange(
    free: BoolArray, wrong: BoolArray, violations: IntArray, fewest: IntArray, patience: IntArray
) -> tuple[BoolArray, IntArray, IntArray]:
    """Next support of every row: exchange all violators, or only the last one when that stalls."""
    better = violations < fewest
    full = better | (patience > 0)
    patience = np.where(better, _FULL_EXCHANGES, np.maximum(patience - 1, 0))
    last = len(free) - 1 - np.argmax(wrong[::-1], axis=0)
    single = np.arange(len(free))[:, None] == last
    return free ^ (wrong & (full | single)), np.where(better, violations, fewest), patience


def _matvec(G: Array, y: Array) -> Array:
    r = len(y)
    return np.stack([sum(G[max(a, b), min(a, b)] * y[b] for b in range(r)) for a in range(r)])


def _solve_on_support(G: Array, free: BoolArray | None = None) -> Array:
    """Solve G_FF y_F = 1, y = 0 elsewhere, for a batch, by an LDLᵀ that skips entries outside F."""
    r = len(G)
    on = None if free is None else free.astype(np.float64)
    L = np.empty_like(G)
    pivot = np.empty((r, G.shape[2]))
    y = np.ones((r, G.shape[2])) if on is None else on.copy()
    for a in range(r):
        diagonal = G[a, a]
        for b in range(a):
            entry = G[a, b]
            for c in range(b):
                entry = entry - L[a, c] * L[b, c] * pivot[c]
            np.divide(entry, pivot[b], out=L[a, b])
            if on is not None:
                L[a, b] *= on[a] * on[b]
            diagonal = diagonal - L[a, b] ** 2 * pivot[b]
            y[a] -= L[a, b] * y[b]
        np.maximum(diagonal, RIDGE * 1e-6, out=pivot[a])
        if free is not None:
            pivot[a][~free[a]] = 1.0
    y /= pivot
    for a in range(r - 1, -1, -1):
        for b in range(a + 1, r):
            y[a] -= L[b, a] * y[b]
    return y if on is None else y * on
