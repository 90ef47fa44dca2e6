"""Starting values, bounds and weights."""

from __future__ import annotations

import numpy as np
import pytest
from likelihood_cases import LIKELIHOODS, label, observations
from scipy.optimize import minimize_scalar

from flgp.likelihoods import (
    AsymmetricLaplace,
    Bernoulli,
    Beta,
    Binomial,
    Exponential,
    Gamma,
    Gaussian,
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

EVERY = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=label)


@EVERY
def test_starts_are_within_bounds(likelihood):
    obs = observations(likelihood, weighted=True)
    start, bounds = likelihood.initial_parameters(obs), likelihood.parameter_bounds(obs)
    assert tuple(start) == tuple(bounds) == likelihood.parameter_names
    for name, value in start.items():
        low, high = bounds[name]
        assert 0 < low < value < high < np.inf
    assert np.isfinite(likelihood.initial_mean(obs))
    assert 0 < likelihood.latent_scale(obs) < np.inf


@pytest.mark.parametrize(
    "likelihood",
    [
        Gaussian(noise_variance=1.0),
        Bernoulli(),
        Bernoulli(link="probit"),
        Binomial(),
        Poisson(),
        Exponential(),
    ],
    ids=label,
)
def test_initial_mean_maximises_the_likelihood(likelihood):
    obs = observations(likelihood, weighted=True)
    if likelihood.name == "exponential":
        obs = Observations.of(obs.y, weight=obs.weight)

    def loss(f):
        return -obs.weight @ likelihood.log_density(obs, np.full(len(obs.y), f))

    best = minimize_scalar(loss, bounds=(-10, 10), method="bounded", options={"xatol": 1e-9}).x
    np.testing.assert_allclose(likelihood.initial_mean(obs), best, atol=1e-5)


@pytest.mark.parametrize(
    ("likelihood", "y"),
    [
        (Gaussian(), 0.0),
        (Gaussian(), 7.0),
        (StudentT(), 0.0),
        (StudentT(), -3.0),
        (Bernoulli(), 0.0),
        (Bernoulli(), 1.0),
        (Bernoulli(link="probit"), 1.0),
        (Binomial(), 0.0),
        (Binomial(), 5.0),
        (Poisson(), 0.0),
        (NegativeBinomial(), 0.0),
        (NegativeBinomial(), 4.0),
        (Gamma(), 2.0),
        (Exponential(), 1e-8),
        (Beta(), 0.3),
        (Ordinal(levels=(0, 1, 2)), 1.0),
        (Tweedie(), 0.0),
        (Tweedie(), 3.0),
        (ZeroInflatedPoisson(), 0.0),
        (ZeroInflatedNegativeBinomial(), 4.0),
        (HurdlePoisson(), 0.0),
        (HurdleNegativeBinomial(), 4.0),
        (AsymmetricLaplace(), 7.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("n_rows", [1, 6])
def test_constant_labels_have_finite_starts(likelihood, y, n_rows):
    trials = np.full(n_rows, 5.0) if likelihood.name == "binomial" else None
    obs = Observations.of(np.full(n_rows, y), trials=trials)
    likelihood.validate(obs)
    assert abs(likelihood.initial_mean(obs)) < 20
    assert 0 < likelihood.latent_scale(obs) < 100
    for name, value in likelihood.initial_parameters(obs).items():
        low, high = likelihood.parameter_bounds(obs)[name]
        assert 0 < low < value < high < np.inf


def test_starts_follow_the_units_of_y(rng):
    y = rng.normal(3.0, 2.0, 200)
    for likelihood, power in ((Gaussian(), 2), (StudentT(), 1), (AsymmetricLaplace(quantile=0.9), 1)):
        small, large = Observations.of(y), Observations.of(1e4 * y)
        np.testing.assert_allclose(likelihood.initial_mean(large), 1e4 * likelihood.initial_mean(small))
        (name,) = likelihood.parameter_names
        start = likelihood.initial_parameters(small)[name]
        np.testing.assert_allclose(likelihood.initial_parameters(large)[name], 1e4**power * start)


def test_outliers_do_not_move_the_start_of_student_t(rng):
    y = rng.normal(size=100)
    spoiled = y.copy()
    spoiled[:5] = 1e6
    clean, dirty = Observations.of(y), Observations.of(spoiled)
    assert abs(StudentT().initial_mean(dirty) - StudentT().initial_mean(clean)) < 0.3
    assert StudentT().latent_scale(dirty) < 1.5 * StudentT().latent_scale(clean)


def test_overdispersion_shows_in_the_start(rng):
    poisson = Observations.of(rng.poisson(5.0, 2000))
    spread = Observations.of(NegativeBinomial(dispersion=1.0).sample(np.full(2000, np.log(5.0)), rng))
    assert NegativeBinomial().initial_parameters(poisson)["dispersion"] < 0.05
    np.testing.assert_allclose(NegativeBinomial().initial_parameters(spread)["dispersion"], 0.5, rtol=0.3)
    gamma = Observations.of(rng.gamma(4.0, 1.0, 2000))
    np.testing.assert_allclose(Gamma().initial_parameters(gamma)["shape"], 8.0, rtol=0.2)


def test_gaussian_weights_are_precisions(rng):
    obs = Observations.of(rng.normal(size=5), weight=rng.uniform(0.5, 2, 5), noise_scale=rng.uniform(1, 2, 5))
    absorbed = Gaussian().absorb_weights(obs)
    np.testing.assert_array_equal(absorbed.weight, 1.0)
    np.testing.assert_allclose(absorbed.noise_scale, obs.noise_scale / obs.weight)
    assert Poisson().absorb_weights(obs) is obs


def test_parameters_are_free_until_set():
    assert Gaussian().free_parameters == ("noise_variance",)
    assert Gaussian(noise_variance=1.0).free_parameters == ()
    assert StudentT().with_parameters(scale=2.0) == StudentT(scale=2.0)
    assert Exponential().parameter_names == ()
    assert Exponential().shape == 1.0
