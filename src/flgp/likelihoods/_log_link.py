"""Likelihoods with mean exposure · exp(f)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array
from ._base import Likelihood, Observations
from ._moments import weighted_mean

# Exponents are clipped to ± this value: the square of e^300 ≈ 2e130 is a number, also that of a slope. Where
# a mean is clipped, its standard deviation is still larger, by up to e^10.
MAX_EXPONENT, _MORE = 300.0, 10.0


def safe_exp(x: Array) -> Array:
    """exp(x) with x clipped to ±MAX_EXPONENT, so that it neither overflows nor underflows to 0."""
    return np.exp(np.clip(x, -MAX_EXPONENT, MAX_EXPONENT))


def safe_square(x: Array) -> Array:
    """exp(2x), clipped so that its root may be larger than any `safe_exp`."""
    return np.exp(2.0 * np.clip(x, -MAX_EXPONENT, MAX_EXPONENT + _MORE))


def safe_expm1(x: Array) -> Array:
    """exp(x) - 1, clipped in the same way."""
    return np.expm1(np.clip(x, -MAX_EXPONENT, MAX_EXPONENT))


@dataclass(frozen=True, eq=False)
class Exposed(Likelihood):
    """With mean exposure · e^f an exposure is a shift of f: l(f + log exposure), broadcast against f."""

    base: Likelihood
    log_exposure: Array

    @property
    def discrete(self) -> bool:  # type: ignore[override]  # taken from the base
        return self.base.discrete

    def log_density(self, obs: Observations, f: Array) -> Array:
        return self.base.log_density(obs, f + self.log_exposure)

    def conditional_mean(self, f: Array) -> Array:
        return self.base.conditional_mean(f + self.log_exposure)

    def conditional_variance(self, f: Array) -> Array:
        return self.base.conditional_variance(f + self.log_exposure)

    def predictive_mean(self, mean: Array, variance: Array) -> Array:
        return self.base.predictive_mean(mean + self.log_exposure, variance)

    def predictive_variance(self, mean: Array, variance: Array) -> Array:
        return self.base.predictive_variance(mean + self.log_exposure, variance)

    def cdf(self, y: Array, f: Array) -> Array:
        return self.base.cdf(y, f + self.log_exposure)

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        return self.base.sample(f + self.log_exposure, rng)


class WithExposure(Likelihood):
    """y depends on f through exposure · exp(f)."""

    uses = ("exposure",)

    def without_offset(self, obs: Observations) -> Observations:
        factor = safe_exp(obs.offset)
        return replace(obs, exposure=obs.exposure * factor, offset=np.zeros_like(obs.offset))

    def of_size(self, size: Array) -> Likelihood:
        return Exposed(self, np.log(size))


class LogMean(WithExposure):
    """Base of the likelihoods with mean exposure · exp(f)."""

    def conditional_mean(self, f: Array) -> Array:
        return safe_exp(f)

    def predictive_mean(self, mean: Array, variance: Array) -> Array:
        """E[exp(f)] = exp(mean + variance/2)."""
        return safe_exp(mean + 0.5 * variance)

    def initial_mean(self, obs: Observations) -> float:
        """log(Σ w y / Σ w exposure); if all counts are 0, their sum is taken as one half."""
        total, share = float(obs.weight @ obs.y), obs.weight / np.mean(obs.weight)
        if total == 0:
            return float(np.log(0.5 / (share @ obs.exposure)))
        return float(np.log(total) - np.log(obs.weight @ obs.exposure))

    def latent_scale(self, obs: Observations) -> float:
        """Square root of log(1 + excess relative variance), clipped to between 0.3 and 3."""
        return float(np.clip(np.sqrt(np.log1p(self._excess(obs))), 0.3, 3.0))

    def _excess(self, obs: Observations) -> float:
        """Variance of y beyond that of a Poisson count, relative to the squared mean; at least 0."""
        expected = np.exp(self.initial_mean(obs)) * obs.exposure
        surplus = weighted_mean((obs.y - expected) ** 2 - self._noise(expected), obs.weight)
        return max(surplus / weighted_mean(expected**2, obs.weight), 0.0)

    def _noise(self, expected: Array) -> Array:
        """A lower bound on the variance of y, whatever the parameters."""
        return expected


class LogLink(LogMean):
    """Base of those where Var[y | f] = Σ_p coefficient_p · exp(p f), p = 1, 2."""

    @abstractmethod
    def _variance_coefficients(self) -> tuple[float, float]:
        """Coefficients of exp(f) and exp(2f) in Var[y | f] at unit exposure."""

    def conditional_variance(self, f: Array) -> Array:
        linear, quadratic = self._variance_coefficients()
        expected = safe_exp(f)
        return linear * expected + quadratic * expected**2

    def predictive_variance(self, mean: Array, variance: Array) -> Array:
        """E[Var(y | f)] + Var(exp(f)) by the moments of the log-normal distribution."""
        linear, quadratic = self._variance_coefficients()
        second_moment = safe_square(mean + variance)
        between = second_moment * -np.expm1(-variance)
        return linear * self.predictive_mean(mean, variance) + quadratic * second_moment + between
