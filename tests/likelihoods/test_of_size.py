"""Predictions at any exposure and number of trials, against the densities of `fit` and exact sums."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from flgp.likelihoods import (
    Binomial,
    Exponential,
    Gamma,
    Gaussian,
    HurdleNegativeBinomial,
    HurdlePoisson,
    NegativeBinomial,
    Observations,
    Poisson,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)

EXPOSED = [
    Poisson(),
    NegativeBinomial(dispersion=0.4),
    Gamma(shape=2.5),
    Exponential(),
    ZeroInflatedPoisson(zero_odds=0.5),
    ZeroInflatedNegativeBinomial(zero_odds=0.3, dispersion=0.5),
    HurdlePoisson(zero_odds=0.5),
    HurdleNegativeBinomial(zero_odds=0.3, dispersion=0.5),
]
SIZES = np.array([0.3, 1.0, 7.0])
F = np.array([-0.4, 0.2, 0.9])


def _support(likelihood):
    """Values of y and the measure of each."""
    if likelihood.discrete:
        return np.arange(3000.0), 1.0
    edges = np.geomspace(1e-12, 1e4, 200_001)
    return np.sqrt(edges[1:] * edges[:-1]), np.diff(edges)


@pytest.mark.parametrize("likelihood", EXPOSED, ids=lambda lik: lik.name)
def test_exposed_moments_and_cdf_are_those_of_the_fitted_density(likelihood):
    y, measure = _support(likelihood)
    given = likelihood.of_size(SIZES)
    assert given.discrete == likelihood.discrete
    mean, variance = given.conditional_mean(F), given.conditional_variance(F)
    for i, (size, f) in enumerate(zip(SIZES, F, strict=True)):
        obs = Observations.of(y, exposure=np.full(len(y), size))
        mass = np.exp(likelihood.log_density(obs, np.full(len(y), f))) * measure
        assert mass.sum() == pytest.approx(1.0, abs=1e-6)
        assert mean[i] == pytest.approx(mass @ y, rel=1e-6)
        assert variance[i] == pytest.approx(mass @ (y - mass @ y) ** 2, rel=1e-5)
        at = y[np.searchsorted(np.cumsum(mass), 0.7)]
        assert given.cdf(np.full(3, at), F)[i] == pytest.approx(mass[y <= at].sum(), abs=2e-4)
    one = Observations.of([2.0, 3.0, 1.0])
    expected = likelihood.log_density(Observations.of(one.y, exposure=SIZES), F)
    np.testing.assert_allclose(given.log_density(one, F), expected, rtol=1e-12)


@pytest.mark.parametrize("likelihood", [*EXPOSED, Binomial()], ids=lambda lik: lik.name)
def test_predictive_moments_are_integrals_over_f(likelihood):
    size = np.array([1.0, 2.0, 40.0]) if likelihood.name == "binomial" else SIZES
    spread = np.array([0.0, 0.3, 1.2])
    given = likelihood.of_size(size)
    node = np.linspace(-9, 9, 4001)[:, None]
    share = np.exp(-0.5 * node[:, 0] ** 2) / np.exp(-0.5 * node**2).sum()
    f = F + spread * node
    mean = share @ given.conditional_mean(f)
    between = share @ (given.conditional_mean(f) - mean) ** 2
    variance = share @ given.conditional_variance(f) + between
    np.testing.assert_allclose(given.predictive_mean(F, spread**2), mean, rtol=1e-6)
    np.testing.assert_allclose(given.predictive_variance(F, spread**2), variance, rtol=1e-6)


@pytest.mark.parametrize("likelihood", [*EXPOSED, Binomial()], ids=lambda lik: lik.name)
def test_draws_have_the_conditional_moments(likelihood):
    size = np.array([[1.0], [3.0], [25.0]])
    f = np.repeat(F[:, None], 100_000, axis=1)
    y = likelihood.of_size(size).sample(f, np.random.default_rng(0))
    mean = likelihood.of_size(size).conditional_mean(f)[:, 0]
    variance = likelihood.of_size(size).conditional_variance(f)[:, 0]
    np.testing.assert_allclose(y.mean(axis=1), mean, atol=5 * np.sqrt(variance.max() / 1e5))
    np.testing.assert_allclose(y.var(axis=1), variance, rtol=0.05)


def test_successes_are_binomial():
    trials, f = np.array([1.0, 4.0, 60.0]), F
    given = Binomial().of_size(trials)
    np.testing.assert_allclose(given.conditional_mean(f), binom.mean(trials, expit(f)))
    np.testing.assert_allclose(given.conditional_variance(f), binom.var(trials, expit(f)))
    for y in (-1.0, 0.0, 1.0, 2.5, 4.0, 30.0, 60.0, 99.0):
        np.testing.assert_allclose(given.cdf(np.full(3, y), f), binom.cdf(y, trials, expit(f)), atol=1e-12)


def test_one_trial_and_unit_exposure_are_the_default():
    mean, variance = np.array([-30.0, -1.0, 0.0, 2.0, 30.0]), np.array([0.1, 4.0, 0.0, 100.0, 1.0])
    for likelihood in (*EXPOSED, Binomial()):
        given = likelihood.of_size(np.ones(5))
        for name in ("predictive_mean", "predictive_variance"):
            found, plain = getattr(given, name)(mean, variance), getattr(likelihood, name)(mean, variance)
            np.testing.assert_allclose(found, plain, rtol=1e-7, atol=1e-8)


def test_many_trials_leave_only_the_variance_of_the_probability():
    trials, mean, variance = 1e9, -6.0, 0.04
    node, share = np.polynomial.hermite_e.hermegauss(60)
    p = expit(mean + np.sqrt(variance) * node)
    share = share / share.sum()
    exact = trials * share @ (p * (1 - p)) + trials**2 * share @ (p - share @ p) ** 2
    found = Binomial().of_size(np.array(trials)).predictive_variance(np.array(mean), np.array(variance))
    assert float(found) == pytest.approx(exact, rel=1e-6)
    drawn = Binomial().of_size(np.array([1e30])).sample(np.zeros(1), np.random.default_rng(0))
    assert drawn == pytest.approx(5e17, rel=1e-3)  # cut off at what a 64-bit count can hold


def test_a_likelihood_without_sizes_says_what_to_define():
    with pytest.raises(NotImplementedError, match="define `of_size`"):
        Gaussian(noise_variance=1.0).of_size(np.ones(2))
