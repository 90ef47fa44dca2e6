"""Prediction of u at any points: kriging of what the features leave over."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.spatial.distance import cdist

from .._linalg import safe_cholesky
from .._stored import stored
from .._typing import Array, IntArray
from ..geometry.point_cloud import NeighborSearch
from ..inference.joint_laplace import LatentPosterior
from ..inference.posterior import Posterior
from ..terms.local.euclidean import JITTER, LocalModel
from ..terms.local.multifrontal import SparseCholesky
from ..terms.local.neighborhoods import check_neighbor_count, distances_within
from ..terms.local.vecchia import batches, conditionals

# Up to this many times k labels, all of them are conditioned on; and entries of a batch of such systems.
_FEW_LABELS, _BATCH_ENTRIES = 4, 2_000_000


@stored("posterior of a local term")
@dataclass(frozen=True)
class JointPosterior:
    """All that prediction of u needs, O(m (M + p)) numbers.

    u is kriged from what the labels leave over, noise included, or, where the labels are not Gaussian, from
    its own posterior: then σ² = 0, `residual` is the mean of u, -`spread` how it follows β, and `cholesky`
    what remains unknown given β.
    """

    points: Array  # (m, p) labelled points, in the columns in which u lives
    noise_scale: Array  # (m,) v
    residual: Array  # (m,) ρ = y - Φβ̄
    spread: Array  # (m, M) ΦC, C the factor of β's posterior covariance
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
        weights: Posterior,
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
            local,
            min(n_neighbors, len(sites)),
            posterior.cholesky,
        )

    @property
    def sees_all(self) -> bool:
        """Whether every prediction is conditioned on all labels."""
        return len(self.points) <= _FEW_LABELS * self.n_neighbors

    def batches(self, n: int) -> list[slice]:
        """Rows of n points to predict together."""
        if not self.sees_all:
            return batches(n, self.n_neighbors)
        size = max(1, _BATCH_ENTRIES // len(self.points))
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]

    def remainder(self, B: sparse.csr_array) -> Array:
        """X (·, n) with XᵀX the covariance, given β, of the kriged values B u (n,), B (n, m).

        It has no rows where the labels themselves are kriged, because they are known.
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

    @cached_property
    def dual(self) -> Array:
        """(K + σ² diag(v))⁻¹ρ (m,), where all labels are conditioned on."""
        return linalg.cho_solve((self.label_cholesky, True), self.residual, check_finite=False)


class KrigedMoments(NamedTuple):
    """Posterior moments of f = h + u at n points and of u alone; all of shape (n,)."""

    mean: Array  # h + u: φ(x) β̄ + b · ρ_N
    variance: Array  # of h + u: a_u² - b · k_u(x, N) + Δ S Δᵀ, Δ = φ(x) - bΦ_N
    local_mean: Array  # u: b · ρ_N
    local_variance: Array  # a_u² - b · k_u(x, N) + (bΦ_N) S (bΦ_N)ᵀ


@dataclass(frozen=True)
class KrigingWeights:
    """Weights b of the k nearest labelled points for a batch of n points."""

    neighbors: IntArray  # (n, k)
    coefficients: Array  # (n, k) b
    variance: Array  # (n,) a_u² - b · k_u(x, N)
    mean: Array  # (n,) b · ρ_N

    def matrix(self, m: int) -> sparse.csr_array:
        """The weights as a sparse (n, m) matrix."""
        return _as_matrix(self.neighbors, self.coefficients, m)


def _as_matrix(neighbors: IntArray, coefficients: Array, m: int) -> sparse.csr_array:
    n, k = neighbors.shape
    parts = (coefficients.ravel(), neighbors.ravel(), np.arange(0, n * k + 1, k))
    return sparse.csr_array(parts, shape=(n, m))


def kriging_weights(posterior: JointPosterior, points: Array, search: NeighborSearch) -> KrigingWeights:
    """Weights b = k_u(x, N)(K_NN + σ² diag(v_N))⁻¹ for each of n points, N its nearest labelled points."""
    if posterior.sees_all:
        return _weights_of_all_labels(posterior, points)
    neighbors, squared = search(points, posterior.n_neighbors)
    local = posterior.local
    noise = local.noise_variance * posterior.noise_scale[neighbors].T
    within = distances_within(posterior.points, neighbors)
    system = conditionals(local, within, np.sqrt(squared).T, noise)
    # At a labelled point without noise rounding may leave less than nothing.
    variance = np.maximum(local.variance - system.explained, 0.0)
    mean = _as_matrix(neighbors, system.weights.T, len(posterior.points)) @ posterior.residual
    return KrigingWeights(neighbors, system.weights.T, variance, mean)


def _weights_of_all_labels(posterior: JointPosterior, points: Array) -> KrigingWeights:
    """N are all m labels: one system for all points, which for few labels costs less than one for each."""
    local, m = posterior.local, len(posterior.points)
    cross = local.covariance(cdist(points, posterior.points))
    weights = linalg.cho_solve((posterior.label_cholesky, True), cross.T, check_finite=False).T
    explained = np.einsum("ij,ij->i", weights, cross)
    everyone = np.broadcast_to(np.arange(m), weights.shape)
    # As in `kriged_means`: nearly without noise b · ρ would be rounded differently.
    mean = cross @ posterior.dual
    return KrigingWeights(everyone, weights, np.maximum(local.variance - explained, 0.0), mean)


def kriged_means(posterior: JointPosterior, points: Array, search: NeighborSearch) -> Array:
    """E u (n,) at n points: b · ρ_N."""
    if posterior.sees_all:
        return posterior.local.covariance(cdist(points, posterior.points)) @ posterior.dual
    return kriging_weights(posterior, points, search).mean


def kriged_moments(
    posterior: JointPosterior, kriging: KrigingWeights, mean: Array, spread: Array
) -> KrigedMoments:
    """Moments at n points from h's own mean φβ̄ (n,) and spread φC (n, M)."""
    B = kriging.matrix(len(posterior.points))
    through = B @ posterior.spread  # bΦ_N C
    remainder = posterior.remainder(B)
    conditional = kriging.variance + np.einsum("ij,ij->j", remainder, remainder)
    return KrigedMoments(
        mean + kriging.mean,
        conditional + np.einsum("ij,ij->i", spread - through, spread - through),
        kriging.mean,
        conditional + np.einsum("ij,ij->i", through, through),
    )


def error_covariance(posterior: JointPosterior, points: Array, kriging: KrigingWeights) -> Array:
    """Covariance (q, q), given β, of what the points' own kriging predictors leave open.

    The errors e_i = u(x_i) - b_i·(u + noise)_N(i) are linear functions of one Gaussian process, so that their
    exact covariance,
    k_u(x_i, x_j) - b_i k_u(N_i, x_j) - k_u(x_i, N_j) b_jᵀ + b_i Σ(N_i, N_j) b_jᵀ,
    is positive semi-definite and keeps the correlation of u between the points. Where u itself is kriged, the
    covariance of b_i·u_N(i) is added.
    """
    local, used = posterior.local, np.unique(kriging.neighbors)
    B = kriging.matrix(len(posterior.points))
    b = B[:, used]
    labelled = posterior.points[used]
    noise = local.noise_variance * posterior.noise_scale[used] + (local.diagonal - local.variance)
    cross = b @ local.covariance(cdist(labelled, points))
    between = local.covariance(cdist(labelled, labelled))
    between[np.diag_indices_from(between)] += noise
    errors = local.covariance(cdist(points, points)) - cross - cross.T + b @ (b @ between).T
    remainder = posterior.remainder(B)
    return 0.5 * (errors + errors.T) + remainder.T @ remainder
