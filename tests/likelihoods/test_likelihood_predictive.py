"""Predictive moments in closed form against brute-force integration over f."""

from __future__ import annotations

import numpy as np
import pytest
from likelihood_cases import LIKELIHOODS, label
from scipy.integrate import trapezoid

from flgp.likelihoods import Bernoulli, Poisson

EVERY = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=label)


def over_gaussian(function, mean, variance):
    """Trapezoid rule over ±12 standard deviations: exact to rounding for smooth functions."""
    x = np.linspace(-12, 12, 4001)
    f = mean + np.sqrt(variance) * x
    return trapezoid(function(f) * np.exp(-0.5 * x**2), x) / np.sqrt(2 * np.pi)


@EVERY
@pytest.mark.parametrize("mean", [-2.0, 0.3, 1.5])
@pytest.mark.parametrize("variance", [0.0, 0.04, 1.0, 9.0])
def test_mean_and_variance(likelihood, mean, variance):
    got_mean = likelihood.predictive_mean(np.array([mean]), np.array([variance]))[0]
    got_variance = likelihood.predictive_variance(np.array([mean]), np.array([variance]))[0]
    want_mean = over_gaussian(likelihood.conditional_mean, mean, variance)
    np.testing.assert_allclose(got_mean, want_mean, rtol=1e-8, atol=1e-8)
    if getattr(likelihood, "degrees_of_freedom", 4.0) <= 2.0:
        assert np.isinf(got_variance)
        return
    within = over_gaussian(likelihood.conditional_variance, mean, variance)
    between = over_gaussian(lambda f: (likelihood.conditional_mean(f) - want_mean) ** 2, mean, variance)
    np.testing.assert_allclose(got_variance, within + between, rtol=1e-6, atol=1e-8)


@EVERY
def test_shapes_broadcast(likelihood):
    mean, variance = np.zeros((3, 4)), np.array(0.5)
    assert likelihood.predictive_mean(mean, variance).shape == (3, 4)
    assert likelihood.predictive_variance(mean, variance).shape == (3, 4)


def test_it_is_the_integral_and_not_the_link_of_the_mean():
    mean, variance = np.array([2.0]), np.array([4.0])
    assert Bernoulli().predictive_mean(mean, variance)[0] < Bernoulli().conditional_mean(mean)[0] - 0.05
    np.testing.assert_allclose(Poisson().predictive_mean(mean, variance), np.exp(4.0))
