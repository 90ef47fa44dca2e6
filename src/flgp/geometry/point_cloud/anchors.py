"""Anchors (the paper's induced points): a few points that stand for all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from ..._threads import current_threads, limited_blas, thread_map, threads
from ..._typing import Array, IntArray, RowLike
from ...rows.sample import random_rows
from ...rows.sources import refuse_overflow
from .kmeans import kmeans
from .lloyd import plain_lloyd
from .neighbors import MAX_TREE_COLUMNS

ANCHOR_RULES = ("kmeans", "minibatch", "random", "all")

# Points per anchor for k-means, and the least in total: in few columns more do not improve the predictions;
# in many columns (where a cluster is a cloud in p dimensions) they do.
_SAMPLE_PER_ANCHOR, _SMALLEST_SAMPLE = 20, 100_000
# In many columns, further rounds of Lloyd's iteration do not improve the mean over several sets.
_ROUNDS_OF_SEVERAL = 6


def choose_anchors(
    X: RowLike,
    n_anchors: int,
    rule: str | Array,
    rng: np.random.Generator,
) -> Array:
    """Distinct anchors, shape (at most n_anchors, p), double precision.

    Neither they nor their order depends on the order of the rows of X (n, p). The `rule` is one of
    `ANCHOR_RULES`, or the anchors themselves (s, p); then, and where all points are anchors, `n_anchors` is
    ignored.
    """
    if not isinstance(rule, str):
        return _distinct(rule)
    if rule == "all":
        n_anchors = X.shape[0]
    if rule == "random" or n_anchors >= X.shape[0]:
        return _distinct(random_rows(X, n_anchors, rng))
    sample = _sample(X, n_anchors, rng)
    if rule == "minibatch":
        seed = int(rng.integers(2**31))
        clusters = MiniBatchKMeans(n_anchors, random_state=seed, n_init=1, batch_size=4096)
        with limited_blas():
            return _distinct(clusters.fit(sample).cluster_centers_)
    return _distinct(kmeans(sample, n_anchors, rng))


def choose_sets(
    X: RowLike, n_anchors: int, rule: str | Array, rng: np.random.Generator, n_sets: int
) -> list[Array]:
    """Several sets of anchors; in many columns they are clustered side by side, in fewer rounds."""
    by_rule = isinstance(rule, str) and rule == "kmeans" and n_anchors < X.shape[0]
    if n_sets == 1 or not by_rule or X.shape[1] <= MAX_TREE_COLUMNS:
        return [choose_anchors(X, n_anchors, rule, rng) for _ in range(n_sets)]

    def samples() -> Iterator[tuple[Array, IntArray]]:
        for _ in range(n_sets):
            sample = _sample(X, n_anchors, rng)
            yield sample, rng.permutation(len(sample))

    def clustered(pair: tuple[Array, IntArray]) -> Array:
        sample, order = pair
        with threads(each):
            return _distinct(plain_lloyd(sample, n_anchors, order, _ROUNDS_OF_SEVERAL))

    each = max(current_threads() // n_sets, 1)
    return list(thread_map(clustered, samples(), n_sets))


def _sample(X: RowLike, n_anchors: int, rng: np.random.Generator) -> Array:
    """The rows that anchors are learned from."""
    count = _SAMPLE_PER_ANCHOR * n_anchors
    few = X.shape[1] <= MAX_TREE_COLUMNS
    sample = random_rows(X, count if few else max(count, _SMALLEST_SAMPLE), rng)
    refuse_overflow(sample)
    return sample


def _distinct(points: Array) -> Array:
    """The distinct points, in their original order."""
    points = np.ascontiguousarray(points, dtype=np.float64)
    _, first = np.unique(points, axis=0, return_index=True)
    return points[np.sort(first)]
