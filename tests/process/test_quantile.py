"""Quantiles of predictive distributions: against the definition, and in few steps."""

from __future__ import annotations

import numpy as np
import pytest

from flgp.likelihoods import Beta, Gamma, HurdlePoisson, Poisson, StudentT, Tweedie, ZeroInflatedPoisson
from flgp.process.draws_field import DrawsField
from flgp.process.quantile import mixture_quantile, predictive_quantiles
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
    found = predictive_quantiles(parts, latent, [level])[:, 0]
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
    low, high = predictive_quantiles([(1.0, Beta(precision=5000.0))], latent, (0.025, 0.975)).T
    assert (high <= 1.0).all()
    assert (low <= high + 1e-15).all()


def test_the_mean_of_few_heavy_tailed_draws_is_no_farther_out_than_cantelli_allows():
    """Twenty draws of a log rate: values between two draws are no part of their mean."""
    f = np.append(np.linspace(0.0, 1.0, 19), 12.0)
    field = DrawsField((), f, ())
    values = field.quantiles(View((), 1))
    assert np.isin(values, f).all()
    shares = np.full(len(values), 1.0 / len(values))
    high = predictive_quantiles([(1.0, Poisson())], [(values, shares)], [0.975])[:, 0]
    mean, std = np.exp(f).mean(), np.exp(f).std()
    assert (mean <= high + np.sqrt(0.025 / 0.975) * std).all()


def test_counts_that_no_two_numbers_lie_between_are_found_at_once():
    """Above 2^53 neighbours differ by more than 1: the search went on until its last step."""
    likelihood = Counted(ZeroInflatedPoisson(zero_odds=1e-3))
    values = np.log(1.4e17) + np.linspace(-0.3, 0.3, 9)[:, None]
    found = predictive_quantiles([(1.0, likelihood)], [(values, np.full(9, 1 / 9))], (0.025, 0.975))
    assert likelihood.calls < 80
    assert (np.diff(found) > 1e16).all()


def test_a_row_has_the_same_interval_whatever_else_is_asked():
    """An end was as accurate as the row that took longest needed: to 1e-3 where a tail is heavy."""
    nodes = np.linspace(-3.0, 3.0, 31)[:, None]
    f = np.log(1e-9) + nodes * [6.0, 0.2, 2.0, 4.0]
    shares = np.exp(-0.5 * nodes[:, 0] ** 2)
    shares /= shares.sum()

    def ends(columns):
        parts = [(1.0, Tweedie(dispersion=1e-6))]
        return predictive_quantiles(parts, [(f[:, columns], shares)], (0.5, 0.975))

    alone = np.concatenate([ends([i]) for i in range(4)])
    assert (alone[:, 1] > 0).all()
    np.testing.assert_allclose(alone, ends([0, 1, 2, 3]), rtol=1e-6, atol=1e-30)


def test_parts_without_spread_beside_each_other():
    """One far from the middle is above or below it; NumPy does not warn."""
    mean = np.array([[0.0], [1e10], [2e10]])
    found = mixture_quantile([(1.0, mean, np.zeros((3, 1)))], 0.5)
    assert found[0] == pytest.approx(1e10)
