"""Successes among a known number of trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betainc, betaln

from .._stored import stored
from .._typing import Array
from ._base import Derivatives, Likelihood, Observations, refuse
from ._proportion import Proportion
from .logistic import logistic_tilted, logit_derivatives, logit_kernel
from .observations import refuse_fractions

# NumPy draws 64-bit counts.
_MOST_TRIALS = 1e18


@stored("binomial likelihood")
@dataclass(frozen=True)
class Binomial(Proportion):
    """y | f ~ Binomial(trials, σ(f)), with σ the logistic function. Predictions are for one trial.

    Examples
    --------
    >>> from flgp.likelihoods import Binomial, Observations
    >>> obs = Observations.of([3.0], trials=[4.0])
    >>> Binomial().log_density(obs, f=0.0).round(4)  # log(4/16)
    array([-1.3863])
    """

    name: ClassVar[str] = "binomial"
    uses: ClassVar[tuple[str, ...]] = ("trials",)

    def log_density(self, obs: Observations, f: Array) -> Array:
        """Log binomial coefficient + y log σ(f) + (trials - y) log σ(-f)."""
        failures = obs.trials - obs.y
        log_coefficient = -np.log1p(obs.trials) - betaln(obs.y + 1.0, failures + 1.0)
        return log_coefficient + logit_kernel(obs.y, failures, f)

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """In closed form; W = trials · σ(f) σ(-f)."""
        return logit_derivatives(obs.y, obs.trials - obs.y, f)

    def validate(self, obs: Observations) -> None:
        """Refuse counts that are fractional, negative, or larger than their trials."""
        super().validate(obs)
        refuse_fractions(obs.y, obs, "Binomial successes", "Pass counts in y, not proportions.")
        remedy = "Pass the number of trials of each row in `trials`."
        refuse(obs.y > obs.trials, obs, "Successes must not exceed trials", remedy)

    def validate_known(self, obs: Observations, remedy: str) -> None:
        """Refuse trials that are not whole."""
        super().validate_known(obs, remedy)
        refuse_fractions(obs.trials, obs, "Binomial trials", "Pass the number of trials of each row.")

    def of_size(self, size: Array) -> Likelihood:
        """The distribution of the successes among `size` trials."""
        return Successes(np.asarray(size, dtype=float))


@dataclass(frozen=True, eq=False)
class Successes(Binomial):
    """Predictions of the successes among any number of trials (broadcast against f), which share one f."""

    trials: Array

    def conditional_mean(self, f: Array) -> Array:
        """Trials · σ(f)."""
        return self.trials * super().conditional_mean(f)

    def conditional_variance(self, f: Array) -> Array:
        """Trials · σ(f) σ(-f)."""
        return self.trials * super().conditional_mean(f) * super().conditional_mean(-np.asarray(f))

    def predictive_mean(self, mean: Array, variance: Array) -> Array:
        """Trials · E[σ(f)]."""
        return self.trials * super().predictive_mean(mean, variance)

    def predictive_variance(self, mean: Array, variance: Array) -> Array:
        """Here n E[σ(f) σ(-f)] + n² Var[σ(f)], which is the same for f and -f.

        With Z = E[σ(f)] the first expectation is Z' = ∂Z/∂mean, because σ' = σ(f) σ(-f), and the variance is
        Z - Z' - Z². The sign of the mean with the smaller Z loses fewer digits.
        """
        tilted = logistic_tilted(np.asarray(1.0), -np.abs(mean), variance)
        share = np.exp(tilted.log_normalizer)
        within = share * tilted.gradient
        between = np.maximum(share - within - share**2, 0.0)
        return self.trials * within + self.trials**2 * between

    def cdf(self, y: Array, f: Array) -> Array:
        """The regularised incomplete beta function I_q(trials - y, y + 1), q = σ(-f)."""
        count = np.clip(np.floor(y), 0.0, self.trials)
        left = np.maximum(self.trials - count, 1.0)
        below = betainc(left, count + 1.0, super().conditional_mean(-np.asarray(f)))
        return np.where(y >= self.trials, 1.0, np.where(y >= 0.0, below, 0.0))

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        """Counts of successes; trials too large for 64-bit counts are clipped."""
        trials = np.minimum(self.trials, _MOST_TRIALS).astype(np.int64)
        return rng.binomial(trials, super().conditional_mean(f)).astype(float)
