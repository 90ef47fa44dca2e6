"""Marginals of f under Gaussian sites, by whichever of the M×M and the m×m form is smaller."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dtrsm

from .._linalg import cholesky_of_one_plus, log_determinant, triangular_inverse
from .._typing import Array
from .posterior import DualPosterior, WeightPosterior

# A marginal variance is kept at least this share of the prior's: below it there is only rounding.
_SMALLEST_SHARE = 1e-12


@dataclass(frozen=True)
class Marginals:
    """f_i ~ N(mean_i, variance_i) under sites with precisions τ and shifts ν."""

    mean: Array  # (m,)
    variance: Array  # (m,)
    log_det: float  # log|I + K diag(τ)|
    cholesky: Array | None  # the factor behind it, lower


class PrimalSolver:
    """H = I + Aᵀ diag(τ) A, M×M, for at least as many rows as features."""

    def __init__(self, features: Array, d: Array) -> None:
        self.root = np.sqrt(d)
        self.A = features * self.root
        self.smallest = _SMALLEST_SHARE * np.einsum("ij,ij->i", self.A, self.A) + 1e-300

    def marginals(self, tau: Array, nu: Array) -> Marginals:
        """Marginals of f (m,); for several shifts (m, C) of the same precisions, means (m, C).

        A row of L⁻¹Aᵀ for each weight gives mean and variance of every f.
        """
        L = self._cholesky(tau)
        T = dtrsm(1.0, L, self.A.T, lower=1)  # L⁻¹Aᵀ (M, m)
        variance = np.maximum(np.einsum("ij,ij->j", T, T), self.smallest)
        return Marginals(T.T @ (T @ nu), variance, log_determinant(L), L)

    def weights(self, marginals: Marginals, tau: Array, nu: Array) -> Array:
        """Posterior means (M, C) of the weights, D^(1/2) H⁻¹Aᵀν, for several shifts (m, C)."""
        solved = linalg.cho_solve((marginals.cholesky, True), self.A.T @ nu, check_finite=False)
        return self.root[:, None] * solved

    def dense(self, tau: Array) -> tuple[Array, Array]:
        """Coordinates u with f = basis u, here the whitened weights: basis (m, k), and covariance of u."""
        inverse = triangular_inverse(self._cholesky(tau))
        return self.A, inverse.T @ inverse

    def finish(self, marginals: Marginals, tau: Array, nu: Array) -> tuple[Array, WeightPosterior]:
        """½[(A_iᵀα)² - (AᵀRA)_ii] (M,), R = (K + τ⁻¹)⁻¹, and the posterior of the weights; AᵀRA = I - H⁻¹."""
        assert marginals.cholesky is not None
        inverse = triangular_inverse(marginals.cholesky)
        # The posterior mean H⁻¹Aᵀν; as Aᵀ(ν - τ∘f̄) it is nothing but rounding where τ is large.
        along = linalg.cho_solve((marginals.cholesky, True), self.A.T @ nu, check_finite=False)
        gradient = 0.5 * (along**2 - 1.0 + np.einsum("ij,ij->j", inverse, inverse))
        return gradient, WeightPosterior(self.root * along, self.root[:, None] * inverse.T)

    def _cholesky(self, tau: Array) -> Array:
        scaled = self.A * np.sqrt(tau)[:, None]
        # NumPy sees that this is symmetric, and lets other threads run, which SciPy's own call does not.
        return cholesky_of_one_plus((scaled.T @ scaled).T)


class DualSolver:
    """B = I + τ^(1/2) K τ^(1/2), m×m, for fewer rows than features."""

    def __init__(self, features: Array, d: Array) -> None:
        self.root = np.sqrt(d)
        self.A = features * self.root
        self.K = self.A @ self.A.T
        self.prior_variance = np.diag(self.K).copy()
        self.smallest = _SMALLEST_SHARE * self.prior_variance + 1e-300

    def marginals(self, tau: Array, nu: Array) -> Marginals:
        """The covariance is K - K τ^½ B⁻¹ τ^½ K, of which only the diagonal is formed."""
        root = np.sqrt(tau)
        L = self._cholesky(root)
        T = dtrsm(1.0, L, np.asfortranarray(root[:, None] * self.K), lower=1, overwrite_b=1)
        variance = np.maximum(self.prior_variance - np.einsum("ij,ij->j", T, T), self.smallest)
        return Marginals(self.K @ nu - T.T @ (T @ nu), variance, log_determinant(L), L)

    def weights(self, marginals: Marginals, tau: Array, nu: Array) -> Array:
        """D^(1/2) Aᵀ τ^½ B⁻¹ τ^(-½) ν, for precisions that are not 0.

        Without the difference ν - τ∘f̄, which leaves nothing but rounding where τ is large.
        """
        root = np.sqrt(tau)[:, None]
        solved = linalg.cho_solve((marginals.cholesky, True), nu / root, check_finite=False)
        return self.root[:, None] * (self.A.T @ (root * solved))

    def dense(self, tau: Array) -> tuple[Array, Array]:
        """The latent values themselves."""
        root = np.sqrt(tau)
        T = dtrsm(1.0, self._cholesky(root), np.asfortranarray(root[:, None] * self.K), lower=1)
        return np.eye(len(tau)), self.K - T.T @ T

    def finish(self, marginals: Marginals, tau: Array, nu: Array) -> tuple[Array, DualPosterior]:
        """AᵀRA = halfᵀ half with half = L⁻¹ τ^½ A."""
        assert marginals.cholesky is not None
        along = self.A.T @ self._dual(marginals.cholesky, tau, nu)
        posterior = DualPosterior(self.root * along, self.root, self.A, np.sqrt(tau), marginals.cholesky)
        half = posterior.half
        gradient = 0.5 * (along**2 - np.einsum("ij,ij->j", half, half))
        return gradient, posterior

    def _dual(self, cholesky: Array, tau: Array, nu: Array) -> Array:
        """α = ν - τ∘f̄ (m,) without that difference: τ^½ B⁻¹ (τ^(-½) ν₁ - τ^½ K ν₀) + ν₀, ν₀ where τ is 0."""
        root, flat = np.sqrt(tau), tau == 0.0
        alone = np.where(flat, nu, 0.0)
        sized = np.where(flat, 0.0, nu) / np.where(flat, 1.0, root) - root * (self.K @ alone)
        return root * linalg.cho_solve((cholesky, True), sized, check_finite=False) + alone

    def _cholesky(self, root: Array) -> Array:
        return cholesky_of_one_plus(root[:, None] * self.K * root)


# What expectation propagation needs of the model for one set of prior variances.
SiteSolver = PrimalSolver | DualSolver


def make_solver(features: Array, d: Array) -> SiteSolver:
    """For features Φ (m, M) and prior variances d (M,)."""
    return DualSolver(features, d) if len(features) < len(d) else PrimalSolver(features, d)
