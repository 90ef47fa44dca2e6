"""Quantiles: f is where a given share of the labels lies below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr

from .._stored import stored
from .._typing import Array
from ._additive import Additive
from ._base import Derivatives, Observations, ParameterDerivatives, Tilted
from ._moments import positive_spread, weighted_mean, weighted_median, weighted_quantile
from ._probit import normal_hazard

_SMALLEST_VARIANCE = 1e-200


@stored("asymmetric Laplace likelihood")
@dataclass(frozen=True)
class AsymmetricLaplace(Additive):
    """y = f + noise whose density falls by (1 - q)/scale per unit below f and q/scale above it.

    P(y ≤ f) = q, so f is the q-quantile of y given x, and that is what `predict` returns. log p is the check
    loss of quantile regression. It has a kink instead of a curvature: Laplace's method has nothing to work
    with, and the posterior is found by expectation propagation, whose integrals are in closed form.

    Parameters
    ----------
    scale : s > 0, in the units of y, or None to learn it
    quantile : q in (0, 1), fixed

    Examples
    --------
    >>> import numpy as np
    >>> from flgp import FLGPRegressor
    >>> from flgp.likelihoods import AsymmetricLaplace
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 300)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> y = np.sin(angle) + rng.exponential(size=300)
    >>> quantile = AsymmetricLaplace(quantile=0.8)
    >>> model = FLGPRegressor(likelihood=quantile, linear=None, residual=None, random_state=0).fit(X, y)
    >>> bool(abs(np.mean(y < model.predict(X)) - 0.8) < 0.05)
    True
    """

    scale: float | None = None
    quantile: float = 0.5

    name: ClassVar[str] = "asymmetric_laplace"
    parameter_names: ClassVar[tuple[str, ...]] = ("scale",)
    location: ClassVar[bool] = True
    smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.quantile < 1.0:
            raise ValueError(f"quantile of AsymmetricLaplace must be between 0 and 1, not {self.quantile}.")

    def _slopes(self) -> tuple[float, float]:
        """∂ log p/∂f below and minus that above y."""
        scale = self._parameter("scale")
        return self.quantile / scale, (1.0 - self.quantile) / scale

    def log_density(self, obs: Observations, f: Array) -> Array:
        """log(q(1 - q)/s) minus the check loss of (y - f)/s."""
        rise, fall = self._slopes()
        gap = obs.y - f
        return np.log(rise * fall * self._parameter("scale")) - np.where(gap > 0, rise * gap, -fall * gap)

    def conditional_variance(self, f: Array) -> Array:
        """s² (q² + (1 - q)²)/(q² (1 - q)²)."""
        rise, fall = self._slopes()
        return np.full(np.shape(f), rise**-2.0 + fall**-2.0)

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """Slopes; there is no curvature but at y."""
        rise, fall = self._slopes()
        gap = obs.y - np.asarray(f, dtype=float)
        gradient = np.where(gap > 0, rise, np.where(gap < 0, -fall, 0.0))
        return Derivatives(gradient, np.zeros_like(gradient), np.zeros_like(gradient))

    def parameter_derivatives(self, obs: Observations, f: Array) -> list[ParameterDerivatives]:
        d = self.derivatives(obs, f)
        return [ParameterDerivatives((obs.y - f) * d.gradient - 1.0, -d.gradient, d.curvature)]

    def tilted(self, obs: Observations, mean: Array, variance: Array) -> Tilted:
        """In closed form: on either side of y a Gaussian times an exponential, cut off at y."""
        t = self._sides(obs, mean, variance)
        both = t.rise + t.fall
        gradient = t.rise * t.below - t.fall * t.above
        at_y = np.exp(-0.5 * t.z**2 - 0.5 * np.log(2.0 * np.pi * t.variance) - t.log_total)
        by_slope = both * (at_y - both * t.below * t.above)
        # Where y says much, by the variance of f: two cut-off Gaussians.
        spread = t.below * t.above * (t.gap_below + t.gap_above) ** 2
        spread = spread + t.below * t.variance_below + t.above * t.variance_above
        telling = both**2 * t.variance > 1.0
        curvature = np.where(telling, (1.0 - spread / t.variance) / t.variance, by_slope)
        curvature = np.clip(curvature, 0.0, 1.0 / t.variance)
        log_constant = np.log(self.quantile * (1.0 - self.quantile) / self._parameter("scale"))
        return Tilted(t.log_total + obs.weight * log_constant, gradient, curvature)

    def tilted_parameter_gradient(self, obs: Observations, mean: Array, variance: Array) -> list[Array]:
        """In log s: the expected check loss minus the weight."""
        t = self._sides(obs, mean, variance)
        loss = t.rise * t.below * t.gap_below + t.fall * t.above * t.gap_above
        return [loss - obs.weight]

    def _sides(self, obs: Observations, mean: Array, variance: Array) -> _Sides:
        rise, fall = (obs.weight * slope for slope in self._slopes())
        mean = np.broadcast_to(np.asarray(mean, dtype=float), obs.y.shape)
        v = np.maximum(np.broadcast_to(np.asarray(variance, dtype=float), obs.y.shape), _SMALLEST_VARIANCE)
        sd = np.sqrt(v)
        z = (obs.y - mean) / sd
        lower = _Side.of(z - rise * sd, rise, obs.y - mean, v)
        upper = _Side.of(-z - fall * sd, fall, mean - obs.y, v)
        log_total = np.logaddexp(lower.log_mass, upper.log_mass)
        below, above = np.exp(lower.log_mass - log_total), np.exp(upper.log_mass - log_total)
        return _Sides(
            *(rise, fall, v, z, log_total, below, above),
            *(sd * lower.excess, sd * upper.excess, v * lower.share, v * upper.share),
        )

    def cdf(self, y: Array, f: Array) -> Array:
        rise, fall = self._slopes()
        gap, q = np.asarray(y - f), self.quantile
        below = q * np.exp(fall * np.minimum(gap, 0.0))
        return np.where(gap < 0, below, 1.0 - (1.0 - q) * np.exp(-rise * np.maximum(gap, 0.0)))

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        rise, fall = self._slopes()
        f = np.asarray(f, dtype=float)
        return f + rng.exponential(1.0 / rise, f.shape) - rng.exponential(1.0 / fall, f.shape)

    def initial_mean(self, obs: Observations) -> float:
        return weighted_quantile(obs.y, obs.weight, self.quantile)

    def latent_scale(self, obs: Observations) -> float:
        """Standard deviation of y, or less where there are outliers."""
        center = weighted_median(obs.y, obs.weight)
        away = np.abs(obs.y - center)
        spread = min(np.sqrt(weighted_mean(away**2, obs.weight)), 1.5 * weighted_mean(away, obs.weight))
        return positive_spread(float(spread), center)

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        """Where the noise's standard deviation is a third of the latent scale."""
        q = self.quantile
        return {"scale": self.latent_scale(obs) / 3.0 * q * (1.0 - q) / float(np.hypot(q, 1.0 - q))}


class _Side(NamedTuple):
    """A Gaussian times e^(-slope·|y - f|) on one side of y."""

    log_mass: Array
    excess: Array  # E|y - f| in standard deviations
    share: Array  # Var f as a share of the Gaussian's

    @classmethod
    def of(cls, a: Array, slope: Array, gap: Array, v: Array) -> _Side:
        """For a = gap/sd - slope·sd, with `gap` from the mean to y towards the other side."""
        inner = np.minimum(a, 0.0)
        near = np.log(0.5 * erfcx(-inner / np.sqrt(2.0))) - 0.5 * (gap / np.sqrt(v)) ** 2
        far = slope * (0.5 * slope * v - gap) + log_ndtr(a)
        hazard, excess = normal_hazard(a)
        return cls(np.where(a < 0, near, far), excess, np.maximum(1.0 - hazard * excess, 0.0))


class _Sides(NamedTuple):
    """Both sides of y, (m,) each: slopes, shares of the mass, distances from y, variances."""

    rise: Array
    fall: Array
    variance: Array
    z: Array
    log_total: Array
    below: Array
    above: Array
    gap_below: Array
    gap_above: Array
    variance_below: Array
    variance_above: Array
