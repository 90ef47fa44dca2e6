"""Classes as numbers: a Gaussian process per column of one-hot labels, one kernel and one noise for all.

Least-squares classification. Its evidence is in closed form, costs one factorisation whatever the number of
classes, and pools their labels: too few per class to learn the kernel from, they are enough together.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from .._linalg import safe_cholesky
from .._typing import Array
from .posterior import Evaluation, Point


class OneHotInference:
    """Exact pooled evidence of centred one-hot columns Y.

    Parameters
    ----------
    features : array of shape (m, M)
    labels : array of shape (m, C)
        Y, centred.
    weight : array of shape (m,)
        A weight w counts as w labels: noise variance σ²/w.
    """

    def __init__(self, features: Array, labels: Array, weight: Array) -> None:
        root = np.sqrt(weight)[:, None]
        self._rows, self._y = features * root, labels * root
        self._wide = features.shape[0] < features.shape[1]
        self._constant = float(labels.shape[1] * np.log(root).sum())
        self._gram = np.empty((0, 0)) if self._wide else self._rows.T @ self._rows
        self._projection = self._rows.T @ self._y
        self._squares = float((self._y**2).sum())

    def evaluate(self, at: Point) -> Evaluation:
        """Evidence and its derivatives at a point; there is no use for a posterior."""
        d, noise = at.d, at.noise
        value, gradient, by_noise = self._dual(d, noise) if self._wide else self._primal(d, noise)
        return Evaluation(value, gradient, np.array([by_noise]), None)

    def _primal(self, d: Array, noise: float) -> tuple[float, Array, float]:
        """H = I + D^½ ΦᵀΦ D^½ / σ², M×M."""
        (m, C), root = self._y.shape, np.sqrt(d)
        H = self._gram * (root[:, None] * root / noise)
        H[np.diag_indices_from(H)] += 1.0
        L = safe_cholesky(H)
        inverse, info = linalg.lapack.dtrtri(L, lower=1)
        assert info == 0
        b = root[:, None] * self._projection / noise
        w = inverse.T @ (inverse @ b)
        diagonal = np.einsum("ij,ij->j", inverse, inverse)  # of H⁻¹
        fitted, shrunk = float((w * b).sum()), float((w**2).sum())
        residual = max(self._squares - noise * (fitted + shrunk), 0.0)
        log_det = 2.0 * float(np.log(np.diag(L)).sum()) + m * np.log(noise)
        value = -0.5 * C * (log_det + m * np.log(2 * np.pi)) - 0.5 * (residual / noise + shrunk)
        gradient = 0.5 * ((w**2).sum(axis=1) + C * (diagonal - 1.0))
        by_noise = 0.5 * (residual / noise + C * (len(d) - float(diagonal.sum()) - m))
        return value + self._constant, gradient, by_noise

    def _dual(self, d: Array, noise: float) -> tuple[float, Array, float]:
        """K = ΦDΦᵀ + σ²I, m×m, for fewer rows than features."""
        (m, C), rows = self._y.shape, self._rows
        K = (rows * d) @ rows.T
        K[np.diag_indices_from(K)] += noise
        L = safe_cholesky(K)
        inverse, info = linalg.lapack.dtrtri(L, lower=1)
        assert info == 0
        white = inverse @ self._y
        alpha = inverse.T @ white
        half = inverse @ rows
        log_det = 2.0 * float(np.log(np.diag(L)).sum())
        value = -0.5 * C * (log_det + m * np.log(2 * np.pi)) - 0.5 * float((white**2).sum())
        along = ((rows.T @ alpha) ** 2).sum(axis=1) - C * np.einsum("ij,ij->j", half, half)
        by_noise = 0.5 * noise * (float((alpha**2).sum()) - C * float((inverse**2).sum()))
        return value + self._constant, 0.5 * d * along, by_noise
