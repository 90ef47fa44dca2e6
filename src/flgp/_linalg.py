"""Linear algebra that several packages share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import linalg
from scipy.linalg.lapack import dpotrf, dtrtri
from scipy.spatial.distance import cdist

from ._typing import Array

# Columns of a triangular matrix that are multiplied together, and the matrices that are side by side then.
_PANEL, _SIDE_BY_SIDE = 32, 16
# Rows of products held at once, and the largest squared norm up to which a difference of squares is accurate.
_ROWS, _SHORT = 1024, 1e4


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


def cholesky_of_one_plus(matrix: Array) -> Array:
    """Lower Cholesky factor of I + matrix, of which the lower triangle is read; the matrix is used up."""
    np.einsum("ii->i", matrix)[:] += 1.0  # a view of the diagonal
    return safe_cholesky(matrix)


def triangular_inverse(L: Array) -> Array:
    """Inverse of a lower triangular matrix, a third of the cost of solving with the identity."""
    inverse, info = dtrtri(L, lower=1)
    assert info == 0
    return np.asarray(inverse)


def log_determinant(L: Array) -> float:
    """log|L Lᵀ|."""
    return 2.0 * float(np.log(np.diag(L)).sum())


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


def triangular_squares(rows: Array, uppers: Sequence[Array]) -> Array:
    """|row C|² (b, c) for rows (b, k) and c upper triangular matrices C (k, k).

    The same columns of several matrices make one product that is large enough for BLAS, without most of the
    products with zeros.
    """
    result, size = np.zeros((len(rows), len(uppers))), rows.shape[1]
    for first in range(0, len(uppers), _SIDE_BY_SIDE):
        some = uppers[first : first + _SIDE_BY_SIDE]
        total = result[:, first : first + len(some)]
        for a, b in pairwise([*range(0, size, _PANEL), size]):
            panel = np.concatenate([upper[:b, a:b] for upper in some], axis=1)
            for start in range(0, len(rows), _ROWS):
                part = slice(start, start + _ROWS)
                spread = (rows[part, :b] @ panel).reshape(-1, len(some), b - a)
                total[part] += np.einsum("bck,bck->bc", spread, spread)
    return result


def squared_distances(points: Array, others: Array, unit: float = 1.0) -> Array:
    """|x - y|² (b, k) between points (b, q) and others (k, q).

    As |x|² - 2 x·y + |y|² about the mean of the others, by one product of matrices; column by column for
    points more than a hundred units away, for which this would cost more than four of the sixteen digits.
    """
    center = others.mean(axis=0)
    x, y = points - center, others - center
    with np.errstate(over="ignore", invalid="ignore"):
        sizes, other_sizes = (np.einsum("ij,ij->i", rows, rows) for rows in (x, y))
        near = np.maximum(sizes, other_sizes.max(initial=0.0)) <= _SHORT * unit**2
        result = x @ (-2.0 * y.T)
        result += sizes[:, None]
        result += other_sizes
    if not near.all():
        result[~near] = cdist(points[~near], others, "sqeuclidean")
    return np.maximum(result, 0.0, out=result)
