"""Linear algebra that several packages share."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import linalg
from scipy.linalg.lapack import dpotrf

from ._typing import Array


def safe_cholesky(H: Array) -> Array:
    """Lower Cholesky factor of H = I + (positive semi-definite).

    Such a matrix is positive definite, but where its entries span sixteen digits rounding can hide that; the
    diagonal is then raised by as little as restores it.
    """
    # LAPACK itself: for fifty labels SciPy's own checks take five times as long as the factorisation.
    L, info = dpotrf(H, lower=1, clean=1)
    jitter, scale = 0.0, float(np.mean(np.diag(H)))
    while info != 0:
        if not np.isfinite(scale) or jitter > 1e-6:
            raise linalg.LinAlgError("the matrix is not positive definite")
        jitter = max(10.0 * jitter, 1e-14)
        L, info = dpotrf(H + jitter * scale * np.eye(len(H)), lower=1, clean=1)
    return L


def distinct_rows(points: Array) -> Array:
    """The different rows of points (n, p), in order of the first column, then of the second, ….

    `np.unique` compares rows as records, and an interrupt in that moment comes out as a TypeError.
    """
    ordered = points[np.lexsort(points.T[::-1])] if points.shape[1] else points[:1]
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return ordered[new]


def triangular_product(rows: Array, upper: Array, panels: int = 4) -> Array:
    """Rows (b, k) times an upper triangular matrix (k, j), without most of the products with zeros.

    BLAS has a routine for it, which SciPy calls with all other threads waiting.
    """
    if upper.shape[1] < 16 * panels:
        return np.asarray(rows @ upper)
    result = np.empty((len(rows), upper.shape[1]))
    cuts = np.linspace(0, upper.shape[1], panels + 1).astype(int).tolist()
    for a, b in pairwise(cuts):
        np.matmul(rows[:, :b], upper[:b, a:b], out=result[:, a:b])
    return result
