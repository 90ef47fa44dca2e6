"""y = f + Gaussian noise whose size is a function on the manifold, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtr, softmax

from .._stored import stored
from .._typing import Array
from ._additive import Additive, GaussianNoise
from ._base import Derivatives, Observations, Tilted
from .gaussian import Gaussian

# g is a Gaussian, and so few nodes average smooth functions of e^g over it to about 1e-6.
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(20)
_SHARES = _SHARES / _SHARES.sum()
# Nodes with a smaller share change no quantile.
_NEGLIGIBLE = 1e-7
# A noise variance e^g stays a number whose square is one.
_LARGEST = 300.0


class _Mixture(NamedTuple):
    """Gaussians in y, one for each node of g along the first axis."""

    log_density: Array  # of the mixture
    share: Array  # of each node, given y
    slope: Array  # (y - mean)/variance
    variance: Array

    def average(self, values: Array) -> Array:
        return np.sum(self.share * values, axis=0)


@dataclass(frozen=True, eq=False)
class NoiseAt(Additive):
    """y | f, g ~ N(f, e^g · noise_scale) where g ~ N(log_mean, log_variance), broadcast against f."""

    log_mean: Array
    log_variance: Array

    log_concave: ClassVar[bool] = False
    uses: ClassVar[tuple[str, ...]] = ("noise_scale",)

    def log_density(self, obs: Observations, f: Array) -> Array:
        """A mixture of Gaussians about f."""
        return self._mixture(obs, f, np.zeros(1)).log_density

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """From the slopes a and curvatures b of the Gaussians: E a, E b - Var a, κ₃(a) - 3 Cov(a, b)."""
        mixture = self._mixture(obs, f, np.zeros(1))
        mean = mixture.average(mixture.slope)
        gap, bend = mixture.slope - mean, 1.0 / mixture.variance
        third = mixture.average(gap**3 - 3.0 * gap * bend)
        return Derivatives(mean, mixture.average(bend - gap**2), third)

    def tilted(self, obs: Observations, mean: Array, variance: Array) -> Tilted:
        """In closed form for every node of g, where weights are 1."""
        if np.any(obs.weight != 1):
            return super().tilted(obs, mean, variance)
        mixture = self._mixture(obs, mean, variance)
        gradient = mixture.average(mixture.slope)
        curvature = mixture.average(1.0 / mixture.variance - (mixture.slope - gradient) ** 2)
        return Tilted(mixture.log_density, gradient, curvature)

    def conditional_variance(self, f: Array) -> Array:
        """E[e^g]."""
        log_mean = np.minimum(self.log_mean + 0.5 * self.log_variance, _LARGEST)
        return np.exp(log_mean) + np.zeros(np.shape(f))

    def cdf(self, y: Array, f: Array) -> Array:
        """Φ((y - f) e^(-g/2)), averaged over g."""
        f = np.asarray(f, dtype=float)
        return np.tensordot(_SHARES, ndtr((y - f) / np.sqrt(self._noises(f))), axes=1)

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        """Noise added to f."""
        g = self.log_mean + np.sqrt(self.log_variance) * rng.standard_normal(np.shape(f))
        return rng.normal(f, np.exp(0.5 * np.minimum(g, _LARGEST)))

    def gaussians(self, mean: Array, variance: Array) -> list[tuple[float, Array, Array]]:
        """The distribution of y for f ~ N(mean, variance), as Gaussians: share, means and deviations (b,)."""
        total = np.asarray(variance) + self._noises(np.asarray(mean, dtype=float))
        return [
            (share, np.asarray(mean), np.sqrt(own))
            for share, own in zip(_SHARES.tolist(), total, strict=True)
            if share > _NEGLIGIBLE
        ]

    def _mixture(self, obs: Observations, mean: Array, variance: Array) -> _Mixture:
        """Of y for f ~ N(mean, variance), one Gaussian for each node of g."""
        mean = np.asarray(mean, dtype=float)
        total = self._noises(mean) * obs.noise_scale + variance
        residual = obs.y - mean
        logs = -0.5 * (np.log(2.0 * np.pi * total) + residual**2 / total)
        logs = logs + np.log(_SHARES).reshape(-1, *[1] * (logs.ndim - 1))
        return _Mixture(logsumexp(logs, axis=0), softmax(logs, axis=0), residual / total, total)

    def _noises(self, f: Array) -> Array:
        """e^g at the nodes, (k, ...) with the shape of f behind."""
        nodes = _NODES.reshape(-1, *[1] * f.ndim)
        g = self.log_mean + np.sqrt(self.log_variance) * nodes
        return np.exp(np.clip(g, -_LARGEST, _LARGEST))


@stored("heteroscedastic Gaussian likelihood")
@dataclass(frozen=True)
class Heteroscedastic(GaussianNoise):
    """y | f, g ~ N(f, e^g · noise_scale), where the log-variance g is a second function on the manifold.

    Its prior has mean log σ², standard deviation `noise_spread` (averaged over the geometry) and a diffusion
    time of its own. f and g are learned together, by a variational approximation. As a distribution of y
    given f alone, here, g has its prior: where labels tell more, `at` takes its posterior.

    Parameters
    ----------
    noise_variance : σ², or None to learn it
    noise_time : diffusion time of g, or None to learn it; 1 is the time in which the slowest eigenfunction
        that is not constant falls by 1/e
    noise_spread : prior standard deviation of g, or None to learn it

    Examples
    --------
    >>> from flgp.likelihoods import Heteroscedastic
    >>> likelihood = Heteroscedastic(noise_variance=1.0, noise_time=0.1, noise_spread=2.0)
    >>> float(likelihood.conditional_variance(f=0.0).round(3))  # E[e^g] = e²
    7.389
    >>> float(likelihood.at(log_mean=0.0, log_variance=0.0).predictive_variance(mean=0.0, variance=1.0))
    2.0
    """

    noise_variance: float | None = None
    noise_time: float | None = None
    noise_spread: float | None = None

    name: ClassVar[str] = "heteroscedastic"
    parameter_names: ClassVar[tuple[str, ...]] = ("noise_variance", "noise_time", "noise_spread")
    log_concave: ClassVar[bool] = False

    def at(self, log_mean: Array, log_variance: Array) -> NoiseAt:
        """The distribution of y in rows where g is known to have these moments."""
        return NoiseAt(log_mean, log_variance)

    def _anywhere(self) -> NoiseAt:
        """With the prior of g."""
        center, spread = np.log(self._parameter("noise_variance")), self._parameter("noise_spread")
        return NoiseAt(np.asarray(center), np.asarray(spread**2))

    def log_density(self, obs: Observations, f: Array) -> Array:
        """Of y given f, averaged over g."""
        return self._anywhere().log_density(obs, f)

    def conditional_variance(self, f: Array) -> Array:
        """E[e^g]."""
        return self._anywhere().conditional_variance(f)

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """Of y given f, averaged over g."""
        return self._anywhere().derivatives(obs, f)

    def tilted(self, obs: Observations, mean: Array, variance: Array) -> Tilted:
        """Averaged over g."""
        return self._anywhere().tilted(obs, mean, variance)

    def cdf(self, y: Array, f: Array) -> Array:
        """Averaged over g."""
        return self._anywhere().cdf(y, f)

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        """Noise added to f."""
        return self._anywhere().sample(f, rng)

    def constant_beside_offset(self, obs: Observations) -> float:
        """The mean of what the offset leaves."""
        return self.initial_mean(self.without_offset(obs))

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        """As of equal noise; g varies by a factor of e, over a tenth of the geometry."""
        return {**Gaussian().initial_parameters(obs), "noise_time": 0.1, "noise_spread": 1.0}

    def parameter_bounds(self, obs: Observations) -> dict[str, tuple[float, float]]:
        """From noise that is nearly equal everywhere to deviations that vary by a factor of a thousand.

        With more, the mean of e^g is that of its tail, which no label can know.
        """
        own = {"noise_time": (1e-4, 60.0), "noise_spread": (1e-3, 3.5)}
        return {**Gaussian().parameter_bounds(obs), **own}
