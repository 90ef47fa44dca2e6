"""Anchors (the paper's induced points): a few points that stand for all."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from ..._threads import limited_blas
from ..._typing import Array, RowLike
from ...rows.sample import random_rows
from .kmeans import kmeans
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
    one_of_several: bool = False,
) -> Array:
    """Distinct anchors, shape (at most n_anchors, p), double precision.

    Neither they nor their order depends on the order of the rows.

    Parameters
    ----------
    X : array-like of shape (n, p), sliceable by rows
    n_anchors : int
        s; ignored when the anchors are given or are all points.
    rule : one of `ANCHOR_RULES`, or an array of shape (s, p)
    rng : numpy.random.Generator
    one_of_several : bool
        Whether this is one of several sets; fewer iterations are then enough.
    """
    if not isinstance(rule, str):
        return _distinct(rule)
    if rule == "all":
        n_anchors = X.shape[0]
    if rule == "random" or n_anchors >= X.shape[0]:
        return _distinct(random_rows(X, n_anchors, rng))
    count = _SAMPLE_PER_ANCHOR * n_anchors
    if X.shape[1] > MAX_TREE_COLUMNS:
        count = max(count, _SMALLEST_SAMPLE)
    sample = random_rows(X, count, rng)
    if rule == "minibatch":
        seed = int(rng.integers(2**31))
        clusters = MiniBatchKMeans(n_anchors, random_state=seed, n_init=1, batch_size=4096)
        with limited_blas():
            return _distinct(clusters.fit(sample).cluster_centers_)
    rounds = _ROUNDS_OF_SEVERAL if one_of_several and X.shape[1] > MAX_TREE_COLUMNS else None
    return _distinct(kmeans(sample, n_anchors, rng, max_iter=rounds))


def _distinct(points: Array) -> Array:
    """The distinct points, in their original order."""
    points = np.ascontiguousarray(points, dtype=np.float64)
    _, first = np.unique(points, axis=0, return_index=True)
    return points[np.sort(first)]
