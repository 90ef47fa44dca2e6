import numpy as np
import pytest
from scipy.stats import gamma, poisson

from flgp.likelihoods import (
    AsymmetricLaplace,
    Bernoulli,
    Beta,
    Exponential,
    Gamma,
    Gaussian,
    HurdleNegativeBinomial,
    HurdlePoisson,
    NegativeBinomial,
    Ordinal,
    Poisson,
    StudentT,
    Tweedie,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)
from flgp.process.quantile import predictive_quantiles

ALL = [
    Gaussian(noise_variance=0.4),
    Bernoulli(),
    Bernoulli(link="probit"),
    Poisson(),
    NegativeBinomial(dispersion=0.5),
    Gamma(shape=2.0),
    Exponential(),
    StudentT(scale=0.3),
    Beta(precision=4.0),
    Ordinal(levels=(0, 1, 2, 5), gaps=(0.7, 1.2)),
    Tweedie(dispersion=1.3),
    ZeroInflatedPoisson(zero_odds=0.5),
    ZeroInflatedNegativeBinomial(zero_odds=0.3, dispersion=0.5),
    HurdlePoisson(zero_odds=0.5),
    HurdleNegativeBinomial(zero_odds=0.3, dispersion=1.5),
    AsymmetricLaplace(scale=0.3, quantile=0.2),
]


@pytest.mark.parametrize("likelihood", ALL, ids=lambda lik: lik.name)
def test_cdf_is_the_share_of_draws_below(likelihood):
    rng = np.random.default_rng(0)
    f = np.full(200_000, 0.7)
    y = likelihood.sample(f, rng)
    for q in (0.1, 0.5, 0.9):
        at = np.quantile(y, q, method="inverted_cdf")
        share = np.mean(y <= at)
        assert likelihood.cdf(np.array([at]), np.array([0.7]))[0] == pytest.approx(share, abs=5e-3)
    assert likelihood.cdf(np.array([-1e3]), np.array([0.7]))[0] < 1e-6


@pytest.mark.parametrize("likelihood", ALL, ids=lambda lik: lik.name)
@pytest.mark.parametrize("level", [0.025, 0.5, 0.975])
def test_predictive_quantiles_of_a_mixture_match_simulation(likelihood, level):
    rng = np.random.default_rng(1)
    node, share = np.polynomial.hermite_e.hermegauss(40)
    latent = [
        ((mean + np.sqrt(variance) * node)[:, None], share / share.sum())
        for mean, variance in ((0.5, 0.3), (-0.5, 0.1))
    ]
    found = predictive_quantiles([(0.6, likelihood), (0.4, likelihood)], latent, [level])[0, 0]
    first = rng.random(400_000) < 0.6
    f = np.where(first, 0.5 + np.sqrt(0.3) * rng.standard_normal(400_000), -0.5)
    f = np.where(first, f, -0.5 + np.sqrt(0.1) * rng.standard_normal(400_000))
    y = likelihood.sample(f, rng)
    assert np.mean(y <= found) >= level - 4e-3
    assert np.mean(y < found) <= level + 4e-3


@pytest.mark.parametrize("likelihood", [Tweedie(dispersion=1.3), Tweedie(dispersion=0.01, power=1.2)])
def test_amounts_far_from_the_mean_have_the_probability_that_the_sum_has(likelihood):
    """They are told by a bound, without the sum."""
    y, f = (grid.ravel() for grid in np.meshgrid(np.geomspace(1e-9, 1e9, 181), np.linspace(-9.0, 9.0, 37)))
    rate, shape, scale = (np.broadcast_to(part, f.shape) for part in likelihood._events(f))
    few = rate < 18.0  # of which every term is summed
    events = np.arange(1.0, 300.0)[:, None]
    sums = poisson.pmf(events, rate[few]) * gamma.cdf(y[few] / scale[few], shape[few] * events)
    found = likelihood.cdf(y[few], f[few])
    np.testing.assert_allclose(found, np.exp(-rate[few]) + sums.sum(axis=0), rtol=0, atol=2e-13)
    assert np.mean((found == 0.0) | (found == 1.0)) > 0.3
