"""The posterior of f with a local term, with the interface of a field without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from .._linalg import safe_cholesky
from .._stored import stored
from .._typing import Array
from ..geometry.point_cloud import NeighborSearch
from ..terms.base import View
from ..terms.local.euclidean import LocalModel
from .field import WeightField
from .kriging import (
    JointPosterior,
    KrigedMoments,
    error_covariance,
    kriged_means,
    kriged_moments,
    kriging_weights,
)

# Joint draws and covariances need matrices of this many rows squared: 1.6 GB.
_MAX_JOINT = 14_000


@stored("posterior of f with a local term")
@dataclass(frozen=True)
class LocalField:
    """f(x) = h(x) + u(x), h being everything but the local term u."""

    features: WeightField  # h
    posterior: JointPosterior

    @property
    def constant(self) -> float:
        return self.features.constant

    def kriged(self, view: View) -> KrigedMoments:
        """Moments of f and u."""
        points, search = local_points(view), NeighborSearch(self.posterior.points)
        mean, spread = self.features.means(view), self.features.spread(view)
        result = []
        for part in self.posterior.batches(len(points)) or [slice(0)]:
            kriging = kriging_weights(self.posterior, points[part], search)
            result.append(kriged_moments(self.posterior, kriging, mean[part], spread[part]))
        whole = KrigedMoments(*(np.concatenate(parts) for parts in zip(*result, strict=True)))
        return whole._replace(variance=whole.variance + view.gaps(self.features.gap_variances))

    def means(self, view: View) -> Array:
        points, search = local_points(view), NeighborSearch(self.posterior.points)
        mean = self.features.means(view)
        for part in self.posterior.batches(len(points)):
            mean[part] += kriged_means(self.posterior, points[part], search)
        return mean

    def variances(self, view: View) -> Array:
        return self.kriged(view).variance

    def covariances(self, view: View) -> Array:
        points = local_points(view)
        _check_size(len(points))
        kriging = kriging_weights(self.posterior, points, NeighborSearch(self.posterior.points))
        joint = error_covariance(self.posterior, points, kriging)
        through = kriging.matrix(len(self.posterior.points)) @ self.posterior.spread
        delta = self.features.spread(view) - through
        return joint + delta @ delta.T + view.gap_covariance(self.features.gap_variances)

    def draws(self, view: View, n_draws: int, rng: np.random.Generator) -> Array:
        root = _root(self.covariances(view))
        return self.means(view)[:, None] + root @ rng.standard_normal((len(root), n_draws))

    def term_moments(self, view: View) -> list[tuple[Array, Array]]:
        """Mean and variance (b,) of the constant, of every term, then of the local one."""
        kriged = self.kriged(view)
        return [*self.features.term_moments(view), (kriged.local_mean, kriged.local_variance)]

    def variations(self, view: View) -> list[float]:
        """Expected variance over the points of every term, the local one last."""
        kriged = self.kriged(view)
        local = float(np.var(kriged.local_mean) + np.mean(kriged.local_variance))
        return [*self.features.variations(view), local]


def local_points(view: View) -> Array:
    """Where the points of a view are, for a local term."""
    if view.coordinates is None:
        raise ValueError("A local term needs the points themselves, not only their neighbours.")
    return view.coordinates


def prior_draws_of_local(local: LocalModel, points: Array, n_draws: int, rng: np.random.Generator) -> Array:
    """Joint draws of u at points (b, q) from the prior, (b, n_draws)."""
    _check_size(len(points))
    root = _root(local.covariance(cdist(points, points)))
    return root @ rng.standard_normal((len(points), n_draws))


def _root(covariance: Array) -> Array:
    """Lower factor of a positive semi-definite matrix, up to 1e-10 of its size."""
    raised = covariance.copy()
    raised[np.diag_indices_from(raised)] += 1e-10 * max(float(np.diag(covariance).mean()), 1e-300)
    return safe_cholesky(raised)


def _check_size(count: int) -> None:
    if count > _MAX_JOINT:
        raise ValueError(
            f"Joint draws or covariances with a local term need a dense {count:,} × {count:,} matrix. "
            f"Ask for at most {_MAX_JOINT:,} points at once, or fit with residual=None."
        )
