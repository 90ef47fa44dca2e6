"""One instance of every likelihood, with labels that suit it."""

from __future__ import annotations

import numpy as np

from flgp.likelihoods import (
    AsymmetricLaplace,
    Bernoulli,
    Beta,
    Binomial,
    Exponential,
    Gamma,
    Gaussian,
    Heteroscedastic,
    HurdleNegativeBinomial,
    HurdlePoisson,
    NegativeBinomial,
    Observations,
    Ordinal,
    Poisson,
    StudentT,
    Tweedie,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)

LIKELIHOODS = [
    Gaussian(noise_variance=0.7),
    Heteroscedastic(noise_variance=0.7, noise_time=0.1, noise_spread=0.8),
    Bernoulli(),
    Bernoulli(link="probit"),
    Binomial(),
    Poisson(),
    NegativeBinomial(dispersion=0.4),
    NegativeBinomial(dispersion=1e-4),
    Gamma(shape=2.5),
    Exponential(),
    StudentT(scale=0.6),
    StudentT(scale=1.5, degrees_of_freedom=1.0),
    Beta(precision=7.0),
    Beta(precision=0.8),
    Ordinal(levels=(0, 1, 2, 5), gaps=(0.4, 3.0)),
    Tweedie(dispersion=0.7),
    Tweedie(dispersion=2.0, power=1.15),
    ZeroInflatedPoisson(zero_odds=0.5),
    ZeroInflatedNegativeBinomial(zero_odds=0.2, dispersion=0.6),
    HurdlePoisson(zero_odds=0.5),
    HurdleNegativeBinomial(zero_odds=0.5, dispersion=0.4),
    HurdleNegativeBinomial(zero_odds=2.0, dispersion=3.0),
    AsymmetricLaplace(scale=0.5, quantile=0.8),
]
COUNTS = (
    "poisson",
    "negative_binomial",
    "zero_inflated_poisson",
    "zero_inflated_negative_binomial",
    "hurdle_poisson",
    "hurdle_negative_binomial",
)


def observations(likelihood, n_rows=40, seed=0, weighted=False):
    """Labels of all sizes, whatever f is, with everything that the likelihood can use."""
    rng = np.random.default_rng(seed)
    known = {name: rng.uniform(0.3, 3.0, n_rows) for name in likelihood.uses}
    if weighted:
        known["weight"] = rng.uniform(0.2, 3.0, n_rows)
    if likelihood.name == "bernoulli":
        y = rng.integers(0, 2, n_rows)
    elif likelihood.name == "binomial":
        known["trials"] = rng.integers(1, 50, n_rows)
        y = rng.integers(0, known["trials"] + 1)
    elif likelihood.name in COUNTS:
        y = np.concatenate([[0, 1, 2, 1000], rng.integers(0, 30, n_rows - 4)])
    elif likelihood.name in ("gamma", "exponential"):
        y = np.exp(rng.normal(size=n_rows))
    elif likelihood.name == "tweedie":
        y = np.exp(rng.normal(size=n_rows)) * (np.arange(n_rows) % 3 > 0)
    elif likelihood.name == "beta":
        y = np.concatenate([[1e-6, 1 - 1e-6], rng.uniform(0.02, 0.98, n_rows - 2)])
    elif likelihood.name == "ordinal":
        y = rng.choice(likelihood.levels, n_rows)
    else:
        y = 2.0 * rng.standard_t(3, n_rows)
    return Observations.of(y, **known)


def label(likelihood):
    """Test id."""
    return repr(likelihood).replace(" ", "")
