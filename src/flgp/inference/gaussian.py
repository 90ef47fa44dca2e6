"""Gaussian likelihood: everything in closed form, each evaluation independent of m."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from .._linalg import safe_cholesky
from .._typing import Array
from ..likelihoods import Observations
from .posterior import DualPosterior, Evaluation, Point, WeightPosterior


class GaussianInference:
    """Exact posterior and evidence for noise variances σ²·v_i.

    With m ≥ M labelled rows only ΦᵀV⁻¹Φ, ΦᵀV⁻¹y and yᵀV⁻¹y are kept. With fewer, the rows themselves are.

    Parameters
    ----------
    features : array of shape (m, M)
        Φ at the labelled rows.
    obs : Observations
    offset : float or array of shape (m,)
        Subtracted from y.
    """

    def __init__(self, features: Array, obs: Observations, offset: float | Array = 0.0) -> None:
        scale = 1.0 / np.sqrt(obs.noise_scale)
        rows, y = features * scale[:, None], (obs.y - offset) * scale
        self._m, self._constant = len(y), -0.5 * len(y) * np.log(2 * np.pi) + np.log(scale).sum()
        self._squares = float(y @ y)
        self._wide = features.shape[0] < features.shape[1]
        self._projection = rows.T @ y
        # What an evaluation needs: the rows themselves, or only their products.
        self._rows, self._y = rows[: self._m * self._wide], y[: self._m * self._wide]
        self._gram = np.empty((0, 0)) if self._wide else rows.T @ rows

    def evaluate(self, at: Point) -> Evaluation:
        """In closed form."""
        return self._dual(at.d, at.noise) if self._wide else self._primal(at.d, at.noise)

    def _primal(self, d: Array, noise: float) -> Evaluation:
        """H = I + D^½ ΦᵀΦ D^½ / σ², M×M."""
        root, M = np.sqrt(d), len(d)
        H = self._gram * (root[:, None] * root / noise)
        H[np.diag_indices_from(H)] += 1.0
        L = safe_cholesky(H)
        # L⁻¹ costs M³/3 and gives the factor of the posterior, the trace and the diagonal at once.
        inverse, info = linalg.lapack.dtrtri(L, lower=1)
        assert info == 0
        b = root * self._projection / noise
        w = inverse.T @ (inverse @ b)
        diagonal = np.einsum("ij,ij->j", inverse, inverse)  # of H⁻¹
        fitted = float(w @ b)  # yᵀΦD^½H⁻¹D^½Φᵀy / σ⁴
        # |y - Φβ̄|² = yy - 2 ββᵀΦᵀy + β̄ᵀΦᵀΦβ̄, with β̄ᵀΦᵀΦβ̄ = σ²(wᵀb - wᵀw)
        residual = max(self._squares - noise * (fitted + float(w @ w)), 0.0)
        log_evidence = (
            self._constant
            - 0.5 * self._m * np.log(noise)
            - float(np.log(np.diag(L)).sum())
            - 0.5 * (residual / noise + float(w @ w))
        )
        gradient = 0.5 * (w**2 + diagonal - 1.0)
        noise_gradient = 0.5 * (residual / noise + M - diagonal.sum() - self._m)
        posterior = WeightPosterior(root * w, root[:, None] * inverse.T)
        return Evaluation(log_evidence, gradient, np.array([noise_gradient]), posterior)

    def _dual(self, d: Array, noise: float) -> Evaluation:
        """I + ΦDΦᵀ/σ², m×m, for fewer rows than features."""
        rows, y = self._rows, self._y
        root = np.sqrt(d)
        A = rows * (root / np.sqrt(noise))
        K = A @ A.T
        K[np.diag_indices_from(K)] += 1.0
        L = safe_cholesky(K)
        half = linalg.solve_triangular(L, A, lower=True, check_finite=False)  # L⁻¹A
        white = linalg.solve_triangular(L, y / np.sqrt(noise), lower=True, check_finite=False)
        alpha = linalg.solve_triangular(L, white, lower=True, trans="T", check_finite=False)
        w = A.T @ alpha
        reduction = np.einsum("ij,ij->j", half, half)  # diagonal of AᵀK⁻¹A
        log_det = 2.0 * float(np.log(np.diag(L)).sum()) + self._m * np.log(noise)
        log_evidence = self._constant - 0.5 * log_det - 0.5 * float(white @ white)
        inverse, info = linalg.lapack.dtrtri(L, lower=1)
        assert info == 0
        gradient = 0.5 * (w**2 - reduction)
        noise_gradient = 0.5 * (float(alpha @ alpha) - float((inverse**2).sum()))
        return Evaluation(
            log_evidence,
            gradient,
            np.array([noise_gradient]),
            DualPosterior(root * w, root, A, np.ones(len(A)), L),
        )
