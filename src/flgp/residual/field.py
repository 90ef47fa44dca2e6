"""The posterior of f = h + u at any point, with the interface of a field without residual."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

from .._typing import Array
from ..feature_map import Rows
from ..graph.neighbors import NeighborSearch
from ..inference.latent import LatentField
from ..inference.posterior import safe_cholesky
from .columns import Columns
from .covariance import error_covariance
from .euclidean import LocalModel
from .kriging import JointPosterior, PredictedParts, kriging_weights, with_manifold
from .vecchia import batches

# Joint draws and covariances need matrices of this many rows squared: 1.6 GB.
_MAX_JOINT = 14_000


@dataclass(frozen=True)
class JointField:
    """f(x) = c + g(x) φ(x)β + (1 - g(x)²)^(1/2) ξ(x) + u(x).

    h is everything but u; g and ξ are those of `LatentField`.
    """

    manifold: LatentField
    posterior: JointPosterior
    columns: Columns  # where u lives

    def parts(self, rows: Rows) -> PredictedParts:
        """Moments of h and u, and of their sum."""
        points, search = self._points(rows), NeighborSearch(self.posterior.points)
        mean, spread = self.manifold.means(rows), self._spread(rows)
        result = []
        for part in batches(len(points), self.posterior.n_neighbors):
            kriging = kriging_weights(self.posterior, points[part], search)
            result.append(with_manifold(self.posterior, kriging, mean[part], spread[part]))
        parts = PredictedParts.stack(result)
        off = self._off_cloud(rows)
        return replace(parts, manifold_variance=parts.manifold_variance + off, variance=parts.variance + off)

    def means(self, rows: Rows) -> Array:
        """E f (b,)."""
        points, search = self._points(rows), NeighborSearch(self.posterior.points)
        mean = self.manifold.means(rows)
        for part in batches(len(points), self.posterior.n_neighbors):
            kriging = kriging_weights(self.posterior, points[part], search)
            mean[part] += kriging.matrix(len(self.posterior.points)) @ self.posterior.residual
        return mean

    def covariances(self, rows: Rows) -> Array:
        """Joint covariance of f at the rows, (b, b)."""
        points = self._points(rows)
        _check_size(len(points))
        kriging = kriging_weights(self.posterior, points, NeighborSearch(self.posterior.points))
        joint = error_covariance(self.posterior, points, kriging)
        delta = self._spread(rows) - kriging.matrix(len(self.posterior.points)) @ self.posterior.spread
        joint += delta @ delta.T
        joint[np.diag_indices_from(joint)] += self._off_cloud(rows)
        return joint

    def draws(self, rows: Rows, n_draws: int, rng: np.random.Generator) -> Array:
        """Joint draws of f at the rows, (b, n_draws)."""
        root = _root(self.covariances(rows))
        return self.means(rows)[:, None] + root @ rng.standard_normal((len(root), n_draws))

    def prior(self, lift: Array, d: Array) -> PriorField:
        """The same before any label was seen."""
        return PriorField(self.manifold.prior(lift, d), self.posterior.local, self.columns)

    def _points(self, rows: Rows) -> Array:
        if rows.points is None:
            raise ValueError("A residual needs the points themselves, not only their neighbours.")
        return self.columns.of(rows.points)

    def _spread(self, rows: Rows) -> Array:
        """φC (b, M), the constant and the distance from the cloud included."""
        g, field = rows.closeness[:, None], self.manifold
        return g * rows.combine(field.factor) + field.constant_factor

    def _off_cloud(self, rows: Rows) -> Array:
        return (1.0 - rows.closeness**2) * self.manifold.prior_variance


@dataclass(frozen=True)
class PriorField:
    """Draws of h + u from the prior."""

    manifold: LatentField
    local: LocalModel
    columns: Columns

    def draws(self, rows: Rows, n_draws: int, rng: np.random.Generator) -> Array:
        """Joint draws of f at the rows, (b, n_draws)."""
        assert rows.points is not None
        points = self.columns.of(rows.points)
        _check_size(len(points))
        root = _root(self.local.covariance(cdist(points, points)))
        u = root @ rng.standard_normal((len(points), n_draws))
        return self.manifold.draws(rows, n_draws, rng) + u


def _root(covariance: Array) -> Array:
    """Lower factor of a positive semi-definite matrix, up to 1e-10 of its size."""
    raised = covariance.copy()
    raised[np.diag_indices_from(raised)] += 1e-10 * max(float(np.diag(covariance).mean()), 1e-300)
    return safe_cholesky(raised)


def _check_size(count: int) -> None:
    if count > _MAX_JOINT:
        raise ValueError(
            f"Joint draws or covariances with a residual need a dense {count:,} × {count:,} matrix. "
            f"Ask for at most {_MAX_JOINT:,} points at once, or fit with residual=None."
        )
