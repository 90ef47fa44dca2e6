"""y = f + Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from .._stored import stored
from .._typing import Array
from ._additive import GaussianNoise
from ._base import Derivatives, Observations, ParameterDerivatives, Tilted


@stored("Gaussian likelihood")
@dataclass(frozen=True)
class Gaussian(GaussianNoise):
    """y | f ~ N(f, noise_variance · noise_scale).

    Parameters
    ----------
    noise_variance : σ² (the paper's σ_η²), or None to learn it

    Examples
    --------
    >>> from flgp.likelihoods import Gaussian
    >>> float(Gaussian(noise_variance=0.5).predictive_variance(mean=0.0, variance=1.0))
    1.5
    """

    noise_variance: float | None = None

    name: ClassVar[str] = "gaussian"
    parameter_names: ClassVar[tuple[str, ...]] = ("noise_variance",)

    def _variance(self, obs: Observations) -> Array:
        return self._parameter("noise_variance") * obs.noise_scale

    def log_density(self, obs: Observations, f: Array) -> Array:
        """-½ log(2πσ²v) - (y - f)²/(2σ²v)."""
        variance = self._variance(obs)
        return -0.5 * (np.log(2.0 * np.pi * variance) + (obs.y - f) ** 2 / variance)

    def conditional_variance(self, f: Array) -> Array:
        return np.full(np.shape(f), self._parameter("noise_variance"))

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        variance = self._variance(obs)
        gradient = (obs.y - f) / variance
        return Derivatives(gradient, np.broadcast_to(1.0 / variance, gradient.shape), np.zeros_like(gradient))

    def parameter_derivatives(self, obs: Observations, f: Array) -> list[ParameterDerivatives]:
        d = self.derivatives(obs, f)
        return [ParameterDerivatives(0.5 * ((obs.y - f) * d.gradient - 1.0), -d.gradient, -d.curvature)]

    def tilted(self, obs: Observations, mean: Array, variance: Array) -> Tilted:
        """In closed form: N^weight is a Gaussian of variance σ²v/weight up to a constant."""
        noise = self._variance(obs)
        narrowed = noise / obs.weight
        total = narrowed + variance
        residual = obs.y - mean
        log_normalizer = 0.5 * (
            np.log(narrowed / total) - obs.weight * np.log(2.0 * np.pi * noise) - residual**2 / total
        )
        return Tilted(log_normalizer, residual / total, 1.0 / total)

    def tilted_parameter_gradient(self, obs: Observations, mean: Array, variance: Array) -> list[Array]:
        noise = self._variance(obs)
        narrowed = noise / obs.weight
        share = narrowed / (narrowed + variance)
        squared_residual = ((obs.y - mean) * share) ** 2 + variance * share
        return [0.5 * obs.weight * (squared_residual / noise - 1.0)]

    def cdf(self, y: Array, f: Array) -> Array:
        return np.asarray(ndtr((y - f) / np.sqrt(self._parameter("noise_variance"))))

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        return rng.normal(f, np.sqrt(self._parameter("noise_variance")))

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        """A tenth of the variance of y, at the typical noise_scale."""
        typical = float(np.exp(np.mean(np.log(obs.noise_scale))))
        return {"noise_variance": 0.1 * self.latent_scale(obs) ** 2 / typical}

    def parameter_bounds(self, obs: Observations) -> dict[str, tuple[float, float]]:
        """From 1e-8 to 10 times the variance of y."""
        start = 10.0 * self.initial_parameters(obs)["noise_variance"]
        return {"noise_variance": (1e-8 * start, 10.0 * start)}
