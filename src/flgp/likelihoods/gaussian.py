"""y = f + Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from .._stored import stored
from .._typing import Array
from ._base import Derivatives, Likelihood, Observations, ParameterDerivatives, Tilted
from ._moments import positive_spread, weighted_mean


@stored("Gaussian likelihood")
@dataclass(frozen=True)
class Gaussian(Likelihood):
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
    uses: ClassVar[tuple[str, ...]] = ("noise_scale",)

    def _variance(self, obs: Observations) -> Array:
        return self._parameter("noise_variance") * obs.noise_scale

    def log_density(self, obs: Observations, f: Array) -> Array:
        """-½ log(2πσ²v) - (y - f)²/(2σ²v)."""
        variance = self._variance(obs)
        return -0.5 * (np.log(2.0 * np.pi * variance) + (obs.y - f) ** 2 / variance)

    def conditional_mean(self, f: Array) -> Array:
        """E[y | f] = f."""
        return np.array(f, dtype=float)

    def conditional_variance(self, f: Array) -> Array:
        """σ², whatever f is."""
        return np.full(np.shape(f), self._parameter("noise_variance"))

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """Residual over variance, one over variance, 0."""
        variance = self._variance(obs)
        gradient = (obs.y - f) / variance
        return Derivatives(gradient, np.broadcast_to(1.0 / variance, gradient.shape), np.zeros_like(gradient))

    def parameter_derivatives(self, obs: Observations, f: Array) -> list[ParameterDerivatives]:
        """In log σ²."""
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
        """In log σ², in closed form."""
        noise = self._variance(obs)
        narrowed = noise / obs.weight
        share = narrowed / (narrowed + variance)
        squared_residual = ((obs.y - mean) * share) ** 2 + variance * share
        return [0.5 * obs.weight * (squared_residual / noise - 1.0)]

    def predictive_mean(self, mean: Array, variance: Array) -> Array:
        """The mean of f."""
        return np.array(np.broadcast_arrays(np.asarray(mean, dtype=float), variance)[0])

    def predictive_variance(self, mean: Array, variance: Array) -> Array:
        """Variance of f plus σ²."""
        return np.asarray(variance) + self.conditional_variance(mean)

    def cdf(self, y: Array, f: Array) -> Array:
        """Φ((y - f)/σ)."""
        return np.asarray(ndtr((y - f) / np.sqrt(self._parameter("noise_variance"))))

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        """Noise added to f."""
        return rng.normal(f, np.sqrt(self._parameter("noise_variance")))

    def without_offset(self, obs: Observations) -> Observations:
        """The labels minus the offset."""
        return replace(obs, y=obs.y - obs.offset, offset=np.zeros_like(obs.offset))

    def absorb_weights(self, obs: Observations) -> Observations:
        """A weight w means w measurements averaged: noise variance σ²·v/w, not a power of the density."""
        return replace(obs, weight=np.ones_like(obs.weight), noise_scale=obs.noise_scale / obs.weight)

    def initial_mean(self, obs: Observations) -> float:
        """Mean of y, weighted by the precisions."""
        return weighted_mean(obs.y, obs.weight / obs.noise_scale)

    def latent_scale(self, obs: Observations) -> float:
        """Standard deviation of y."""
        precision = obs.weight / obs.noise_scale
        center = self.initial_mean(obs)
        return positive_spread(np.sqrt(weighted_mean((obs.y - center) ** 2, precision)), center)

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        """A tenth of the variance of y, at the typical noise_scale."""
        typical = float(np.exp(np.mean(np.log(obs.noise_scale))))
        return {"noise_variance": 0.1 * self.latent_scale(obs) ** 2 / typical}

    def parameter_bounds(self, obs: Observations) -> dict[str, tuple[float, float]]:
        """From 1e-8 to 10 times the variance of y."""
        start = 10.0 * self.initial_parameters(obs)["noise_variance"]
        return {"noise_variance": (1e-8 * start, 10.0 * start)}
