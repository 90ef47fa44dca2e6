"""Quantiles of predictive distributions: against the definition, and in few steps."""

from __future__ import annotations

import numpy as np
import pytest

from flgp.likelihoods import Beta, Gamma, HurdlePoisson, Poisson, StudentT, Tweedie
from flgp.process.draws_field import DrawsField
from flgp.process.quantile import predictive_quantile
from flgp.terms.base import View

CASES = {
    "poisson": Poisson(),
    "hurdle": HurdlePoisson(zero_odds=0.3),
    "gamma": Gamma(shape=2.0),
    "tweedie": Tweedie(dispersion=1.5),
    "student_t": StudentT(scale=0.5),
}


class Counted:
    """A likelihood that counts how often its distribution function is asked."""

    def __init__(self, likelihood):
        self.likelihood, self.calls = likelihood, 0

    def __getattr__(self, name):
        return getattr(self.likelihood, name)

    def cdf(self, y, f):
        self.calls += 1
        return self.likelihood.cdf(y, f)


@pytest.mark.parametrize("level", [0.025, 0.5, 0.975])
@pytest.mark.parametrize("name", CASES)
def test_it_is_the_smallest_value_with_enough_probability(name, level):
    likelihood = Counted(CASES[name])
    nodes = np.linspace(-2.0, 2.0, 21)[:, None]
    shares = np.exp(-0.5 * nodes[:, 0] ** 2)
    shares /= shares.sum()
    center = np.array([0.0, 1.0, 3.0, 12.0] if name != "student_t" else [0.0, -5.0, 1e6, 1e-9])
    latent = [(center + 0.3 * nodes, shares), (center + 0.2 + 0.8 * nodes, shares)]
    parts = [(0.7, likelihood), (0.3, likelihood)]
    found = predictive_quantile(parts, latent, level)
    assert likelihood.calls < 2 * 30  # bisection takes up to 60 steps

    def probability(y):
        return sum(
            weight * (own @ CASES[name].cdf(np.broadcast_to(y, values.shape), values))
            for (weight, _), (values, own) in zip(parts, latent, strict=True)
        )

    assert (probability(found + 1e-9 * np.abs(found)) >= level - 1e-9).all()
    below = found - 1.0 if likelihood.discrete else found - 1e-5 * (1e-9 + np.abs(found - center))
    assert (probability(below) < level).all()


def test_proportions_stay_below_one():
    """Labels next to 1: rounding put both ends above 1, and the lower one above the other."""
    f = np.linspace(15.0, 35.0, 41)
    latent = [(f + np.linspace(-3.0, 3.0, 9)[:, None], np.full(9, 1 / 9))]
    low, high = (predictive_quantile([(1.0, Beta(precision=5000.0))], latent, q) for q in (0.025, 0.975))
    assert (high <= 1.0).all()
    assert (low <= high + 1e-15).all()


def test_the_mean_of_few_heavy_tailed_draws_is_no_farther_out_than_cantelli_allows():
    """Twenty draws of a log rate: values between two draws are no part of their mean."""
    f = np.append(np.linspace(0.0, 1.0, 19), 12.0)
    field = DrawsField((), f, ())
    values = field.quantiles(View((), 1))
    assert np.isin(values, f).all()
    shares = np.full(len(values), 1.0 / len(values))
    high = predictive_quantile([(1.0, Poisson())], [(values, shares)], 0.975)
    mean, std = np.exp(f).mean(), np.exp(f).std()
    assert (mean <= high + np.sqrt(0.025 / 0.975) * std).all()
