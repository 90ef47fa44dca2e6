"""Counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaincc, gammaln

from .._stored import stored
from .._typing import Array
from ._base import Derivatives, Observations
from ._log_link import LogLink, safe_exp, safe_expm1
from .observations import refuse, refuse_fractions

# NumPy draws 64-bit counts.
_LARGEST_RATE = 1e18
# Beyond, rounding of the log rate hides the noise of the count itself, and the evidence is rounding.
_LARGEST_COUNT = 1e14


def draw_counts(rate: Array, rng: np.random.Generator) -> Array:
    """Poisson counts as floats; rates too large for 64-bit counts are clipped."""
    return rng.poisson(np.minimum(rate, _LARGEST_RATE)).astype(float)


def _top(y: Array) -> Array:
    """The largest log-density of y, y log y - y - log y!, by Stirling's series for large y."""
    large = np.maximum(y, 100.0)
    series = -0.5 * np.log(2.0 * np.pi * large) - 1.0 / (12.0 * large) + 1.0 / (360.0 * large**3)
    return np.where(y > 100.0, series, y * np.log(y) - y - gammaln(y + 1.0))


@stored("Poisson likelihood")
@dataclass(frozen=True)
class Poisson(LogLink):
    """y | f ~ Poisson(exposure · e^f). Predictions are for unit exposure.

    Examples
    --------
    >>> from flgp.likelihoods import Poisson
    >>> float(Poisson().predictive_mean(mean=0.0, variance=1.0).round(4))  # E exp(f), not exp(E f)
    1.6487
    """

    name: ClassVar[str] = "poisson"
    discrete: ClassVar[bool] = True

    def log_density(self, obs: Observations, f: Array) -> Array:
        """Here y log μ - μ - log y!, with μ = exposure · e^f.

        For y > 0, with δ = log(μ/y), this is its maximum, at μ = y, minus y (e^δ - 1 - δ): no large terms
        cancel, however large the count.
        """
        log_mean = f + np.log(obs.exposure)
        count = np.maximum(obs.y, 1.0)
        delta = log_mean - np.log(count)
        below_top = count * (safe_expm1(delta) - delta)
        return np.where(obs.y > 0, _top(count) - below_top, -safe_exp(log_mean))

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        expected = safe_exp(f + np.log(obs.exposure))
        return Derivatives(obs.y - expected, expected, -expected)

    def cdf(self, y: Array, f: Array) -> Array:
        """The regularised incomplete gamma function Q(y + 1, e^f)."""
        return np.where(y >= 0, gammaincc(np.floor(np.maximum(y, 0.0)) + 1.0, safe_exp(f)), 0.0)

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        return draw_counts(safe_exp(np.asarray(f, dtype=float)), rng)

    def validate(self, obs: Observations) -> None:
        super().validate(obs)
        remedy = (
            "Pass counts in y and their base in `exposure`, or use likelihood='gamma' for positive reals."
        )
        refuse_fractions(obs.y, obs, "Poisson counts", remedy)
        refuse(
            obs.y > _LARGEST_COUNT,
            obs,
            f"Poisson counts above {_LARGEST_COUNT:.0e} are known better than numbers of 16 digits can tell",
            "Use likelihood='gamma', or 'negative_binomial' for counts that vary more than Poisson ones.",
        )

    def _variance_coefficients(self) -> tuple[float, float]:
        return 1.0, 0.0
