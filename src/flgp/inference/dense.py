"""A local term with every label conditioned on all others: the exact covariance, as a dense matrix.

With Σ = K_u + σ² diag(v) = L Lᵀ and A = L⁻¹ΦD^(1/2), z = L⁻¹y the algebra is that of `joint`. The gradient is
½(ααᵀ - C⁻¹) : ∂Σ, with C = Σ + ΦDΦᵀ and α = C⁻¹y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.spatial.distance import pdist, squareform

from .._linalg import cholesky_of_one_plus, log_determinant, safe_cholesky, triangular_inverse
from .._typing import Array
from ..likelihoods import Observations
from ..terms.local.neighborhoods import compact_rows
from .posterior import Evaluation, Point, WeightPosterior


@dataclass(frozen=True)
class DenseInference:
    """Gaussian labels: closed form, O(m³ + m² M + m M²)."""

    features: Array  # (m, M) Φ, a constant's column of ones included
    y: Array  # (m,) less what is known of the mean
    noise_scale: Array  # (m,) v: the noise variance of row i is σ²·v_i
    points: Array  # (m, q) labelled points where u lives
    distances: Array  # (m(m-1)/2,) between them

    @classmethod
    def of(cls, features: Array, obs: Observations, offset: float | Array, points: Array) -> DenseInference:
        """From labels with features (m, M) at points (m, q)."""
        return cls(features, obs.y - offset, obs.noise_scale, points, pdist(points))

    @property
    def n_neighbors(self) -> int:
        """All other labels."""
        return max(len(self.y) - 1, 1)

    def part(self, count: int) -> DenseInference:
        """The same for `count` of the labels, in whole neighbourhoods."""
        rows = compact_rows(self.points, count)
        points = self.points[rows]
        own = self.features[rows], self.y[rows], self.noise_scale[rows]
        return DenseInference(*own, points, pdist(points))

    def evaluate(self, at: Point) -> Evaluation:
        local, root = at.noisy_local, np.sqrt(at.d)
        noise = local.noise_variance * self.noise_scale
        covariance = local.covariance(self.distances)
        sigma = squareform(covariance)
        np.fill_diagonal(sigma, local.diagonal + noise)
        L = safe_cholesky(sigma)
        white = linalg.solve_triangular(
            L, np.column_stack([self.features * root, self.y]), lower=True, check_finite=False
        )
        A, z = white[:, :-1], white[:, -1]
        inverse = triangular_inverse(cholesky_of_one_plus(A.T @ A))  # of the factor of H
        mean = inverse.T @ (inverse @ (A.T @ z))
        r = z - A @ mean
        log_det = log_determinant(L) - log_determinant(inverse)
        value = -0.5 * float(r @ r + mean @ mean + log_det + len(r) * np.log(2 * np.pi))
        by_d = 0.5 * (mean**2 + np.einsum("ij,ij->j", inverse, inverse) - 1.0)
        slope, diagonal = _slopes(L, A @ inverse.T, r)
        by_local = [2.0 * float(slope @ each) for each in local.slopes(self.distances, covariance)]
        by_local.insert(1, 2.0 * float(slope @ covariance) + local.diagonal * float(diagonal.sum()))
        return Evaluation(
            value,
            by_d,
            np.array([float(noise @ diagonal)]),
            (WeightPosterior(root * mean, root[:, None] * inverse.T),),
            gradient_local=np.array(by_local),
        )


def _slopes(L: Array, explained: Array, r: Array) -> tuple[Array, Array]:
    """½(ααᵀ - C⁻¹) above the diagonal (m(m-1)/2,) and on it (m,).

    Given L, A H^(-1/2) (m, M) and the whitened residual r: α = L⁻ᵀr and C⁻¹ = Σ⁻¹ - L⁻ᵀA H⁻¹AᵀL⁻¹.
    """
    inverse, info = linalg.lapack.dpotri(L, lower=1)  # its lower triangle
    assert info == 0
    known = np.column_stack([explained, r])
    back = linalg.solve_triangular(L, known, lower=True, trans=1, check_finite=False)
    gain = back @ back.T - inverse.T
    return 0.5 * squareform(gain, checks=False), 0.5 * np.diag(gain)
