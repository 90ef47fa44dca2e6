"""Successes among a known number of trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betaln

from .._typing import Array
from ._base import Derivatives, Observations, refuse
from ._logistic import logit_derivatives, logit_kernel
from ._observations import refuse_fractions
from ._proportion import Proportion


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
        """Refuse counts that are not whole, negative, or larger than their trials."""
        super().validate(obs)
        refuse_fractions(obs.y, obs, "Binomial successes", "Give counts in y, not proportions.")
        refuse_fractions(obs.trials, obs, "Binomial trials", "Give the number of trials of each row.")
        remedy = "Give the number of trials of each row in `trials`."
        refuse(obs.y > obs.trials, obs, "Successes must not exceed trials", remedy)
