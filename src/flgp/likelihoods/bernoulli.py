"""Two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import log_expit, log_ndtr, ndtr, ndtri

from .._stored import stored
from .._typing import Array
from ._base import Derivatives, Observations, Tilted, refuse
from ._probit import probit_derivatives, probit_tilted
from ._proportion import Proportion
from .logistic import logistic_tilted, logit_derivatives


@stored("Bernoulli likelihood")
@dataclass(frozen=True)
class Bernoulli(Proportion):
    """P(y = 1 | f) = l(f), y in {0, 1}.

    Parameters
    ----------
    link : "logit", l(f) = 1/(1 + e^-f), or "probit", l(f) = Φ(f)

    Examples
    --------
    >>> from flgp.likelihoods import Bernoulli
    >>> float(Bernoulli(link="probit").predictive_mean(mean=1.0, variance=3.0).round(4))  # Φ(1/√(1 + 3))
    0.6915
    """

    link: Literal["logit", "probit"] = "logit"

    name: ClassVar[str] = "bernoulli"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.link not in ("logit", "probit"):
            raise ValueError(f"link of Bernoulli must be 'logit' or 'probit', not {self.link!r}.")

    def log_density(self, obs: Observations, f: Array) -> Array:
        signed = _sign(obs) * f
        return np.asarray(log_expit(signed) if self.link == "logit" else log_ndtr(signed))

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """In closed form, accurate in both tails."""
        if self.link == "logit":
            return logit_derivatives(obs.y, 1.0 - obs.y, f)
        return probit_derivatives(_sign(obs), f)

    def tilted(self, obs: Observations, mean: Array, variance: Array) -> Tilted:
        """In closed form for rows of unit weight, by quadrature for the others."""
        return self._with_weights(self._tilted_once, obs, mean, variance)

    def _tilted_once(self, obs: Observations, mean: Array, variance: Array) -> Tilted:
        closed_form = logistic_tilted if self.link == "logit" else probit_tilted
        return closed_form(_sign(obs), mean, variance)

    def conditional_mean(self, f: Array) -> Array:
        return super().conditional_mean(f) if self.link == "logit" else np.asarray(ndtr(f))

    def predictive_mean(self, mean: Array, variance: Array) -> Array:
        if self.link == "logit":
            return super().predictive_mean(mean, variance)
        return np.asarray(ndtr(mean / np.sqrt(1.0 + variance)))

    def validate(self, obs: Observations) -> None:
        super().validate(obs)
        remedy = "Code the two classes as 0 and 1, or use likelihood='binomial' with `trials` for counts."
        refuse((obs.y != 0) & (obs.y != 1), obs, "Bernoulli labels must be 0 or 1", remedy)

    def latent_scale(self, obs: Observations) -> float:
        """The standard deviation of the distribution whose cdf is the link."""
        return super().latent_scale(obs) if self.link == "logit" else 1.0

    def _link(self, rate: float) -> float:
        return super()._link(rate) if self.link == "logit" else float(ndtri(rate))


def _sign(obs: Observations) -> Array:
    """-1 for y = 0 and 1 for y = 1."""
    return 2.0 * obs.y - 1.0
