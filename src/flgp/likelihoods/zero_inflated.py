"""Counts among which some rows are zero for another reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from .._stored import stored
from .._typing import Array
from ._base import Derivatives, Observations, ParameterDerivatives
from ._zeros import Counts, ExtraZeros, log_none, none_of
from .negative_binomial import NegativeBinomial
from .poisson import Poisson

# Below this probability of being a count, a zero is an extra one.
_NONE = 1e-100


class ZeroInflated(ExtraZeros):
    """y = 0 with probability π, otherwise a count with mean exposure · e^f.

    A zero has two explanations, which makes its density in f a step from 1 down to π instead of a slope
    without end: not log-concave. Newton's method uses the curvature where it is positive, and 0 where a zero
    would push f away.
    """

    log_concave = False

    def log_density(self, obs: Observations, f: Array) -> Array:
        """log((1 - π) p(y)), and log(π + (1 - π) p(0)) for y = 0."""
        log_zero, log_count = self._log_shares()
        plain = log_count + self.counts.log_density(obs, f)
        return np.where(obs.y == 0, np.logaddexp(log_zero, plain), plain)

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """Those of the counts; of a zero, weighted by the probability s that it is a count."""
        d = self.counts.derivatives(obs, f)
        zero = obs.y == 0
        s, rest = self._counted(obs, f)
        # Where s is as good as 0, what it multiplies may be too large to be squared.
        g, bend, jerk = (
            np.where(zero & (s > _NONE), part, 0.0) for part in (d.gradient, -d.curvature, d.third)
        )
        second = s * (bend + rest * g**2)
        third = s * (jerk + rest * (3.0 * g * bend + (rest - s) * g**3))
        return Derivatives(
            np.where(zero, s * g, d.gradient),
            np.where(zero, -second, d.curvature),
            np.where(zero, third, d.third),
        )

    def likeliest(self, obs: Observations) -> Array:
        """The logarithm of the count; for a zero, where the count's own probability is gone."""
        return np.log(np.maximum(obs.y, 5.0) / obs.exposure)

    def parameter_derivatives(self, obs: Observations, f: Array) -> list[ParameterDerivatives]:
        zero, share = obs.y == 0, self.zero_share
        s, rest = self._counted(obs, f)
        d = self.counts.derivatives(none_of(obs), f)
        g, bend = (np.where(zero & (s > _NONE), part, 0.0) for part in (d.gradient, -d.curvature))
        # ∂s/∂log odds = -s(1 - s), and s multiplies everything below.
        moved = -s * rest
        odds = ParameterDerivatives(
            np.where(zero, rest, 0.0) - share,
            np.where(zero, moved * g, 0.0),
            np.where(zero, -moved * (bend + (rest - s) * g**2), 0.0),
        )
        result = [odds]
        for own in self.counts.parameter_derivatives(obs, f):
            log_p, slope, bent = (np.where(zero & (s > _NONE), part, 0.0) for part in own)
            gradient = s * (slope + rest * g * log_p)
            # d(s (g' + r g²)) with ds = s r dlog p, dr = -ds
            second = s * rest * log_p * (bend + rest * g**2)
            second = second + s * (-bent - s * rest * log_p * g**2 + 2.0 * rest * g * slope)
            result.append(
                ParameterDerivatives(
                    np.where(zero, s * log_p, own.log_density),
                    np.where(zero, gradient, own.gradient),
                    np.where(zero, -second, own.curvature),
                )
            )
        return result

    def conditional_mean(self, f: Array) -> Array:
        return (1.0 - self.zero_share) * self.counts.conditional_mean(f)

    def conditional_variance(self, f: Array) -> Array:
        """(1 - π) times the counts' own, plus π(1 - π) times their squared mean."""
        share = self.zero_share
        own = self.counts.conditional_variance(f)
        return (1.0 - share) * (own + share * self.counts.conditional_mean(2.0 * np.asarray(f)))

    def predictive_mean(self, mean: Array, variance: Array) -> Array:
        return (1.0 - self.zero_share) * self.counts.predictive_mean(mean, variance)

    def predictive_variance(self, mean: Array, variance: Array) -> Array:
        """As given f, with the counts' predictive moments."""
        share, first = self.zero_share, np.minimum(self.counts.predictive_mean(mean, variance), 1e150)
        return (1.0 - share) * (self.counts.predictive_variance(mean, variance) + share * first**2)

    def cdf(self, y: Array, f: Array) -> Array:
        share = self.zero_share
        return np.where(np.asarray(y) >= 0, share + (1.0 - share) * self.counts.cdf(y, f), 0.0)

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        y = self.counts.sample(f, rng)
        return np.where(rng.random(y.shape) < self.zero_share, 0.0, y)

    def _counted(self, obs: Observations, f: Array) -> tuple[Array, Array]:
        """Probability s that a zero is a count, and 1 - s."""
        gap = log_none(self.counts, f + np.log(obs.exposure)) - self._log_odds()
        return np.asarray(expit(gap)), np.asarray(expit(-gap))


@stored("zero-inflated Poisson likelihood")
@dataclass(frozen=True)
class ZeroInflatedPoisson(ZeroInflated):
    """y = 0 with probability π, otherwise Poisson(exposure · e^f).

    Parameters
    ----------
    zero_odds : π/(1 - π) > 0, or None to learn it

    Examples
    --------
    >>> from flgp.likelihoods import ZeroInflatedPoisson
    >>> likelihood = ZeroInflatedPoisson(zero_odds=1.0)
    >>> likelihood.zero_share, float(likelihood.conditional_mean(f=0.0))
    (0.5, 0.5)
    """

    name: ClassVar[str] = "zero_inflated_poisson"
    parameter_names: ClassVar[tuple[str, ...]] = ("zero_odds",)
    kind: ClassVar[type[Counts]] = Poisson


@stored("zero-inflated negative binomial likelihood")
@dataclass(frozen=True)
class ZeroInflatedNegativeBinomial(ZeroInflated):
    """y = 0 with probability π, otherwise negative binomial with mean exposure · e^f.

    Parameters
    ----------
    zero_odds : π/(1 - π) > 0, or None to learn it
    dispersion : as of `NegativeBinomial`

    Examples
    --------
    >>> from flgp.likelihoods import ZeroInflatedNegativeBinomial
    >>> float(ZeroInflatedNegativeBinomial(zero_odds=1.0, dispersion=0.5).conditional_mean(f=0.0))
    0.5
    """

    dispersion: float | None = None

    name: ClassVar[str] = "zero_inflated_negative_binomial"
    parameter_names: ClassVar[tuple[str, ...]] = ("zero_odds", "dispersion")
    kind: ClassVar[type[Counts]] = NegativeBinomial
