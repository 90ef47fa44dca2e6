"""Prediction of h + u at any points: the feature weights' posterior, and kriging of what they leave over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.spatial.distance import cdist

from .._threads import thread_map
from .._typing import Array, IntArray, RowLike
from ..graph.neighbors import NeighborSearch
from ..inference.posterior import WeightPosterior, safe_cholesky
from .euclidean import JITTER, LocalModel
from .laplace import LatentPosterior
from .multifrontal import SparseCholesky
from .neighborhoods import check_neighbor_count, distances_within
from .vecchia import batches, conditionals

# Up to this many times k labels, all of them are conditioned on.
_FEW_LABELS = 4


@dataclass(frozen=True)
class JointPosterior:
    """All that prediction needs, O(m (M + p) + M²) numbers.

    u is kriged from what the labels leave over, noise included, or, where the labels are not Gaussian, from
    its own posterior: then σ² = 0, `residual` is the mean of u, -`spread` how it follows β, and `cholesky`
    what β does not tell about it. `weights` is in the coordinates of whatever rows describe the points: φ(x),
    or, after `in_rows_of`, the r-sparse transition row z(x) with φ(x) = z(x) B.
    """

    points: Array  # (m, p) labelled points, in the columns in which u lives
    noise_scale: Array  # (m,) v
    residual: Array  # (m,) ρ = y - Φβ̄
    spread: Array  # (m, M) ΦC, C the factor of β's posterior covariance
    weights: WeightPosterior
    local: LocalModel
    n_neighbors: int  # k
    cholesky: SparseCholesky | None = None  # of the precision (m, m) of u given β

    @classmethod
    def of(
        cls,
        points: Array,
        features: Array,
        y: Array,
        noise_scale: Array,
        weights: WeightPosterior,
        local: LocalModel,
        n_neighbors: int,
    ) -> JointPosterior:
        """From the labelled rows (features Φ, (m, M)) and the posterior of β that `evaluate` returns."""
        check_neighbor_count(n_neighbors)
        return cls(
            np.ascontiguousarray(points, dtype=np.float64),
            np.asarray(noise_scale, dtype=np.float64),
            y - features @ weights.mean,
            features @ weights.factor,
            weights,
            local,
            min(n_neighbors, len(y)),
        )

    @classmethod
    def of_latent(
        cls, sites: Array, posterior: LatentPosterior, local: LocalModel, n_neighbors: int
    ) -> JointPosterior:
        """From the distinct labelled points and the posterior of β and u that `evaluate_latent` returns."""
        check_neighbor_count(n_neighbors)
        return cls(
            sites,
            np.ones(len(sites)),
            posterior.local_mean,
            posterior.local_spread,
            WeightPosterior(posterior.mean, posterior.factor),
            local,
            min(n_neighbors, len(sites)),
            posterior.cholesky,
        )

    def remainder(self, B: sparse.csr_array) -> Array:
        """X (·, n) with XᵀX the covariance, given β, of the kriged values B u (n,), B (n, m).

        Labels are known, so that it has no rows where they are what is kriged.
        """
        if self.cholesky is None:
            return np.zeros((0, B.shape[0]))
        return self.cholesky.solve_half(B.T.toarray())

    @cached_property
    def label_cholesky(self) -> Array:
        """Lower factor of K + σ² diag(v) (m, m): made once, and only where all labels are conditioned on."""
        system = self.local.covariance(cdist(self.points, self.points))
        noise = self.local.noise_variance * self.noise_scale + JITTER * self.local.variance
        system[np.diag_indices(len(system))] += noise
        return safe_cholesky(system)

    def in_rows_of(self, lift: Array) -> JointPosterior:
        """The same for rows z (n, s), φ = z · lift, lift (s, M): h(x) then costs O(rM) for r non-zeros."""
        return replace(self, weights=WeightPosterior(lift @ self.weights.mean, lift @ self.weights.factor))


@dataclass(frozen=True)
class PredictedParts:
    """Posterior moments of f = h + u at n points, and of its two parts; all of shape (n,)."""

    manifold_mean: Array  # h: φ(x) β̄
    manifold_variance: Array  # φ S φᵀ
    local_mean: Array  # u: b · ρ_N
    local_variance: Array  # a_u² - b · k_u(x, N) + (bΦ_N) S (bΦ_N)ᵀ
    covariance: Array  # of h and u: -φ S (bΦ_N)ᵀ
    variance: Array  # of h + u: a_u² - b · k_u(x, N) + Δ S Δᵀ, Δ = φ(x) - bΦ_N

    @property
    def mean(self) -> Array:
        """Posterior mean of f."""
        return self.manifold_mean + self.local_mean

    @classmethod
    def stack(cls, parts: Sequence[PredictedParts], axis: int = 0) -> PredictedParts:
        """Several batches of points one after the other; along a new second axis: several outputs."""
        if not parts:
            return cls(*(np.empty(0) for _ in fields(cls)))
        join = np.concatenate if axis == 0 else partial(np.stack, axis=axis)
        return cls(*(join([getattr(part, field.name) for part in parts]) for field in fields(cls)))


@dataclass(frozen=True)
class KrigingWeights:
    """Weights b of the k nearest labelled points for a batch of n points."""

    neighbors: IntArray  # (n, k)
    coefficients: Array  # (n, k) b
    variance: Array  # (n,) a_u² - b · k_u(x, N)

    def matrix(self, m: int) -> sparse.csr_array:
        """The weights as a sparse (n, m) matrix."""
        n, k = self.neighbors.shape
        parts = (self.coefficients.ravel(), self.neighbors.ravel(), np.arange(0, n * k + 1, k))
        return sparse.csr_array(parts, shape=(n, m))


def kriging_weights(posterior: JointPosterior, points: Array, search: NeighborSearch) -> KrigingWeights:
    """Weights b = k_u(x, N)(K_NN + σ² diag(v_N))⁻¹ for each of n points, N its nearest labelled points."""
    if len(posterior.points) <= _FEW_LABELS * posterior.n_neighbors:
        return _weights_of_all_labels(posterior, points)
    neighbors, squared = search(points, posterior.n_neighbors)
    local = posterior.local
    noise = local.noise_variance * posterior.noise_scale[neighbors].T
    within = distances_within(posterior.points, neighbors)
    system = conditionals(local, within, np.sqrt(squared).T, noise)
    # At a labelled point without noise rounding may leave less than nothing.
    return KrigingWeights(neighbors, system.weights.T, np.maximum(local.variance - system.explained, 0.0))


def _weights_of_all_labels(posterior: JointPosterior, points: Array) -> KrigingWeights:
    """N are all m labels: one system for all points, which for few labels costs less than one for each."""
    local, m = posterior.local, len(posterior.points)
    cross = local.covariance(cdist(points, posterior.points))
    weights = linalg.cho_solve((posterior.label_cholesky, True), cross.T, check_finite=False).T
    explained = np.einsum("ij,ij->i", weights, cross)
    everyone = np.broadcast_to(np.arange(m), weights.shape)
    return KrigingWeights(everyone, weights, np.maximum(local.variance - explained, 0.0))


def with_manifold(
    posterior: JointPosterior, kriging: KrigingWeights, mean: Array, spread: Array
) -> PredictedParts:
    """Moments of both parts at n points from h's own mean φβ̄ (n,) and spread φC (n, M)."""
    B = kriging.matrix(len(posterior.points))
    through = B @ posterior.spread  # bΦ_N C
    remainder = posterior.remainder(B)
    conditional = kriging.variance + np.einsum("ij,ij->j", remainder, remainder)
    return PredictedParts(
        mean,
        np.einsum("ij,ij->i", spread, spread),
        B @ posterior.residual,
        conditional + np.einsum("ij,ij->i", through, through),
        -np.einsum("ij,ij->i", spread, through),
        conditional + np.einsum("ij,ij->i", spread - through, spread - through),
    )


def predict(posterior: JointPosterior, points: RowLike, rows: Any, n_threads: int = 1) -> PredictedParts:
    """Mean and variance of f and of its parts, O(k³ + kM) a point beside `rows @ factor`.

    The variance of a new y adds σ²·v to `variance`.

    Parameters
    ----------
    posterior : JointPosterior
    points : array of shape (n, p)
        In the columns in which u lives.
    rows : array or CSR matrix of shape (n, M) or (n, s)
        φ(x), or z(x) if `posterior` is in the rows of a lift.
    n_threads : int
    """
    search = NeighborSearch(posterior.points)

    def moments(part: slice) -> PredictedParts:
        kriging = kriging_weights(posterior, np.asarray(points[part], dtype=np.float64), search)
        weights = posterior.weights
        return with_manifold(posterior, kriging, rows[part] @ weights.mean, rows[part] @ weights.factor)

    return PredictedParts.stack(
        list(thread_map(moments, batches(points.shape[0], posterior.n_neighbors), n_threads))
    )
