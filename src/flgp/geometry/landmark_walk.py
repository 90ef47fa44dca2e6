"""The walk of the GLGP (Dunson, Wu and Wu) on its landmarks, and its eigenpairs.

With k the SE kernel, q_j = Σ_i k(u_i, u_j) over the landmarks, W_ij = k_ij / (q_i q_j) and d_i = Σ_j W_ij,
the eigenpairs are those of d^(-1/2) W d^(-1/2), mapped back by d^(-1/2). A point x has the row
z_j(x) ∝ k(x, u_j) / q_j, which at a landmark is its row of the random walk W / d. So φ(x) = z(x) B with
B = eigenvectors / eigenvalues gives the eigenvectors at the landmarks and extends them to all other points
(Nyström's formula).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._linalg import squared_distances
from .._typing import Array
from .eigensolvers import dense_eigenpairs, with_fixed_signs
from .krylov import leading_by_lanczos
from .spectrum import Spectrum, fit_spectrum

Matrix = Any  # (b, s): an array, or a sparse csr_array

# Entries of one block of rows × landmarks (64-bit: 32 MB).
BLOCK_ENTRIES = 4_000_000
# Dense `eigh` up to this many landmarks; Lanczos beyond.
_DENSE_SIZE = 1500
TOLERANCE = 1e-8
# Entries of the normalised matrix below this are negligible; they are dropped if the others are fewer than
# this fraction.
_NEGLIGIBLE, _SPARSE_SHARE = 1e-13, 0.3
# The lift divides by the eigenvalue.
_SMALLEST_EIGENVALUE = 1e-4


def joined_pairs(X: Array, landmarks: Array, r: int, reach: Array | None) -> Matrix:
    """Squared distances to the landmarks (b, s): all, or (sparse) those of joined pairs."""
    unit = float(np.sqrt(landmarks.var(axis=0).sum()))
    if reach is None:
        return squared_distances(X, landmarks, unit)
    parts = []
    size = max(64, BLOCK_ENTRIES // len(landmarks))
    for start in range(0, len(X), size):
        sqdist = squared_distances(X[start : start + size], landmarks, unit)
        rth_nearest = np.partition(sqdist, r - 1, axis=1)[:, r - 1]
        row, column = np.nonzero(sqdist <= np.maximum(rth_nearest[:, None], reach))
        parts.append(sparse.csr_array((sqdist[row, column], (row, column)), shape=sqdist.shape))
    return sparse.csr_array(sparse.vstack(parts)) if len(parts) > 1 else parts[0]


def walk_rows(pairs: Matrix, log_ratio: Array, scale: float) -> Matrix:
    """Rows z (b, s) ∝ exp(-d²/scale)·ratio that sum to 1, in the log domain to avoid 0/0."""
    if not sparse.issparse(pairs):
        # Relative to the nearest landmark: far away, distances in units of the scale would overflow.
        logit = (pairs.min(axis=1, keepdims=True) - pairs) / scale
        logit += log_ratio
        logit -= logit.max(axis=1, keepdims=True)
        z = np.exp(logit, out=logit)
        z /= z.sum(axis=1, keepdims=True)
        return z
    logit = log_ratio[pairs.indices] - pairs.data / scale
    starts = pairs.indptr[:-1]
    counts = np.diff(pairs.indptr)
    weight = np.exp(logit - np.repeat(np.maximum.reduceat(logit, starts), counts))
    weight /= np.repeat(np.add.reduceat(weight, starts), counts)
    return sparse.csr_array((weight, pairs.indices, pairs.indptr), shape=pairs.shape)


def dense_spectrum(
    sqdist: Array, scale: float, n_eigenpairs: int, tolerance: float
) -> tuple[Array, Spectrum]:
    """Column sums q and the leading eigenpairs of a graph with all pairs joined."""
    W = np.exp(sqdist / -scale)
    q = W.sum(axis=1)
    W /= q[:, None]
    W /= q
    root = 1.0 / np.sqrt(W.sum(axis=1))
    W *= root[:, None]
    W *= root
    values, vectors = _leading_eigenpairs(W, min(n_eigenpairs, len(W)), tolerance)
    keep = values > _SMALLEST_EIGENVALUE
    values, vectors = np.minimum(values[keep], 1.0), vectors[:, keep] * root[:, None]
    lift = _normalized(vectors) / values
    return q, Spectrum(1.0 - values, lift, np.zeros(len(W), dtype=np.int64), 0)


def _leading_eigenpairs(matrix: Array, count: int, tolerance: float) -> tuple[Array, Array]:
    """Largest eigenvalues, descending, with vectors whose signs do not depend on the solver."""
    size = len(matrix)
    found = None
    if size > _DENSE_SIZE and count <= size // 4:
        # A small bandwidth leaves few entries that matter, and products with those are much faster.
        counting = matrix > _NEGLIGIBLE
        few = counting.mean() < _SPARSE_SHARE
        precision = np.float64 if tolerance <= TOLERANCE else np.float32
        small = sparse.csr_array(np.where(counting, matrix, 0.0)) if few else matrix
        small = small.astype(precision, copy=False)
        # Sixteen vectors at a time: the matrix is read once for all of them.
        found = leading_by_lanczos(
            lambda columns: (small @ columns.astype(precision)).astype(np.float64),
            size,
            count,
            tolerance,
            patient=False,
        )
    # A tiny bandwidth leaves nearly the identity, which only the dense solver can handle.
    values, vectors = dense_eigenpairs(matrix, count) if found is None else found
    return values, with_fixed_signs(vectors)


def sparse_spectrum(
    sqdist: sparse.csr_array, scale: float, n_eigenpairs: int, near: Spectrum | None
) -> tuple[Array, Spectrum]:
    """The same for a graph with near pairs joined, by `fit_spectrum`, which handles connected parts.

    That solver expects eigenvalues in [0, 1], but those of a truncated kernel may be negative. So it gets the
    lazy walk, which stays in place half of the time: eigenvalues (1 + λ) / 2, the same vectors.
    """
    W = sqdist.copy()
    W.data = np.exp(sqdist.data / -scale)
    q = np.asarray(W.sum(axis=1)).ravel()
    W = sparse.csr_array(sparse.diags_array(1.0 / q) @ W @ sparse.diags_array(1.0 / q))
    lazy = sparse.csr_array(W + sparse.diags_array(W.sum(axis=1)))
    # Rows of the walk sum to 1, so the mass of all landmarks is their number.
    lazy *= len(q) / lazy.sum()
    found = fit_spectrum(lazy, len(q), n_eigenpairs, near)
    sigma = 1.0 - found.eigenvalues  # roots of the eigenvalues: FLGP takes one step of two halves
    values = np.minimum(2.0 * sigma**2 - 1.0, 1.0)
    keep = values > _SMALLEST_EIGENVALUE
    lift = _normalized(found.lift[:, keep]) / values[keep]
    return q, replace(found, eigenvalues=1.0 - values[keep], lift=lift, n_capped=0)


def _normalized(vectors: Array) -> Array:
    """Columns of length √n."""
    return vectors * (np.sqrt(len(vectors)) / np.linalg.norm(vectors, axis=0))
