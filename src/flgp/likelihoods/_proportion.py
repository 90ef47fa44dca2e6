"""Likelihoods of successes among trials: y/trials has mean l(f) in (0, 1)."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from .._typing import Array
from ._base import Likelihood, Observations
from .logistic import logistic_gaussian_integral


class Proportion(Likelihood):
    """Everything that does not depend on the number of trials; the link is the logit unless overridden."""

    discrete = True

    def conditional_mean(self, f: Array) -> Array:
        return np.asarray(expit(f))

    def conditional_variance(self, f: Array) -> Array:
        return self.conditional_mean(f) * self.conditional_mean(-np.asarray(f))

    def predictive_mean(self, mean: Array, variance: Array) -> Array:
        return logistic_gaussian_integral(mean, variance)

    def predictive_variance(self, mean: Array, variance: Array) -> Array:
        """One trial is a coin toss: p(1 - p) with p the predictive mean."""
        return self.predictive_mean(mean, variance) * self.predictive_mean(-np.asarray(mean), variance)

    def cdf(self, y: Array, f: Array) -> Array:
        """0 below 0, P(y = 0) up to 1, then 1."""
        return np.where(y >= 1.0, 1.0, np.where(y >= 0.0, 1.0 - self.conditional_mean(f), 0.0))

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        f = np.asarray(f, dtype=float)
        return (rng.random(f.shape) < self.conditional_mean(f)).astype(float)

    def initial_mean(self, obs: Observations) -> float:
        """Link of the overall rate, kept half a trial away from 0 and 1."""
        trials = float(obs.weight @ obs.trials)
        rate = float(obs.weight @ obs.y) / trials
        margin = 0.5 / (1.0 + trials / float(np.mean(obs.weight)))
        return self._link(min(max(rate, margin), 1.0 - margin))

    def latent_scale(self, obs: Observations) -> float:
        """The standard deviation of the logistic distribution, π/√3: probabilities spread over (0, 1)."""
        return float(np.pi / np.sqrt(3.0))

    def _link(self, rate: float) -> float:
        return float(logit(rate))
