"""The rows' likelihood as Laplace's method needs it, weights included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..likelihoods import Likelihood, Observations

# Central differences of an expected curvature.
_STEP = 1e-5


@dataclass(frozen=True)
class WeightedLikelihood:
    """Σ_i weight_i log p(y_i | f_i) and its derivatives, row by row."""

    likelihood: Likelihood
    obs: Observations

    def log_density(self, f: Array) -> float:
        """The sum over the rows."""
        return float(self.obs.weight @ self.likelihood.log_density(self.obs, f))

    def gradient_and_curvature(self, f: Array) -> tuple[Array, Array]:
        """∂ log p/∂f and W ≥ 0, (m,): the exact one where the likelihood is log-concave."""
        slope, curvature = self.likelihood.slope_and_expected_curvature(self.obs, f)
        return self.obs.weight * slope, self.obs.weight * curvature

    def curvature(self, f: Array) -> Array:
        """W ≥ 0 alone."""
        return self.gradient_and_curvature(f)[1]

    def exact_curvature(self, f: Array) -> Array:
        """W (m,), negative where the density is not log-concave."""
        return self.obs.weight * self.likelihood.slope_and_curvature(self.obs, f)[1]

    def curvature_slope(self, f: Array) -> Array:
        """∂W/∂f (m,) of the curvature in use."""
        if self.likelihood.log_concave:
            return -self.obs.weight * self.likelihood.derivatives(self.obs, f).third
        step = _STEP * (1.0 + np.abs(f))
        return (self.curvature(f + step) - self.curvature(f - step)) / (2 * step)

    def parameter_gradient(self, f: Array, by_curvature: Array, moved: Array) -> Array:
        """That of Laplace's evidence, in the logarithms of the likelihood's parameters, (k,).

        `by_curvature` (m,) is its derivative in W, `moved` (m,) the covariance of f times the pull of all but
        the log posterior on the mode.
        """
        parts = self.likelihood.parameter_derivatives(self.obs, f)
        return np.array(
            [
                self.obs.weight @ part.log_density
                + by_curvature @ self._curvature_in_parameter(f, name, part.curvature)
                + moved @ (self.obs.weight * part.gradient)
                for name, part in zip(self.likelihood.parameter_names, parts, strict=True)
            ]
        )

    def _curvature_in_parameter(self, f: Array, name: str, exact: Array) -> Array:
        """∂W/∂log parameter of the curvature in use."""
        if self.likelihood.log_concave:
            return self.obs.weight * exact
        value = getattr(self.likelihood, name)
        moved = (self.likelihood.with_parameters(**{name: value * np.exp(h)}) for h in (_STEP, -_STEP))
        up, down = (WeightedLikelihood(each, self.obs).curvature(f) for each in moved)
        return (up - down) / (2 * _STEP)
