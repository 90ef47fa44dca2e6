"""Corrected evidence and posterior against quadrature, importance sampling and finite differences."""

from functools import partial

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp
from scipy.stats import norm
from test_evidence import check_gradients

from flgp.inference.expectation_propagation import ExpectationPropagation
from flgp.inference.gaussian import GaussianInference
from flgp.inference.laplace import LaplaceInference
from flgp.inference.posterior import Point
from flgp.likelihoods import (
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

Corrected = partial(LaplaceInference, corrected=True)
MAKERS = (Corrected, ExpectationPropagation)
LIKELIHOODS = [
    Bernoulli(),
    Bernoulli(link="probit"),
    Binomial(),
    Poisson(),
    NegativeBinomial(dispersion=0.5),
    Gamma(shape=2.5),
    Exponential(),
    StudentT(scale=0.7),
    Beta(precision=5.0),
    Ordinal(levels=(0, 1, 2), gaps=(1.5,)),
    Tweedie(dispersion=1.0),
    ZeroInflatedPoisson(zero_odds=0.5),
    ZeroInflatedNegativeBinomial(zero_odds=0.5, dispersion=0.5),
    HurdlePoisson(zero_odds=0.5),
    HurdleNegativeBinomial(zero_odds=0.5, dispersion=0.5),
]
by_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda likelihood: likelihood.name)


def simulated(likelihood, m=40, n_features=8, seed=0):
    """A rough function on an interval with a variance of 1, and labels of it."""
    rng = np.random.default_rng(seed)
    x, k = rng.uniform(0, 1, m), np.arange(n_features)
    features = np.sqrt(2) * np.cos(np.pi * k * x[:, None])
    d = np.full(n_features, 1.0 / n_features)
    f = features @ (np.sqrt(d) * rng.normal(size=n_features))
    return features, d, Observations.of(likelihood.sample(f, rng))


def importance_sampled(features, obs, d, likelihood, n_draws=100_000):
    """Log evidence, means and standard deviations of f, by a wide t distribution about Laplace's mode."""
    found = LaplaceInference(features, obs).evaluate(Point(d, likelihood)).posterior
    rng, k, freedom = np.random.default_rng(1), len(d), 8.0
    root = np.linalg.cholesky(1.2 * found.factor @ found.factor.T)
    z = rng.normal(size=(n_draws, k)) / np.sqrt(rng.chisquare(freedom, (n_draws, 1)) / freedom)
    weights = found.mean + z @ root.T
    log_q = gammaln(0.5 * (freedom + k)) - gammaln(0.5 * freedom) - 0.5 * k * np.log(freedom * np.pi)
    log_q = log_q - 0.5 * (freedom + k) * np.log1p((z**2).sum(axis=1) / freedom)
    log_q -= np.log(np.diag(root)).sum()
    f = weights @ features.T
    log_p = likelihood.log_density(obs, f).sum(axis=1) + norm.logpdf(weights, 0.0, np.sqrt(d)).sum(axis=1)
    total = logsumexp(log_p - log_q)
    share = np.exp(log_p - log_q - total)
    mean = share @ f
    return total - np.log(n_draws), mean, np.sqrt(share @ (f - mean) ** 2)


@by_likelihood
def test_evidence_and_posterior_are_nearly_exact(likelihood):
    features, d, obs = simulated(likelihood)
    exact, mean, sd = importance_sampled(features, obs, d, likelihood)
    result, settled = (make(features, obs).evaluate(Point(d, likelihood)) for make in MAKERS)
    assert result.log_evidence == pytest.approx(exact, abs=0.06)  # of Laplace's, some are 0.2 off
    assert result.log_evidence == pytest.approx(settled.log_evidence, abs=0.02)
    center, spread = marginals(features, result.posterior)
    np.testing.assert_allclose((center - mean) / sd, 0.0, atol=0.05)
    np.testing.assert_allclose(spread / sd, 1.0, atol=0.04)


