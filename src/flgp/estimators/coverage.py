"""Rows that stand for many points in doubt: an optimal design on the graph, before labels say how f varies.

With few labels the learned hyperparameters, and so the model's own variance, say little. What is known is the
graph. So f is taken for a smooth function, with a degree of freedom for every four labels there will be: a
heat kernel whose diffusion time leaves that many modes. Each row is chosen to lower the variance of this
function most, summed over all points by how much the present model doubts them, given the rows before it,
and times the row's own doubt: a label that is foreseen tells little. Variances are shares of a point's own:
otherwise a few points at the rim of the cloud, where eigenfunctions are large, outweigh thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from .._linalg import distinct_rows
from .._typing import Array, IntArray

MODES_PER_LABEL = 0.25
# Clusters are compared in more directions: they are to be told apart, not to be estimated.
MODES_PER_CLUSTER = 2.0
# Variance of a label about f, as a share of f's.
_NOISE = 0.1
# Modes with less than this share of the largest variance change nothing.
_LEAST_MODE = 1e-6
_LEAST_DOUBT = 1e-3  # where nothing is in doubt, all points count alike
_HALVINGS = 100


def diffusion_time(eigenvalues: Array, n_modes: float) -> float:
    """The time t at which Σ exp(-tλ) = n_modes; 0 if there are no more modes than that."""
    if len(eigenvalues) <= n_modes:
        return 0.0
    low, high = -40.0, 40.0  # log t
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.exp(-np.exp(middle) * eigenvalues).sum() > n_modes else (low, middle)
    return float(np.exp(low))


def correlated(features: Array, closeness: Array, eigenvalues: Array, time: float) -> Array:
    """S (m, k) whose rows have inner products exp(-tλ)-correlations; they shrink off the geometry."""
    d = np.exp(-time * eigenvalues)
    kept = d > _LEAST_MODE * d.max()
    S = features[:, kept] * np.sqrt(d[kept])
    return S * (closeness / np.maximum(np.linalg.norm(S, axis=1), 1e-300))[:, None]


def cover(own: Array, others: Array, known: Array, own_doubt: Array, doubt: Array, n: int) -> IntArray:
    """Positions of n rows that lower the doubted variance at other points most, each given those before.

    All are in the coordinates of `correlated`: the rows to choose from, `own` (m, k), the points that matter,
    `others` (b, k), and the labelled ones, `known` (l, k). `own_doubt` (m,) is how little the label of each
    row is foreseen, `doubt` (b,) how much each point matters.
    """
    own, others, known = own.copy(), others.copy(), known.copy()
    worth, weight = (np.maximum(d, 0.0) + _LEAST_DOUBT for d in (own_doubt, doubt))
    for row in known:
        _condition(row.copy(), _NOISE, (own, others, known))
    return least_variance([Spread(own, others, np.full(len(own), _NOISE), weight)], n, worth)


class Spread(NamedTuple):
    """A latent function to a design: covariances of f are inner products of rows of S."""

    own: Array  # (m, k) S at the rows to choose from
    others: Array  # (b, k) S at the points that matter
    noise: Array  # (m,) variance of a label at each row, given f
    weight: Array  # (b,) how much each point matters


def least_variance(functions: Sequence[Spread], n: int, worth: Array | float = 1.0) -> IntArray:
    """Positions of n rows that lower the weighted variance most, each given those before; S is used up.

    The fall counts `worth` (m,) times.
    """
    chosen: list[int] = []
    for _ in range(n):
        fall: Array = np.zeros(len(functions[0].own))
        for S, R, noise, weight in functions:
            gram = (R * weight[:, None]).T @ R
            fall += np.einsum("ij,ij->i", S @ gram, S) / (np.einsum("ij,ij->i", S, S) + noise)
        fall *= worth
        fall[chosen] = -np.inf
        best = int(np.argmax(fall))
        chosen.append(best)
        for S, R, noise, _ in functions:
            _condition(S[best].copy(), float(noise[best]), (S, R))
    return np.array(chosen)


def typical(own: Array, known: Array, n: int, seed: int) -> IntArray:
    """Positions of n rows in the middle of clusters that have no label yet, the largest cluster first.

    There are as many clusters as there will be labels. With very few labels the model is sure of the wrong
    things, so that what it doubts is a poor guide (Hacohen, Dekel & Weinshall 2022 observe it for networks).
    The rows to choose from, `own` (m, k), and the labelled ones, `known` (l, k), are from `correlated`.
    """
    both = np.concatenate([own, known])
    n_clusters = min(len(known) + n, len(distinct_rows(both)))
    clusters = KMeans(n_clusters, n_init=2, random_state=seed).fit(both)
    cluster, labeled = np.split(clusters.labels_, [len(own)])
    sizes = np.bincount(cluster, minlength=n_clusters).astype(float)
    sizes[labeled] = 0.0
    middle = np.linalg.norm(own - clusters.cluster_centers_[cluster], axis=1)
    # The clusters take turns, so that a batch that is larger than their number goes on with second rows.
    order = np.lexsort([middle, cluster])
    turn = np.empty(len(own), dtype=np.intp)
    turn[order] = np.arange(len(own)) - np.searchsorted(cluster[order], cluster[order])
    return np.lexsort([-sizes[cluster], turn, sizes[cluster] == 0.0])[:n]


def _condition(row: Array, noise: float, factors: Sequence[Array]) -> None:
    """Change factors in place to those of the posterior given a noisy label at `row` (k,)."""
    variance = float(row @ row)
    if variance <= 0.0:
        return
    # S (I - c s sᵀ) has the covariance K - k kᵀ / (v + noise) if c = (1 - √(noise / (v + noise))) / v.
    factor = (1.0 - np.sqrt(noise / (variance + noise))) / variance
    for part in factors:
        part -= np.outer(part @ row, factor * row)
