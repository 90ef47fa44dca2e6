"""Positive reals, with errors proportional to the mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import digamma, gammainc, gammaln

from .._stored import stored
from .._typing import Array
from ._base import Derivatives, Observations, ParameterDerivatives, refuse
from ._log_link import LogLink, safe_exp, safe_expm1


@stored("gamma likelihood")
@dataclass(frozen=True)
class Gamma(LogLink):
    """Gamma with mean μ = exposure · e^f and variance μ²/shape. Predictions are for unit exposure.

    Parameters
    ----------
    shape : k > 0, or None to learn it

    Examples
    --------
    >>> from flgp.likelihoods import Gamma
    >>> float(Gamma(shape=4.0).conditional_variance(f=0.0))  # 1²/4
    0.25
    """

    shape: float | None = None

    name: ClassVar[str] = "gamma"
    parameter_names: ClassVar[tuple[str, ...]] = ("shape",)

    def log_density(self, obs: Observations, f: Array) -> Array:
        """Here k log k - k - log Γ(k) - log y - k (e^δ - 1 - δ), with δ = log(y/μ)."""
        shape, delta = self._parameter("shape"), _log_ratio(obs, f)
        constant = shape * np.log(shape) - shape - gammaln(shape) - np.log(obs.y)
        return constant - shape * (safe_expm1(delta) - delta)

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """They are k (y/μ - 1), k y/μ and k y/μ."""
        shape = self._parameter("shape")
        delta = _log_ratio(obs, f)
        curvature = shape * safe_exp(delta)
        return Derivatives(shape * safe_expm1(delta), curvature, curvature)

    def parameter_derivatives(self, obs: Observations, f: Array) -> list[ParameterDerivatives]:
        shape, delta = self._parameter("shape"), _log_ratio(obs, f)
        d = self.derivatives(obs, f)
        log_density = shape * (np.log(shape) - digamma(shape) + delta - safe_expm1(delta))
        return [ParameterDerivatives(log_density, d.gradient, d.curvature)]

    def cdf(self, y: Array, f: Array) -> Array:
        """The regularised incomplete gamma function P(shape, shape·y/e^f)."""
        shape = self._parameter("shape")
        return np.asarray(gammainc(shape, shape * np.maximum(y, 0.0) / safe_exp(f)))

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        shape, f = self._parameter("shape"), np.asarray(f, dtype=float)
        return safe_exp(f) * rng.gamma(shape, 1.0 / shape, f.shape)

    def validate(self, obs: Observations) -> None:
        super().validate(obs)
        remedy = "Leave such rows out, or use likelihood='gaussian' (reals) or 'poisson' (counts)."
        refuse(obs.y <= 0, obs, f"Labels of the {self.name} likelihood must be positive", remedy)

    def initial_mean(self, obs: Observations) -> float:
        return float(np.log(np.average(obs.y / obs.exposure, weights=obs.weight)))

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        """Twice the value implied by the relative variance: f explains half of that variance."""
        return {"shape": float(np.clip(2.0 / max(self._excess(obs), 1e-8), 0.1, 1e4))}

    def parameter_bounds(self, obs: Observations) -> dict[str, tuple[float, float]]:
        """From a hundredth of the starting value, at most 0.01, to far above it."""
        start = self.initial_parameters(obs)["shape"]
        return {"shape": (min(0.01, 0.01 * start), max(1e4, 100.0 * start))}

    def _variance_coefficients(self) -> tuple[float, float]:
        return 0.0, 1.0 / self._parameter("shape")

    def _noise(self, expected: Array) -> Array:
        return np.zeros_like(expected)


@stored("exponential likelihood")
@dataclass(frozen=True)
class Exponential(Gamma):
    """Exponential with mean exposure · e^f: the gamma likelihood of shape 1, with nothing to learn.

    Examples
    --------
    >>> from flgp.likelihoods import Exponential
    >>> float(Exponential().conditional_variance(f=0.0))
    1.0
    """

    shape: float | None = field(default=1.0, init=False)

    name: ClassVar[str] = "exponential"
    parameter_names: ClassVar[tuple[str, ...]] = ()

    def parameter_derivatives(self, obs: Observations, f: Array) -> list[ParameterDerivatives]:
        return []

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        return {}

    def parameter_bounds(self, obs: Observations) -> dict[str, tuple[float, float]]:
        return {}


def _log_ratio(obs: Observations, f: Array) -> Array:
    """log(y/μ)."""
    return np.log(obs.y) - np.log(obs.exposure) - f