@by_likelihood
def test_one_label_is_exact(likelihood):
    """Then the correction is the whole of what a Gaussian leaves out."""
    y = (
        1.0
        if likelihood.discrete or likelihood.name in ("bernoulli", "probit", "binomial", "ordinal")
        else 0.6
    )
    obs, variance = Observations.of(np.array([y])), 1.5
    result = Corrected(np.ones((1, 1)), obs).evaluate(Point(np.array([variance]), likelihood))

    def moment(k):
        def integrand(f):
            density = np.exp(likelihood.log_density(obs, np.array([f]))[0])
            return f**k * density * norm.pdf(f, 0, np.sqrt(variance))

        return quad(integrand, -15, 15, epsabs=1e-13, limit=500, points=[-3, 0, 3])[0]

    mass, first, second = (moment(k) for k in range(3))
    assert result.log_evidence == pytest.approx(np.log(mass), abs=1e-3)
    assert result.posterior.mean[0] == pytest.approx(first / mass, abs=2e-3)
    spread = np.sqrt(second / mass - (first / mass) ** 2)
    assert abs(result.posterior.factor[0, 0]) == pytest.approx(spread, rel=5e-3)


@pytest.mark.parametrize(("m", "M"), [(15, 6), (6, 15)])
@by_likelihood
def test_gradients_are_finite_differences(likelihood, m, M):
    if likelihood.name != "ordinal":  # whose exact derivatives `data` of that test cannot weight
        check_gradients(Corrected, likelihood, m, M)


def test_gaussian_labels_need_no_correction():
    features, d, obs = simulated(Gaussian(noise_variance=0.25))
    likelihood = Gaussian(noise_variance=0.25)
    exact = GaussianInference(features, obs.y - 0.1, obs.noise_scale).evaluate(Point(d, likelihood))
    result = Corrected(features, obs, 0.1).evaluate(Point(d, likelihood))
    assert result.log_evidence == pytest.approx(exact.log_evidence, rel=1e-10)
    np.testing.assert_allclose(result.posterior.mean, exact.posterior.mean, rtol=1e-8)
    covariances = (each.posterior.factor @ each.posterior.factor.T for each in (result, exact))
    np.testing.assert_allclose(*covariances, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("size", [1e4, 1e9, 1e15])
def test_huge_counts_are_as_by_laplace(size):
    """Their log-densities are so large that rounding would drown what the correction is made of."""
    features, d, _ = simulated(Poisson())
    y = np.round(size * np.exp(features[:, 1]))
    arguments, at = (features, Observations.of(y), np.log(size)), Point(d, Poisson())
    plain, result = (make(*arguments).evaluate(at) for make in (LaplaceInference, Corrected))
    assert result.log_evidence == pytest.approx(plain.log_evidence, rel=1e-6)
    np.testing.assert_allclose(result.posterior.mean, plain.posterior.mean, atol=1e-2 / np.sqrt(size))


@by_likelihood
@pytest.mark.parametrize("amplitude", [1e-12, 1e-3, 1e3, 1e6])
def test_any_amplitude_gives_numbers(likelihood, amplitude):
    features, d, obs = simulated(likelihood)
    features[:3] = 0.0  # rows about which the prior is certain
    result = Corrected(features, obs).evaluate(Point(amplitude * d, likelihood))
    assert np.isfinite(result.log_evidence)
    assert np.isfinite(result.gradient_log_d).all()
    assert np.isfinite(result.gradient_parameters).all()
    assert np.isfinite(result.posterior.mean).all()
    assert np.isfinite(result.posterior.factor).all()


@pytest.mark.parametrize("likelihood", LIKELIHOODS[2:], ids=lambda likelihood: likelihood.name)
def test_wide_priors_agree_with_propagation(likelihood):
    """Far from Gaussian: zeros say only that f is small."""
    features, d, obs = simulated(likelihood)
    result, settled = (make(features, obs).evaluate(Point(10.0 * d, likelihood)) for make in MAKERS)
    assert result.log_evidence == pytest.approx(settled.log_evidence, abs=0.1)
    means, spreads = zip(*(marginals(features, each.posterior) for each in (result, settled)), strict=True)
    np.testing.assert_allclose((means[0] - means[1]) / spreads[1], 0.0, atol=0.2)
    np.testing.assert_allclose(spreads[0], spreads[1], rtol=0.1)


def marginals(features, posterior):
    return features @ posterior.mean, np.sqrt(((features @ posterior.factor) ** 2).sum(axis=1))
