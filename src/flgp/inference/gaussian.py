"""Gaussian likelihood: everything in closed form, each evaluation independent of m."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from .._linalg import cholesky_of_one_plus, log_determinant, triangular_inverse
from .._typing import Array
from .posterior import DualPosterior, Evaluation, Point, Posterior, WeightPosterior


class GaussianInference:
    """Exact posterior and evidence for noise variances σ²·v_i.

    Several columns of labels are functions with one kernel and one noise: one factorisation serves all, and
    their evidence is the sum. With m ≥ M labelled rows only ΦᵀV⁻¹Φ, ΦᵀV⁻¹y and yᵀV⁻¹y are kept. With fewer,
    the rows themselves are. `features` Φ are (m, M), `y` (m,) or (m, C), less what is known of its mean, and
    `noise_scale` v is (m,).
    """

    def __init__(self, features: Array, y: Array, noise_scale: Array) -> None:
        scale = 1.0 / np.sqrt(noise_scale)
        rows, white = features * scale[:, None], y.reshape(len(y), -1) * scale[:, None]
        (self._m, self._C), self._columns = white.shape, y.shape[1:]
        self._constant = self._C * float(np.log(scale).sum() - 0.5 * self._m * np.log(2 * np.pi))
        self._squares = float((white**2).sum())
        self._wide = features.shape[0] < features.shape[1]
        self._projection = rows.T @ white
        # What an evaluation needs: the rows themselves, or only their products.
        self._rows, self._y = rows[: self._m * self._wide], white[: self._m * self._wide]
        self._gram = np.empty((0, 0)) if self._wide else rows.T @ rows

    def evaluate(self, at: Point) -> Evaluation:
        """In closed form."""
        return self._dual(at.d, at.noise) if self._wide else self._primal(at.d, at.noise)

    def _primal(self, d: Array, noise: float) -> Evaluation:
        """H = I + D^½ ΦᵀΦ D^½ / σ², M×M."""
        root = np.sqrt(d)
        L = cholesky_of_one_plus(self._gram * (root[:, None] * root / noise))
        # L⁻¹ costs M³/3 and gives the factor of the posterior, the trace and the diagonal at once.
        inverse = triangular_inverse(L)
        b = root[:, None] * self._projection / noise
        w = inverse.T @ (inverse @ b)
        diagonal = np.einsum("ij,ij->j", inverse, inverse)  # of H⁻¹
        fitted, shrunk = float((w * b).sum()), float((w**2).sum())  # yᵀΦD^½H⁻¹D^½Φᵀy / σ⁴, |w|²
        # |y - Φβ̄|² = yy - 2 ββᵀΦᵀy + β̄ᵀΦᵀΦβ̄, with β̄ᵀΦᵀΦβ̄ = σ²(wᵀb - wᵀw)
        residual = max(self._squares - noise * (fitted + shrunk), 0.0)
        gradient = 0.5 * ((w**2).sum(axis=1) + self._C * (diagonal - 1.0))
        by_noise = 0.5 * (residual / noise + self._C * (len(d) - float(diagonal.sum()) - self._m))
        posterior = WeightPosterior(self._mean(root, w), root[:, None] * inverse.T)
        return self._evaluation(noise, L, residual / noise + shrunk, gradient, by_noise, posterior)

    def _dual(self, d: Array, noise: float) -> Evaluation:
        """I + ΦDΦᵀ/σ², m×m, for fewer rows than features."""
        root = np.sqrt(d)
        A = self._rows * (root / np.sqrt(noise))
        L = cholesky_of_one_plus(A @ A.T)
        inverse = triangular_inverse(L)
        half = linalg.solve_triangular(L, A, lower=True, check_finite=False)  # L⁻¹A
        white = inverse @ (self._y / np.sqrt(noise))
        alpha = inverse.T @ white
        w = A.T @ alpha
        # Less the diagonal of AᵀK⁻¹A.
        gradient = 0.5 * ((w**2).sum(axis=1) - self._C * np.einsum("ij,ij->j", half, half))
        by_noise = 0.5 * (float((alpha**2).sum()) - self._C * float((inverse**2).sum()))
        posterior = DualPosterior(self._mean(root, w), root, A, np.ones(len(A)), L)
        return self._evaluation(noise, L, float((white**2).sum()), gradient, by_noise, posterior)

    def _mean(self, root: Array, w: Array) -> Array:
        return (root[:, None] * w).reshape(len(root), *self._columns)

    def _evaluation(
        self,
        noise: float,
        L: Array,
        squares: float,
        gradient: Array,
        by_noise: float,
        posterior: Posterior,
    ) -> Evaluation:
        log_det = log_determinant(L) + self._m * np.log(noise)
        value = self._constant - 0.5 * (self._C * log_det + squares)
        return Evaluation(float(value), gradient, np.array([by_noise]), posterior)
