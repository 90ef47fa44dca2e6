"""Counts with more zeros, or fewer, than their distribution has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit

from .._typing import Array
from ._base import Observations
from ._log_link import WithExposure, safe_exp
from .negative_binomial import NegativeBinomial
from .observations import refuse_fractions
from .poisson import Poisson

Counts = Poisson | NegativeBinomial

# Positive counts vary less than all counts do, which hides how much f and the noise vary. Whatever they show,
# f may have a standard deviation of 1, and the noise half of the relative variance that such an f causes.
_LEAST_SCALE = 1.0
_LEAST_DISPERSION = 0.5 * float(np.expm1(_LEAST_SCALE**2))


@dataclass(frozen=True)
class ExtraZeros(WithExposure):
    """What zero-inflated and hurdle counts have in common: a share of zeros that is learned as its odds."""

    zero_odds: float | None = None

    discrete = True
    kind: ClassVar[type[Counts]]  # of the counts, whose parameters are ours too

    @property
    def counts(self) -> Counts:
        """The distribution of the counts, with its parameters."""
        return self.kind(**{name: self._parameter(name) for name in self.kind.parameter_names})

    @property
    def zero_share(self) -> float:
        """π = odds/(1 + odds)."""
        return float(expit(self._log_odds()))

    def _log_odds(self) -> float:
        return float(np.log(self._parameter("zero_odds")))

    def _log_shares(self) -> tuple[float, float]:
        """Log π and log(1 - π)."""
        return float(log_expit(self._log_odds())), float(log_expit(-self._log_odds()))

    def validate(self, obs: Observations) -> None:
        super().validate(obs)
        remedy = "Pass counts in y and their base in `exposure`, or use likelihood='tweedie' for amounts."
        refuse_fractions(obs.y, obs, "Counts", remedy)

    def _positive(self, obs: Observations) -> Observations:
        """The positive counts, or all if there are none."""
        return obs.take(obs.y > 0) if np.any(obs.y > 0) else obs

    def _share_of_zeros(self, obs: Observations) -> float:
        """Among the labels, with half a label more of either kind."""
        total, share = float(len(obs.y)), obs.weight / np.mean(obs.weight)
        return (float(share @ (obs.y == 0)) + 0.5) / (total + 1.0)

    def initial_mean(self, obs: Observations) -> float:
        """Of the positive counts: zeros may be of either kind."""
        return self.kind().initial_mean(self._positive(obs))

    def latent_scale(self, obs: Observations) -> float:
        """That of the positive counts, but at least 1."""
        return max(_LEAST_SCALE, self.kind().latent_scale(self._positive(obs)))

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        """Half of the zeros are extra ones; then as without them, but with room for noise."""
        share = 0.5 * self._share_of_zeros(obs)
        own = self.kind().initial_parameters(self._positive(obs))
        least = {name: max(value, _LEAST_DISPERSION) for name, value in own.items()}
        return {"zero_odds": share / (1.0 - share), **least}

    def parameter_bounds(self, obs: Observations) -> dict[str, tuple[float, float]]:
        """Shares from 0.01 % to 99.99 %."""
        return {"zero_odds": (1e-4, 1e4), **self.kind().parameter_bounds(self._positive(obs))}


def log_none(counts: Counts, log_mean: Array) -> Array:
    """Log p(0) of a count with this logarithm of the mean: -μ, or -log(1 + αμ)/α."""
    if isinstance(counts, Poisson):
        return -safe_exp(log_mean)
    dispersion = counts.dispersion or 0.0
    return np.asarray(log_expit(-(log_mean + np.log(dispersion))) / dispersion)


def none_of(obs: Observations) -> Observations:
    """The same rows with a count of 0."""
    return replace(obs, y=np.zeros_like(obs.y))
