"""The posterior of f at any point, from quantities at the anchors only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from .._typing import Array
from ..feature_map import FeatureMap, Rows
from .posterior import WeightPosterior
from .softmax import SoftmaxPosterior

# Up to this many anchors the s×s covariance is kept, and a variance costs r² instead of r·M.
_DENSE_ANCHORS = 1024


@dataclass(frozen=True)
class LatentField:
    """f(x) = c + g(x) z(x)·B β + (1 - g(x)²)^(1/2) ξ(x), with c the mean and ξ prior noise off the cloud.

    With q = B β̄ and U Uᵀ = B S Bᵀ: mean in O(r) and variance in O(r²) (or O(rM)) for each point.
    """

    mean: Array  # (s,) q
    factor: Array  # (s, k) U
    covariance: Array | None  # (s, s) U Uᵀ where s is small
    cross: Array  # (s,) covariance of B β with the mean c
    constant: float  # E c
    constant_factor: Array  # (k,) row of the joint factor that belongs to c
    prior_variance: float  # of f, averaged over the cloud: what ξ has

    @classmethod
    def of(
        cls, lift: Array, posterior: WeightPosterior, d: Array, offset: float, intercept: bool
    ) -> LatentField:
        """Field of weights β (the last of them the intercept, if there is one)."""
        M = lift.shape[1]
        factor = lift @ posterior.factor[:M]
        constant_factor = posterior.factor[M] if intercept else np.zeros(factor.shape[1])
        return cls(
            mean=lift @ posterior.mean[:M],
            factor=factor,
            covariance=factor @ factor.T if len(lift) <= _DENSE_ANCHORS else None,
            cross=factor @ constant_factor,
            constant=offset + (float(posterior.mean[M]) if intercept else 0.0),
            constant_factor=constant_factor,
            prior_variance=float(d[:M].sum()),
        )

    def prior(self, lift: Array, d: Array) -> LatentField:
        """The same before any label was seen; the constant at its posterior mean."""
        nothing = WeightPosterior(np.zeros(len(d)), np.diag(np.sqrt(d)))
        return LatentField.of(lift, nothing, d, self.constant, intercept=False)

    def means(self, rows: Rows) -> Array:
        """E f (b,)."""
        return self.constant + rows.closeness * rows.combine(self.mean)

    def variances(self, rows: Rows) -> Array:
        """Var f (b,)."""
        g = rows.closeness
        if self.covariance is None or rows.z.shape[1] > self.factor.shape[1]:
            at_rows = rows.combine(self.factor)
            quadratic = np.einsum("bk,bk->b", at_rows, at_rows)
        else:
            quadratic = rows.quadratic(self.covariance)
        constant = float(self.constant_factor @ self.constant_factor)
        within = g**2 * quadratic + 2 * g * rows.combine(self.cross) + constant
        return np.maximum(within, 0.0) + (1.0 - g**2) * self.prior_variance

    def covariances(self, rows: Rows) -> Array:
        """Joint covariance of f at the rows, (b, b)."""
        spread = rows.closeness[:, None] * rows.combine(self.factor) + self.constant_factor
        joint = spread @ spread.T
        joint[np.diag_indices_from(joint)] += (1.0 - rows.closeness**2) * self.prior_variance
        return joint

    def draws(self, rows: Rows, n_draws: int, rng: np.random.Generator) -> Array:
        """Joint draws of f at the rows, (b, n_draws)."""
        weights = rng.standard_normal((self.factor.shape[1], n_draws))
        at_anchors = self.mean[:, None] + self.factor @ weights
        g = rows.closeness[:, None]
        noise = rng.standard_normal((len(g), n_draws)) * np.sqrt((1.0 - g**2) * self.prior_variance)
        return self.constant + self.constant_factor @ weights + g * rows.combine(at_anchors) + noise


@dataclass(frozen=True)
class SoftmaxField:
    """C latent functions with a joint posterior: marginal fields, and fixed joint draws at the anchors.

    The predictive integral over C dimensions is the average over the draws, O(rCS) for each point.
    """

    fields: list[Any]  # LatentField, or another with its interface
    draws_at_anchors: Array  # (s, C·S)

    @classmethod
    def of(cls, lift: Array, posterior: SoftmaxPosterior, d: Array) -> SoftmaxField:
        """Field of the softmax posterior."""
        fields = [LatentField.of(lift, marginal, d, 0.0, False) for marginal in posterior.marginals]
        return cls(fields, draws_at_anchors(lift, posterior.draws))

    def draws(self, rows: Rows) -> Array:
        """Joint draws of f at the rows, (b, C, S); off the cloud the missing variance is added as noise.

        The noise is the same for every row, so that a prediction does not depend on its batch.
        """
        g = rows.closeness[:, None, None]
        f = rows.combine(self.draws_at_anchors).reshape(len(g), len(self.fields), -1)
        if (rows.closeness == 1.0).all():
            return f
        half = np.random.default_rng(1).standard_normal((len(self.fields), f.shape[2] // 2))
        noise = np.concatenate([half, -half], axis=1)
        return g * f + np.sqrt((1.0 - g**2) * self.fields[0].prior_variance) * noise

    def probabilities(self, rows: Rows) -> Array:
        """E softmax(f), (b, C)."""
        return softmax(self.draws(rows), axis=1).mean(axis=2)


def draws_at_anchors(lift: Array, draws: Array) -> Array:
    """Joint draws of the weights of C functions, (S, C, M), as values at the anchors (s, C·S)."""
    S, C, M = draws.shape
    return lift @ draws.transpose(2, 1, 0).reshape(M, C * S)


def prior_covariance(feature_map: FeatureMap, d: Array, rows: Rows, others: Rows | None) -> Array:
    """Prior kernel between points, (b, c): g g' Σ_i d_i φ_i φ_i', plus the off-cloud part on the diagonal."""
    left = rows.closeness[:, None] * feature_map.features(rows)
    if others is not None:
        right = others.closeness[:, None] * feature_map.features(others)
        return (left * d) @ right.T
    joint = (left * d) @ left.T
    joint[np.diag_indices_from(joint)] += (1.0 - rows.closeness**2) * d.sum()
    return joint
