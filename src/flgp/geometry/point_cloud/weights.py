"""Local anchor embedding: each point as the best convex combination of its anchors, solved exactly."""

from __future__ import annotations

import numpy as np

from ..._typing import Array, BoolArray, IntArray

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


def local_anchor_weights(X: Array, anchors: Array, index: IntArray) -> Array:
    """K^lae (b, r): argmin |x - Σ_j z_j u_j|² over the simplex on the anchors `index` (b, r) of each row of X
    (b, p).

    The KKT conditions of the minimum-norm point are those of the non-negative least squares problem G y ≥ 1,
    y ≥ 0, y·(Gy - 1) = 0 with z = y / Σy, where G is the Gram matrix of the (u_j - x).
    """
    r = index.shape[1]
    if r == 1:
        return np.ones(index.shape)
    # Below, rows run along the last axis, so that every operation works on long vectors.
    gram = np.zeros((r, r, len(X)))
    for column in range(X.shape[1]):
        edge = anchors[:, column][index].T - X[:, column]
        for a in range(r):
            for b in range(a + 1):
                gram[a, b] += edge[a] * edge[b]
    return simplex_minimizer(gram).T


def simplex_minimizer(gram: Array) -> Array:
    """Argmin zᵀGz over the simplex, for a batch: `gram` (r, r, b), lower triangles; result (r, b)."""
    r, _, rows = gram.shape
    scale = sum(gram[a, a] for a in range(r)) / r
    scale = np.where(scale > 0, scale, 1.0)
    G = np.empty_like(gram)
    for a in range(r):
        for b in range(a):
            G[a, b] = G[b, a] = gram[a, b] / scale
        G[a, a] = gram[a, a] / scale + RIDGE
    weights = np.empty((r, rows))
    free = np.ones((r, rows), dtype=bool)
    pending = np.arange(rows)
    fewest = np.full(rows, r + 1)
    patience = np.full(rows, _FULL_EXCHANGES)
    for left in reversed(range(_ROUNDS_PER_ANCHOR * r)):
        y = _solve_on_support(G, free)
        slack = _matvec(G, y) - 1.0
        # Relative to y, which is huge where a point is on an anchor: rounding must not count as a violation.
        wrong = np.where(free, y < 0, slack < -_ROUNDING * sum(np.abs(y[a]) for a in range(r)))
        violations = sum(wrong[a].astype(np.int8) for a in range(r))
        done = (violations == 0) | (left == 0)
        weights[:, pending[done]] = y[:, done]
        going = ~done
        if not going.any():
            break
        pending, G, free, wrong = pending[going], G[:, :, going], free[:, going], wrong[:, going]
        free, fewest, patience = _exchange(free, wrong, violations[going], fewest[going], patience[going])
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
    return np.stack([sum(G[a, b] * y[b] for b in range(len(y))) for a in range(len(y))])


def _solve_on_support(G: Array, free: BoolArray) -> Array:
    """Solve G_FF y_F = 1, y = 0 elsewhere, for a batch, by an LDLᵀ that skips entries outside F."""
    r = len(G)
    on = free.astype(np.float64)
    L = np.zeros_like(G)
    pivot = np.empty((r, G.shape[2]))
    y = np.empty((r, G.shape[2]))
    for a in range(r):
        diagonal = G[a, a].copy()
        value = on[a].copy()
        for b in range(a):
            entry = G[a, b].copy()
            for c in range(b):
                entry -= L[a, c] * L[b, c] * pivot[c]
            L[a, b] = entry / pivot[b] * (on[a] * on[b])
            diagonal -= L[a, b] ** 2 * pivot[b]
            value -= L[a, b] * y[b]
        pivot[a] = np.where(free[a], np.maximum(diagonal, RIDGE * 1e-6), 1.0)
        y[a] = value
    y /= pivot
    for a in range(r - 1, -1, -1):
        for b in range(a + 1, r):
            y[a] -= L[b, a] * y[b]
    return y * on
