"""Eigenfeatures of the GLGP, extended from its landmarks to any point by Nyström's formula.

With k the SE kernel, q_j = Σ_i k(u_i, u_j) over the landmarks, W_ij = k_ij / (q_i q_j) and d_i = Σ_j W_ij,
the eigenpairs are those of d^(-1/2) W d^(-1/2), mapped back by d^(-1/2). A point x has the row
z_j(x) ∝ k(x, u_j) / q_j, which at a landmark is its own row of the random walk W / d. So φ(x) = z(x) B with
B = eigenvectors / eigenvalues gives the eigenvectors at the landmarks and extends them to all other points:
the form of the engine's own feature map.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from .._threads import blas_for
from .._typing import Array
from ..blocks import Blocks
from ..eigensolvers import ROUGH, dense_eigenpairs
from ..feature_map import FeatureMap, Rows
from ..graph import NeighborBlock, NeighborGraph, Transition
from ..spectrum import Spectrum, fit_spectrum
from .landmarks import LandmarkBlock, LandmarkGraph, Matrix

# Dense `eigh` up to this many landmarks; Lanczos beyond.
_DENSE_SIZE = 1500
_TOLERANCE = 1e-8
# Entries of the normalised matrix that do not count, and the share of others below which they are dropped.
_NEGLIGIBLE, _SPARSE_SHARE = 1e-13, 0.3
# The lift divides by the eigenvalue.
_SMALLEST_EIGENVALUE = 1e-4


@dataclass(frozen=True)
class MatrixRows(Rows):
    """Transition rows as a matrix z (b, s), dense or sparse; `index` (b, 1) is the nearest landmark only."""

    z: Matrix

    def combine(self, values: Array) -> Array:
        """Σ_j z_j values_j."""
        return np.asarray(self.z @ values)

    def quadratic(self, values: Array) -> Array:
        """Σ_jk z_j z_k values_jk."""
        return np.asarray((self.z * (self.z @ values)).sum(axis=1)).ravel()


@dataclass(frozen=True)
class LandmarkFeatureMap(FeatureMap):
    """φ of the GLGP, at landmarks and elsewhere."""

    def rows_of(self, block: NeighborBlock) -> Rows:
        """Row-normalised cross kernel, divided by the landmarks' column sums."""
        assert isinstance(block, LandmarkBlock)
        assert self.transition.epsilon is not None
        z = _walk(block.pairs, self.transition.log_ratio, 4.0 * self.transition.epsilon**2)
        return MatrixRows(block.index, z, self._closeness(block))

    def without_blocks(self) -> LandmarkFeatureMap:
        """The same without what only the fit needs."""
        assert isinstance(self.graph, LandmarkGraph)
        return replace(self, graph=replace(self.graph, blocks=Blocks([]), among_landmarks=None))


def fit_landmark_map(
    graph: NeighborGraph,
    n_eigenpairs: int,
    epsilon: float | None = None,
    blocks: Any = None,
    n_threads: int = 1,
    near: Any = None,
) -> LandmarkFeatureMap:
    """Eigenfeatures at one bandwidth: what `fit_feature_map` is for the engine's own graph.

    The landmarks alone decide; `blocks`, a sample of the rows, plays no part. `near` is the map at another
    bandwidth, in a search.
    """
    assert isinstance(graph, LandmarkGraph)
    assert epsilon is not None
    pairs: Matrix = graph.among_landmarks
    scale = 4.0 * epsilon**2
    with blas_for(pairs.shape[0], n_threads):
        if sparse.issparse(pairs):
            beside = None if near is None else near.spectrum
            q, spectrum = _sparse_spectrum(pairs, scale, n_eigenpairs, n_threads, beside)
        else:
            tolerance = _TOLERANCE if near is None else ROUGH
            q, spectrum = _dense_spectrum(pairs, scale, n_eigenpairs, tolerance)
    return LandmarkFeatureMap(graph, Transition(-np.log(q), epsilon), spectrum)


def _walk(pairs: Matrix, log_ratio: Array, scale: float) -> Matrix:
    """Rows z (b, s) ∝ exp(-d²/scale)·ratio with rows that sum to 1, in the log domain: never 0/0."""
    if not sparse.issparse(pairs):
        logit = pairs / -scale
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


def _dense_spectrum(
    sqdist: Array, scale: float, n_eigenpairs: int, tolerance: float
) -> tuple[Array, Spectrum]:
    """Column sums q and the leading eigenpairs of a graph in which every pair is joined."""
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
    if size <= _DENSE_SIZE or count > size // 4:
        values, vectors = dense_eigenpairs(matrix, count)
    else:
        start = np.random.default_rng(0).standard_normal(size)
        # A small bandwidth leaves few entries that count, and products with those few are much faster.
        counting = matrix > _NEGLIGIBLE
        few = counting.mean() < _SPARSE_SHARE
        try:
            product = sparse.csr_array(np.where(counting, matrix, 0.0)) if few else matrix
            values, vectors = eigsh(product, k=count, which="LA", v0=start, tol=tolerance)
            values, vectors = values[::-1], vectors[:, ::-1]
        except ArpackNoConvergence:  # a tiny bandwidth leaves nearly the identity
            values, vectors = dense_eigenpairs(matrix, count)
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(count)])
    return values, vectors * signs


def _sparse_spectrum(
    sqdist: sparse.csr_array, scale: float, n_eigenpairs: int, n_threads: int, near: Spectrum | None
) -> tuple[Array, Spectrum]:
    """The same where only near pairs are joined: the engine's solver, which knows connected parts.

    It is for eigenvalues in [0, 1], and those of a kernel that is cut off may be negative. So it gets the
    walk that stays where it is every other time: eigenvalues (1 + λ) / 2, the same vectors.
    """
    W = sqdist.copy()
    W.data = np.exp(sqdist.data / -scale)
    q = np.asarray(W.sum(axis=1)).ravel()
    W = sparse.csr_array(sparse.diags_array(1.0 / q) @ W @ sparse.diags_array(1.0 / q))
    lazy = sparse.csr_array(W + sparse.diags_array(W.sum(axis=1)))
    # Rows of the walk sum to 1, so the mass of all landmarks is their number.
    lazy *= len(q) / lazy.sum()
    found = fit_spectrum(lazy, len(q), n_eigenpairs, n_threads, near)
    sigma = 1.0 - found.eigenvalues  # roots of the eigenvalues: FLGP takes one step of two halves
    values = np.minimum(2.0 * sigma**2 - 1.0, 1.0)
    keep = values > _SMALLEST_EIGENVALUE
    lift = _normalized(found.lift[:, keep]) / values[keep]
    return q, replace(found, eigenvalues=1.0 - values[keep], lift=lift, n_capped=0)


def _normalized(vectors: Array) -> Array:
    """Columns of length √n."""
    return vectors * (np.sqrt(len(vectors)) / np.linalg.norm(vectors, axis=0))
