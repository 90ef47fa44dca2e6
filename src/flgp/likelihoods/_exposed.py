"""Likelihoods with a log link at exposures other than 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ._base import Likelihood, Observations


@dataclass(frozen=True, eq=False)
class Exposed(Likelihood):
    """With mean exposure · e^f an exposure is a shift of f: l(f + log exposure), broadcast against f."""

    base: Likelihood
    log_exposure: Array

    @property
    def discrete(self) -> bool:  # type: ignore[override]  # taken from the base
        """Whether y takes whole numbers."""
        return self.base.discrete

    def log_density(self, obs: Observations, f: Array) -> Array:
        """Log-density; the exposures in `obs` multiply this one."""
        return self.base.log_density(obs, f + self.log_exposure)

    def conditional_mean(self, f: Array) -> Array:
        """E[y | f]."""
        return self.base.conditional_mean(f + self.log_exposure)

    def conditional_variance(self, f: Array) -> Array:
        """Var[y | f]."""
        return self.base.conditional_variance(f + self.log_exposure)

    def predictive_mean(self, mean: Array, variance: Array) -> Array:
        """E[y] for f ~ N(mean, variance)."""
        return self.base.predictive_mean(mean + self.log_exposure, variance)

    def predictive_variance(self, mean: Array, variance: Array) -> Array:
        """Var[y] for f ~ N(mean, variance)."""
        return self.base.predictive_variance(mean + self.log_exposure, variance)

    def cdf(self, y: Array, f: Array) -> Array:
        """P(Y ≤ y | f)."""
        return self.base.cdf(y, f + self.log_exposure)

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        """Draws of y given f."""
        return self.base.sample(f + self.log_exposure, rng)
