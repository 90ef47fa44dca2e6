"""Positive amounts with exact zeros."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammainc, gammaln, logsumexp

from .._stored import stored
from .._typing import Array
from ._base import Derivatives, Observations, ParameterDerivatives, refuse
from ._log_link import LogMean, safe_exp, safe_square
from .poisson import draw_counts

# Terms of the sums over numbers of events, and how many standard deviations about the likeliest they span.
_TERMS, _SPAN = 96, 9.0
# Where a bound falls by this factor it changes no digit of a probability; rounding of its parts.
_NO_DIGIT, _ROUNDING = 38.0, 1e-14
# Rows times terms held at once.
_BLOCK_ROWS = 4096


@stored("Tweedie likelihood")
@dataclass(frozen=True)
class Tweedie(LogMean):
    """A Poisson number of gamma amounts: mean μ = exposure · e^f, variance dispersion · μ^power.

    Zero has a probability of its own, exp(-μ^(2-p)/(φ(2-p))), that falls as the mean rises: one function f
    says both how likely and how large amounts are (rain, claims, catches). Log-concave in f, and only the
    part of the density that does not depend on f needs a series.

    Parameters
    ----------
    dispersion : φ > 0, or None to learn it
    power : p in (1, 2), fixed. Towards 1 many small amounts, towards 2 few large ones.

    Examples
    --------
    >>> from flgp.likelihoods import Tweedie
    >>> float(Tweedie(dispersion=2.0).cdf(0.0, f=0.0).round(4))  # no event: exp(-1/(2·0.5))
    0.3679
    """

    dispersion: float | None = None
    power: float = 1.5

    name: ClassVar[str] = "tweedie"
    parameter_names: ClassVar[tuple[str, ...]] = ("dispersion",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1.0 < self.power < 2.0:
            raise ValueError(
                f"power of Tweedie must be between 1 and 2, not {self.power}: use likelihood='poisson' for "
                "counts (1) and 'gamma' for positive reals (2)."
            )

    def log_density(self, obs: Observations, f: Array) -> Array:
        """(y μ^(1-p)/(1-p) - μ^(2-p)/(2-p))/φ plus a series that does not depend on f."""
        return self._series(obs.y)[0] + self.log_density_in_f(obs, f)

    def log_density_in_f(self, obs: Observations, f: Array) -> Array:
        p, phi = self.power, self._parameter("dispersion")
        eta = f + np.log(obs.exposure)
        amount = obs.y * safe_exp((1.0 - p) * eta) / (p - 1.0)
        return -(amount + safe_exp((2.0 - p) * eta) / (2.0 - p)) / phi

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """In closed form, with u = y μ^(1-p)/φ and e = μ^(2-p)/φ: u - e, (p-1)u + (2-p)e, …."""
        p, phi = self.power, self._parameter("dispersion")
        eta = f + np.log(obs.exposure)
        u, e = obs.y * safe_exp((1.0 - p) * eta) / phi, safe_exp((2.0 - p) * eta) / phi
        return Derivatives(u - e, (p - 1.0) * u + (2.0 - p) * e, (p - 1.0) ** 2 * u - (2.0 - p) ** 2 * e)

    def parameter_derivatives(self, obs: Observations, f: Array) -> list[ParameterDerivatives]:
        d, log_density = self.derivatives(obs, f), self._series(obs.y)[1] - self.log_density_in_f(obs, f)
        return [ParameterDerivatives(log_density, -d.gradient, -d.curvature)]

    def conditional_variance(self, f: Array) -> Array:
        return self._parameter("dispersion") * safe_exp(np.asarray(f)) ** self.power

    def predictive_variance(self, mean: Array, variance: Array) -> Array:
        """φ E[e^(pf)] + Var[e^f] by the moments of the log-normal distribution."""
        p = self.power
        within = self._parameter("dispersion") * safe_exp(mean + 0.5 * p * variance) ** p
        return within + safe_square(mean + variance) * -np.expm1(-np.asarray(variance))

    def cdf(self, y: Array, f: Array) -> Array:
        """A sum over the number of events: Poisson weights times gamma distribution functions."""
        y, f = np.broadcast_arrays(np.asarray(y, dtype=float), np.asarray(f, dtype=float))
        at, rate, shape, scale = np.maximum(y.ravel(), 0.0), *self._events(f.ravel())
        below = np.where(at > shape * rate * scale, 1.0, 0.0)  # the mean
        near = np.flatnonzero(self._fall(at, f.ravel()) < _NO_DIGIT)
        for start in range(0, len(near), _BLOCK_ROWS):
            rows = near[start : start + _BLOCK_ROWS]
            below[rows] = _below(at[rows], rate[rows], shape, scale[rows])
        return np.where(y >= 0.0, below.reshape(y.shape), 0.0)

    def _fall(self, y: Array, f: Array) -> Array:
        """Minus the logarithm of Chernoff's bound on what is beyond y, seen from the mean: half the deviance.

        Less what rounding may add to it.
        """
        p, phi, mu = self.power, self._parameter("dispersion"), safe_exp(f)
        parts = (
            mu ** (2.0 - p) / (2.0 - p),
            y * mu ** (1.0 - p) / (p - 1.0),
            y ** (2.0 - p) / (p - 1.0) / (2.0 - p),
        )
        return (parts[0] + parts[1] - parts[2] - _ROUNDING * (parts[0] + parts[1])) / phi

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        rate, shape, scale = self._events(np.asarray(f, dtype=float))
        events = draw_counts(rate, rng)
        return np.where(events > 0, scale * rng.gamma(shape * np.maximum(events, 1.0)), 0.0)

    def validate(self, obs: Observations) -> None:
        super().validate(obs)
        remedy = "Leave such rows out, or use likelihood='gaussian' for reals of either sign."
        refuse(obs.y < 0, obs, "Labels of the tweedie likelihood must be at least 0", remedy)

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        """Half of the excess relative variance; f explains the other half."""
        level = float(np.exp(self.initial_mean(obs))) * float(np.median(obs.exposure))
        return {"dispersion": 0.5 * max(self._excess(obs), 0.02) * level ** (2.0 - self.power)}

    def parameter_bounds(self, obs: Observations) -> dict[str, tuple[float, float]]:
        """A factor of a thousand on either side of the starting value."""
        start = self.initial_parameters(obs)["dispersion"]
        return {"dispersion": (1e-3 * start, 1e3 * start)}

    def _noise(self, expected: Array) -> Array:
        return np.zeros_like(expected)

    def _events(self, f: Array) -> tuple[Array, float, Array]:
        """Poisson rate, and the shape and scale of each gamma amount, at unit exposure."""
        p, phi = self.power, self._parameter("dispersion")
        rate = safe_exp((2.0 - p) * f) / (phi * (2.0 - p))
        return rate, (2.0 - p) / (p - 1.0), phi * (p - 1.0) * safe_exp((p - 1.0) * f)

    def _series(self, y: Array) -> tuple[Array, Array]:
        """The log-density's part without f, and its derivative in log φ, (m,) each; 0 where y = 0."""
        value, slope = np.zeros(y.shape), np.zeros(y.shape)
        for start in range(0, len(y), _BLOCK_ROWS):
            rows = start + np.flatnonzero(y[start : start + _BLOCK_ROWS] > 0)
            value[rows], slope[rows] = self._sums(y[rows])
        return value, slope

    def _sums(self, y: Array) -> tuple[Array, Array]:
        p, phi = self.power, self._parameter("dispersion")
        shape = (2.0 - p) / (p - 1.0)
        likeliest = np.exp(np.clip((2.0 - p) * np.log(y) - np.log(phi * (2.0 - p)), -600.0, 600.0))
        events, stride = _window(likeliest, np.sqrt(likeliest / (1.0 + shape)) + 1.0)
        log_unit = shape * (np.log(y) - np.log(p - 1.0)) - np.log(2.0 - p) - (1.0 + shape) * np.log(phi)
        at = np.maximum(events, 1.0)
        terms = at * log_unit - gammaln(at + 1.0) - gammaln(shape * at)
        terms = np.where(events >= 1.0, terms + np.log(stride), -np.inf)
        total = logsumexp(terms, axis=0)
        mean = np.sum(np.exp(terms - total) * at, axis=0)
        return total - np.log(y), -(1.0 + shape) * mean


def _window(center: Array, spread: Array) -> tuple[Array, Array]:
    """Whole numbers (k, m) around each center (m,), and the steps (m,) between them.

    A smooth sum with many terms is as good as exact from every stride-th of them.
    """
    stride = np.ceil(2.0 * _SPAN * spread / (_TERMS - 1.0))
    first = np.maximum(np.floor(center - 0.5 * _TERMS * stride), 1.0)
    return first + stride * np.arange(_TERMS)[:, None], stride


def _below(y: Array, rate: Array, shape: float, scale: Array) -> Array:
    """P(Y ≤ y) (m,) for a Poisson number of gamma amounts."""
    events, stride = _window(rate, np.sqrt(rate) + 1.0)
    log_weight = events * np.log(rate) - rate - gammaln(events + 1.0) + np.log(stride)
    weight = np.exp(np.minimum(log_weight, 0.0))
    counts = weight > 1e-13
    part = np.zeros(weight.shape)
    at = np.broadcast_to(y / scale, weight.shape)[counts]
    part[counts] = weight[counts] * gammainc(shape * events[counts], at)
    return np.clip(np.exp(-rate) + part.sum(axis=0), 0.0, 1.0)
