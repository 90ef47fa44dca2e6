"""Densities are normalised over y and have the stated moments; draws follow them."""

from __future__ import annotations

import numpy as np
import pytest
from likelihood_cases import COUNTS, LIKELIHOODS, label
from scipy import stats
from scipy.special import expit, ive

from flgp.likelihoods import (
    Beta,
    Binomial,
    Gamma,
    HurdleNegativeBinomial,
    HurdlePoisson,
    Likelihood,
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
# Numbers so close to 1 as the beta density needs do not exist: it is compared with SciPy's instead.
IN_A_GRID = pytest.mark.parametrize("likelihood", [k for k in LIKELIHOODS if k.name != "beta"], ids=label)


def support(likelihood):
    """Points and integration weights over all y, for moderate f."""
    if likelihood.name in ("bernoulli", "binomial"):
        return np.array([0.0, 1.0]), np.ones(2)
    if likelihood.name in COUNTS:
        return np.arange(2000.0), np.ones(2000)
    if likelihood.name == "ordinal":
        return np.array(likelihood.levels), np.ones(len(likelihood.levels))
    node, weight = np.polynomial.legendre.leggauss(500)
    if likelihood.name == "tweedie":
        root = 0.5 * 8.0 * (node + 1.0)
        return np.append(0.0, root**2), np.append(1.0, 8.0 * weight * root)
    if likelihood.name == "asymmetric_laplace":
        # Two pieces: the density has a kink at f, which is not known here but is one of three values.
        edges = np.array([-60.0, -1.3, 0.0, 0.9, 60.0])
        half = 0.5 * np.diff(edges)[:, None]
        return (edges[:-1, None] + half * (node + 1.0)).ravel(), (half * weight).ravel()
    if likelihood.name in ("gamma", "exponential"):
        log_y = 40.0 * node - 30.0
        return np.exp(log_y), 40.0 * weight * np.exp(log_y)
    angle = 0.5 * np.pi * node
    return np.tan(angle), 0.5 * np.pi * weight / np.cos(angle) ** 2


@IN_A_GRID
@pytest.mark.parametrize("f", [-1.3, 0.0, 0.9])
def test_total_mean_and_variance(likelihood, f):
    y, width = support(likelihood)
    at = np.full(len(y), f)
    density = width * np.exp(likelihood.log_density(Observations.of(y), at))
    np.testing.assert_allclose(density.sum(), 1.0, rtol=1e-8)
    if getattr(likelihood, "degrees_of_freedom", 4.0) <= 2.0:
        assert np.all(np.isinf(likelihood.conditional_variance(at)))
        return
    mean = density @ y
    if likelihood.name == "asymmetric_laplace":  # f is a quantile
        np.testing.assert_allclose(density[y < f].sum(), likelihood.quantile, rtol=1e-8)
        np.testing.assert_allclose(likelihood.conditional_variance(at), density @ (y - mean) ** 2, rtol=1e-7)
        return
    np.testing.assert_allclose(likelihood.conditional_mean(at), mean, rtol=1e-8, atol=1e-9)
    # The variance of Student's t converges slowly in this rule.
    tolerance = 2e-2 if likelihood.name == "student_t" else 1e-7
    np.testing.assert_allclose(likelihood.conditional_variance(at), density @ (y - mean) ** 2, rtol=tolerance)


@pytest.mark.parametrize(
    "likelihood", [k for k in LIKELIHOODS if getattr(k, "degrees_of_freedom", 4.0) > 2.0], ids=label
)
def test_draws_have_these_moments(likelihood, rng):
    f = np.full(40_000, 0.4)
    y = likelihood.sample(f, rng)
    assert y.shape == f.shape
    likelihood.validate(Observations.of(y))
    error = np.sqrt(likelihood.conditional_variance(f[:1])[0] / len(f))
    if likelihood.name == "asymmetric_laplace":
        assert abs(np.mean(y < f) - likelihood.quantile) < 0.01
    else:
        assert abs(y.mean() - likelihood.conditional_mean(f[:1])[0]) < 4 * error
    if likelihood.name != "student_t":
        np.testing.assert_allclose(y.var(), likelihood.conditional_variance(f[:1])[0], rtol=0.06)


def test_against_scipy(rng):
    f = rng.normal(size=20)
    exposure = rng.uniform(0.5, 4, 20)
    rate = exposure * np.exp(f)
    counts = rng.poisson(3 * rate).astype(float)
    obs = Observations.of(counts, exposure=exposure)
    np.testing.assert_allclose(Poisson().log_density(obs, f), stats.poisson.logpmf(counts, rate), rtol=1e-10)
    got = NegativeBinomial(dispersion=0.3).log_density(obs, f)
    want = stats.nbinom.logpmf(counts, 1 / 0.3, 1 / (1 + 0.3 * rate))
    np.testing.assert_allclose(got, want, rtol=1e-9)
    y = rng.gamma(2.0, 1.0, 20)
    got = Gamma(shape=3.0).log_density(Observations.of(y, exposure=exposure), f)
    np.testing.assert_allclose(got, stats.gamma.logpdf(y, 3.0, scale=rate / 3.0), rtol=1e-9)
    trials = rng.integers(1, 30, 20)
    y = rng.integers(0, trials + 1).astype(float)
    got = Binomial().log_density(Observations.of(y, trials=trials), f)
    np.testing.assert_allclose(got, stats.binom.logpmf(y, trials, 1 / (1 + np.exp(-f))), rtol=1e-9)
    y, scale = rng.normal(size=20), rng.uniform(0.5, 2, 20)
    got = StudentT(scale=0.5, degrees_of_freedom=3.0).log_density(Observations.of(y, noise_scale=scale), f)
    np.testing.assert_allclose(got, stats.t.logpdf(y, 3.0, loc=f, scale=0.5 * np.sqrt(scale)), rtol=1e-10)


def test_new_ones_against_scipy(rng):
    f, exposure = rng.normal(size=20), rng.uniform(0.5, 4, 20)
    rate = exposure * np.exp(f)
    y, mean = rng.uniform(0.01, 0.99, 20), expit(f)
    beta = Beta(precision=3.0)
    want = stats.beta(3.0 * mean, 3.0 * (1 - mean))
    np.testing.assert_allclose(beta.log_density(Observations.of(y), f), want.logpdf(y), rtol=1e-10)
    np.testing.assert_allclose(beta.conditional_variance(f), want.var(), rtol=1e-12)
    counts = rng.poisson(2 * rate).astype(float)
    obs = Observations.of(counts, exposure=exposure)
    for inflated, hurdle, plain in (
        (ZeroInflatedPoisson(zero_odds=0.25), HurdlePoisson(zero_odds=0.25), stats.poisson(rate)),
        (
            ZeroInflatedNegativeBinomial(zero_odds=0.25, dispersion=0.3),
            HurdleNegativeBinomial(zero_odds=0.25, dispersion=0.3),
            stats.nbinom(1 / 0.3, 1 / (1 + 0.3 * rate)),
        ),
    ):
        np.testing.assert_allclose(inflated.zero_share, 0.2)
        want = np.log(0.2 * (counts == 0) + 0.8 * plain.pmf(counts))
        np.testing.assert_allclose(inflated.log_density(obs, f), want, rtol=1e-9)
        want = np.log(np.where(counts == 0, 0.2, 0.8 * plain.pmf(counts) / plain.sf(0)))
        np.testing.assert_allclose(hurdle.log_density(obs, f), want, rtol=1e-9)


@pytest.mark.parametrize("precision", [0.5, 10.0])
def test_beta_labels_at_an_end_are_probabilities(precision):
    # SciPy's P(Y ≤ 1e-15); at the other end the same with f turned, up to the distance of numbers near 1.
    f = np.linspace(-9.0, 2.0, 12)
    beta, shape = Beta(precision=precision), precision * expit(f)
    want = stats.beta(shape, precision - shape).logcdf(1e-15)
    for y in (1e-15, 1e-40):
        np.testing.assert_allclose(beta.log_density(Observations.of(np.full(12, y)), f), want, rtol=1e-9)
    for y in (1.0 - 1e-15, 1.0 - 1e-16):
        got = beta.log_density(Observations.of(np.full(12, y)), -f)
        np.testing.assert_allclose(got, want, rtol=1e-3)


def test_beta_derivatives_at_the_ends():
    beta, step = Beta(precision=6.0), 1e-4
    f = np.array([-6.0, -2.0, 0.5, 1.5, 3.0, 7.0])
    obs = Observations.of(np.array([1e-15, 1e-20, 1e-15, 1.0 - 1e-16, 1.0 - 1e-15, 1.0 - 1e-15]))
    up, down, here = (beta.derivatives(obs, f + k * step) for k in (1, -1, 0))
    slope = (beta.log_density(obs, f + step) - beta.log_density(obs, f - step)) / (2 * step)
    np.testing.assert_allclose(here.gradient, slope, rtol=1e-6)
    np.testing.assert_allclose(here.curvature, -(up.gradient - down.gradient) / (2 * step), rtol=1e-6)
    np.testing.assert_allclose(here.third, -(up.curvature - down.curvature) / (2 * step), rtol=1e-5)
    (own,) = beta.parameter_derivatives(obs, f)
    (numeric,) = Likelihood.parameter_derivatives(beta, obs, f)
    for mine, wanted in zip(own, numeric, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5)


def test_beta_draws_beyond_numbers_have_the_density_they_are_given():
    # The score of draws has mean 0 under their own density, also where most of them are at an end.
    beta, f = Beta(precision=10.0), np.full(200_000, -6.0)
    y = beta.sample(f, np.random.default_rng(0))
    assert np.mean(y <= 1e-15) > 0.3
    score = beta.derivatives(Observations.of(y), f).gradient
    assert abs(score.mean()) < 4.0 * score.std() / np.sqrt(len(y))


def test_tweedie_is_a_poisson_number_of_gamma_amounts():
    """For p = 3/2 the amounts are exponential and their sum has a Bessel function for density."""
    y, f, phi = np.array([1e-6, 0.3, 2.0, 40.0, 3000.0]), np.array([0.0, -1.0, 0.5, 3.0, 8.0]), 0.8
    rate, scale = 2 * np.exp(0.5 * f) / phi, 0.5 * phi * np.exp(0.5 * f)
    root = 2 * np.sqrt(rate * y / scale)
    want = np.log(ive(1, root)) + root - rate - y / scale + 0.5 * np.log(rate / (scale * y))
    got = Tweedie(dispersion=phi).log_density(Observations.of(y), f)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    many = Tweedie(dispersion=1e-7).log_density(Observations.of([1.0]), np.zeros(1))  # nearly Gaussian
    np.testing.assert_allclose(many, -0.5 * np.log(2 * np.pi * 1e-7), atol=1e-4)


def test_ordinal_probabilities_and_levels():
    likelihood = Ordinal(levels=(1, 2, 7), gaps=(1.5,))
    f = np.array([-1.0, 0.3])
    cuts = likelihood.cut_points
    np.testing.assert_allclose(np.diff(cuts), 1.5)
    below = expit(cuts - f[:, None])
    want = np.diff(np.column_stack([np.zeros(2), below, np.ones(2)]), axis=1)
    np.testing.assert_allclose(likelihood.conditional_probabilities(f), want, atol=1e-8)
    for k, level in enumerate((1.0, 2.0, 7.0)):
        got = likelihood.log_density(Observations.of([level, level]), f)
        np.testing.assert_allclose(got, np.log(want[:, k]), rtol=1e-10)
    assert Ordinal().for_labels(Observations.of([3, 1, 1, 9])).levels == (1.0, 3.0, 9.0)


def test_large_counts_keep_their_digits():
    """The Poisson log-density at its top is -½ log(2πy), whatever the size of y."""
    y = np.array([1e3, 1e6, 1e9, 1e12])
    got = Poisson().log_density(Observations.of(y), np.log(y))
    np.testing.assert_allclose(got, -0.5 * np.log(2 * np.pi * y) - 1 / (12 * y), rtol=1e-12)


def test_a_little_dispersion_is_nearly_poisson(rng):
    y, f = rng.poisson(3.0, 30).astype(float), rng.normal(size=30)
    obs = Observations.of(y)
    near = NegativeBinomial(dispersion=1e-7).log_density(obs, f)
    np.testing.assert_allclose(near, Poisson().log_density(obs, f), atol=1e-4)
