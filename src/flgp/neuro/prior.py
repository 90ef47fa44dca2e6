"""Prior correlations of a fitted model, from its feature map, without an n×n matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array, IntArray
from ..estimators import FLGPRegressor, prior_features
from ..rows.blocks import map_rows


def prior_correlation(model: FLGPRegressor, X: Array, seed: Array) -> Array:
    """Prior correlation of f between the points X (n, p) and one point (p,), shape (n,)."""
    here = prior_features(model, np.asarray(seed, dtype=float)[None])[0]

    def correlation(block: Array) -> Array:
        features = prior_features(model, block)
        norms = np.linalg.norm(features, axis=1) * np.linalg.norm(here)
        return np.clip(features @ here / np.where(norms > 0, norms, np.inf), -1.0, 1.0)

    return map_rows(X, correlation)


def region_correlation(model: FLGPRegressor, X: Array, region: IntArray, n_regions: int) -> Array:
    """Prior correlation (K, K) between the means of f over K regions.

    `region` (n,) is the region of each point, numbered from 0; negative for none.
    """
    inside = np.flatnonzero(region >= 0)
    sums: Any = 0.0
    for rows in np.array_split(inside, max(len(inside) // 8192, 1)):
        shape = (n_regions, len(rows))
        members = sparse.csr_array((np.ones(len(rows)), (region[rows], np.arange(len(rows)))), shape=shape)
        sums = sums + members @ prior_features(model, X[rows])
    # The number of voxels cancels: means and sums have the same correlation.
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    unit = sums / np.where(norms > 0, norms, np.inf)
    correlation = np.clip(unit @ unit.T, -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    return correlation
