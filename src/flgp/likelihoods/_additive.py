"""Likelihoods of y = f + noise, where the noise does not depend on f."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._typing import Array
from ._base import Likelihood, Observations
from ._moments import positive_spread, weighted_mean


class Additive(Likelihood):
    """y = f + noise: f is the mean of y, or its median or another quantile."""

    def conditional_mean(self, f: Array) -> Array:
        return np.array(f, dtype=float)

    def predictive_mean(self, mean: Array, variance: Array) -> Array:
        return np.array(np.broadcast_arrays(np.asarray(mean, dtype=float), variance)[0])

    def predictive_variance(self, mean: Array, variance: Array) -> Array:
        return np.asarray(variance) + self.conditional_variance(mean)

    def without_offset(self, obs: Observations) -> Observations:
        return replace(obs, y=obs.y - obs.offset, offset=np.zeros_like(obs.offset))

    def parameter_bounds(self, obs: Observations) -> dict[str, tuple[float, float]]:
        """Of a scale: from about 1e-4 to 10 times the latent one."""
        start = self.initial_parameters(obs)["scale"]
        return {"scale": (3e-4 * start, 30.0 * start)}


class GaussianNoise(Additive):
    """Measurements whose known relative noise variances are in `noise_scale`."""

    uses = ("noise_scale",)

    def absorb_weights(self, obs: Observations) -> Observations:
        """A weight w means w measurements averaged: noise variance σ²·v/w, not a power of the density."""
        return replace(obs, weight=np.ones_like(obs.weight), noise_scale=obs.noise_scale / obs.weight)

    def initial_mean(self, obs: Observations) -> float:
        """Mean of y, weighted by the precisions."""
        return weighted_mean(obs.y, obs.weight / obs.noise_scale)

    def latent_scale(self, obs: Observations) -> float:
        precision = obs.weight / obs.noise_scale
        center = self.initial_mean(obs)
        return positive_spread(np.sqrt(weighted_mean((obs.y - center) ** 2, precision)), center)
