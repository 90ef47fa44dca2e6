"""Cholesky factors and triangular solves of many small matrices at once.

The matrix axes come first and the batch is the last, contiguous axis, so that every NumPy call works on long
vectors. For 30 × 30 blocks this factorises as fast as one LAPACK call per matrix, and the triangular solves,
which NumPy does not offer in batches, cost a small fraction of that.
"""

from __future__ import annotations

import numpy as np

from ..._typing import Array


def cholesky(A: Array) -> Array:
    """Lower L with A = L Lᵀ, in place; `A` is (k, k, b) and only its lower triangle is read or written."""
    for j in range(len(A)):
        if j:
            A[j:, j] -= np.einsum("ilb,lb->ib", A[j:, :j], A[j, :j])
        np.sqrt(A[j, j], out=A[j, j])
        A[j + 1 :, j] /= A[j, j]
    return A


def solve_lower(L: Array, x: Array) -> Array:
    """L⁻¹ x in place; `L` is (k, k, b) and `x` (k, ..., b)."""
    for j in range(len(L)):
        if j:
            x[j] -= np.einsum("lb,l...b->...b", L[j, :j], x[:j])
        x[j] /= L[j, j]
    return x


def solve_upper(L: Array, x: Array) -> Array:
    """L⁻ᵀ x in place; `L` is (k, k, b) and `x` (k, ..., b)."""
    for j in reversed(range(len(L))):
        if j + 1 < len(L):
            x[j] -= np.einsum("lb,l...b->...b", L[j + 1 :, j], x[j + 1 :])
        x[j] /= L[j, j]
    return x
