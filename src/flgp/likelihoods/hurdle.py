"""Counts whose zeros are a matter of their own."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from .._stored import stored
from .._typing import Array
from ._base import Derivatives, Observations, ParameterDerivatives, gaussian_average
from ._log_link import safe_exp, safe_square
from ._zeros import Counts, ExtraZeros, log_none, none_of
from .negative_binomial import NegativeBinomial
from .poisson import Poisson, draw_counts

# Below this, series of functions of -log p(0) whose closed forms cancel.
_SMALL = 0.1
# A count is certainly positive where -log p(0) is larger.
_CERTAIN = 300.0
# Nodes of integrals over f, in standard deviations: evenly spaced, which for smooth functions is exact.
_NODES = np.linspace(-12.0, 12.0, 241)
_SHARES = np.exp(-0.5 * _NODES**2) / np.exp(-0.5 * _NODES**2).sum()


class Hurdle(ExtraZeros):
    """y = 0 with probability π; otherwise a count with mean exposure · e^f, given that it is not 0.

    Zeros say nothing about f, only about π: where zeros have a pattern of their own, model y > 0 by a second
    regressor with likelihood="bernoulli".
    """

    def log_density(self, obs: Observations, f: Array) -> Array:
        """Log π, or log(1 - π) + log p(y) - log(1 - p(0))."""
        log_zero, log_count = self._log_shares()
        positive = self.counts.log_density(obs, f) - self._log_any(obs, f)
        return np.where(obs.y == 0, log_zero, log_count + positive)

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """Those of the counts minus those of log(1 - p(0)); none for y = 0."""
        slope, curvature = self.slope_and_curvature(obs, f)
        third = self.counts.derivatives(obs, f).third - _third_of_any(*self._none(obs, f))
        return Derivatives(slope, curvature, np.where(obs.y == 0, 0.0, third))

    def slope_and_curvature(self, obs: Observations, f: Array) -> tuple[Array, Array]:
        d, zero = self.counts.derivatives(obs, f), obs.y == 0
        L, first, second, _ = self._none(obs, f)
        slope_of_any, bend_of_any = _slope_and_bend_of_any(L, first, second)
        curvature = d.curvature + bend_of_any
        if self.log_concave:
            curvature = np.maximum(curvature, 0.0)
        return np.where(zero, 0.0, d.gradient - slope_of_any), np.where(zero, 0.0, curvature)

    def likeliest(self, obs: Observations) -> Array:
        return np.log(np.maximum(obs.y, 1.0) / obs.exposure)

    def parameter_derivatives(self, obs: Observations, f: Array) -> list[ParameterDerivatives]:
        zero, nothing = obs.y == 0, np.zeros(np.shape(f))
        result = [ParameterDerivatives(zero - self.zero_share + nothing, nothing, nothing)]
        if len(self.parameter_names) > 1:
            parts = super().parameter_derivatives(obs, f)[1:]
            result += [ParameterDerivatives(*(np.where(zero, 0.0, v) for v in part)) for part in parts]
        return result

    def conditional_mean(self, f: Array) -> Array:
        """(1 - π) e^f/(1 - p(0)) at unit exposure."""
        return safe_exp(self._log_mean(f))

    def conditional_variance(self, f: Array) -> Array:
        """E[y²] - E[y]², where E[y²] = E[y] (1 + (1 + α)μ)."""
        f = np.clip(f, -300.0, 300.0)
        mean = self.conditional_mean(f)
        return mean * np.maximum(1.0 + self._spread() * safe_exp(f) - mean, 0.0)

    def predictive_mean(self, mean: Array, variance: Array) -> Array:
        """(1 - π) (E[e^f] + E[e^f p(0)/(1 - p(0))]), the second by quadrature."""
        whole = safe_exp(np.asarray(mean) + 0.5 * np.asarray(variance))
        return (1.0 - self.zero_share) * (whole + self._expected(mean, variance, 0.0))

    def predictive_variance(self, mean: Array, variance: Array) -> Array:
        """E[y²] - E[y]², in the same way."""
        mean, variance, spread = np.asarray(mean), np.asarray(variance), self._spread()
        whole = safe_exp(mean + 0.5 * variance) + spread * safe_square(mean + variance)
        square = (1.0 - self.zero_share) * (whole + self._expected(mean, variance, spread))
        return np.maximum(square - np.minimum(self.predictive_mean(mean, variance), 1e150) ** 2, 0.0)

    def _spread(self) -> float:
        """1 + α."""
        return 1.0 + (getattr(self.counts, "dispersion", 0.0) or 0.0)

    def _expected(self, mean: Array, variance: Array, factor: float) -> Array:
        """E[(1 + factor·μ) μ p(0)/(1 - p(0))]: what zeros that are left out add to the moments."""

        def added(f: Array) -> Array:
            log_ratio = f + log_none(self.counts, f) - _log_any(self.counts, f)
            return safe_exp(log_ratio) + (factor * safe_exp(f + log_ratio) if factor else 0.0)

        return gaussian_average(added, mean, variance, _NODES, _SHARES)

    def cdf(self, y: Array, f: Array) -> Array:
        """π at 0; above, the share of the positive counts."""
        f, share = np.asarray(f, dtype=float), self.zero_share
        none = self.counts.cdf(np.zeros_like(f), f)
        inside = (self.counts.cdf(y, f) - none) / np.maximum(1.0 - none, 1e-300)
        # Where the counts are nearly all 0, a positive one is 1.
        inside = np.where(none < 1.0 - 1e-12, inside, 1.0)
        y = np.asarray(y)
        return np.where(y >= 1, share + (1.0 - share) * inside, np.where(y >= 0, share, 0.0))

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        f = np.asarray(f, dtype=float)
        # Events come in clusters, as many as a Poisson variable of this rate, and there is at least one: the
        # first comes at a time that is exponential but cut off, the others in the time that is left.
        rate = np.maximum(-log_none(self.counts, f), 1e-300)
        first = -np.log1p(rng.random(f.shape) * np.expm1(-rate))
        left = np.maximum(1.0 - first / rate, 0.0)
        y = self._cluster(f, rng) + self._in_share(f, left, rng)
        return np.where(rng.random(f.shape) < self.zero_share, 0.0, y)

    @abstractmethod
    def _cluster(self, f: Array, rng: np.random.Generator) -> Array:
        """Events in one cluster."""

    @abstractmethod
    def _in_share(self, f: Array, share: Array, rng: np.random.Generator) -> Array:
        """Events in a share of the time."""

    def _log_any(self, obs: Observations, f: Array) -> Array:
        """log(1 - p(0))."""
        return _log_any(self.counts, f + np.log(obs.exposure))

    def _log_mean(self, f: Array) -> Array:
        f = np.asarray(f, dtype=float)
        return self._log_shares()[1] + f - _log_any(self.counts, f)

    def _none(self, obs: Observations, f: Array) -> tuple[Array, Array, Array, Array]:
        """L = -log p(0), and its first three derivatives in f."""
        none = self.counts.derivatives(none_of(obs), f)
        L = np.maximum(-log_none(self.counts, f + np.log(obs.exposure)), 1e-300)
        inside = L < _CERTAIN
        first, second, third = (
            np.where(inside, part, 0.0) for part in (-none.gradient, none.curvature, -none.third)
        )
        return L, first, second, third


def _log_any(counts: Counts, log_mean: Array) -> Array:
    """log(1 - p(0))."""
    return np.log(-np.expm1(-np.maximum(-log_none(counts, log_mean), 1e-300)))


# Derivatives of log(1 - e^-L) in f, as those of log L and of log((1 - e^-L)/L), which is smooth: for small L
# a Bernoulli series.


def _slope_and_bend_of_any(L: Array, first: Array, second: Array) -> tuple[Array, Array]:
    """The first two, from those of L."""
    (a, b), r1, r2 = _smooth_rest(L), first / L, second / L
    return r1 + a * first, r2 - r1**2 + (a * second + b * first**2)


def _third_of_any(L: Array, first: Array, second: Array, third: Array) -> Array:
    """The third."""
    (a, b), r1, r2, r3 = _smooth_rest(L), first / L, second / L, third / L
    small, q, inverse = _of_small_and_large(L)
    closed = q * (1.0 + q) * (1.0 + 2.0 * q) - 2.0 * inverse**3
    c = np.where(L < _SMALL, -small / 120.0 + small**3 / 1512.0, closed)
    return r3 - 3.0 * r1 * r2 + 2.0 * r1**3 + (a * third + 3.0 * b * first * second + c * first**3)


def _smooth_rest(L: Array) -> tuple[Array, Array]:
    """The first two derivatives of log((1 - e^-L)/L) in L."""
    small, q, inverse = _of_small_and_large(L)
    series = (
        -0.5 + small / 12.0 - small**3 / 720.0 + small**5 / 30240.0,
        1.0 / 12.0 - small**2 / 240.0 + small**4 / 6048.0,
    )
    closed = (q - inverse, inverse**2 - q * (1.0 + q))
    return np.where(L < _SMALL, series[0], closed[0]), np.where(L < _SMALL, series[1], closed[1])


def _of_small_and_large(L: Array) -> tuple[Array, Array, Array]:
    """L where it is small; 1/(e^L - 1) and 1/L where it is not."""
    q = 1.0 / np.expm1(np.clip(L, _SMALL, _CERTAIN))
    return np.minimum(L, _SMALL), q, 1.0 / np.maximum(L, _SMALL)


@stored("hurdle Poisson likelihood")
@dataclass(frozen=True)
class HurdlePoisson(Hurdle):
    """y = 0 with probability π, otherwise Poisson(exposure · e^f) given that it is positive.

    Parameters
    ----------
    zero_odds : π/(1 - π) > 0, or None to learn it

    Examples
    --------
    >>> from flgp.likelihoods import HurdlePoisson
    >>> float(HurdlePoisson(zero_odds=1.0).conditional_mean(f=0.0).round(4))  # ½/(1 - 1/e)
    0.791
    """

    name: ClassVar[str] = "hurdle_poisson"
    parameter_names: ClassVar[tuple[str, ...]] = ("zero_odds",)
    kind: ClassVar[type[Counts]] = Poisson

    def _cluster(self, f: Array, rng: np.random.Generator) -> Array:
        return np.ones(f.shape)

    def _in_share(self, f: Array, share: Array, rng: np.random.Generator) -> Array:
        return draw_counts(share * safe_exp(f), rng)


@stored("hurdle negative binomial likelihood")
@dataclass(frozen=True)
class HurdleNegativeBinomial(Hurdle):
    """y = 0 with probability π, otherwise negative binomial given that it is positive.

    Not log-concave for a dispersion above 1, so Newton's method uses 0 where the curvature is negative.

    Parameters
    ----------
    zero_odds : π/(1 - π) > 0, or None to learn it
    dispersion : as of `NegativeBinomial`

    Examples
    --------
    >>> from flgp.likelihoods import HurdleNegativeBinomial
    >>> float(HurdleNegativeBinomial(zero_odds=1.0, dispersion=1.0).conditional_mean(f=0.0))  # ½/(1 - ½)
    1.0
    """

    dispersion: float | None = None

    name: ClassVar[str] = "hurdle_negative_binomial"
    parameter_names: ClassVar[tuple[str, ...]] = ("zero_odds", "dispersion")
    kind: ClassVar[type[Counts]] = NegativeBinomial
    log_concave: ClassVar[bool] = False

    def _cluster(self, f: Array, rng: np.random.Generator) -> Array:
        """Of logarithmic size."""
        success = expit(f + np.log(self._parameter("dispersion")))
        return rng.logseries(np.clip(success, 1e-300, 1.0 - 1e-12)).astype(float)

    def _in_share(self, f: Array, share: Array, rng: np.random.Generator) -> Array:
        dispersion = self._parameter("dispersion")
        return draw_counts(safe_exp(f) * dispersion * rng.gamma(share / dispersion), rng)
