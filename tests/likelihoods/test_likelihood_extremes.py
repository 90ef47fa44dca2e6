"""Nothing overflows: warnings are errors in this suite."""

from __future__ import annotations

import numpy as np
import pytest
from likelihood_cases import COUNTS, LIKELIHOODS, label, observations

from flgp.likelihoods import Bernoulli, Binomial, Observations

EVERY = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=label)
EXTREME = np.array([-1e6, -1e4, -1e3, -700.0, -40.0, 0.0, 40.0, 700.0, 1e3, 1e4, 1e6])


def finite(*arrays):
    return all(np.all(np.isfinite(values)) for values in arrays)


@EVERY
def test_extreme_f(likelihood):
    obs = observations(likelihood, 12)
    f = EXTREME[:, None] + np.zeros(12)
    density, d = likelihood.log_density(obs, f), likelihood.derivatives(obs, f)
    assert finite(density, *d, likelihood.slope_and_expected_curvature(obs, f)[1])
    if likelihood.log_concave:
        assert np.all(d.curvature >= 0)
    for entry in likelihood.parameter_derivatives(obs, f):
        assert finite(*entry)
    assert finite(likelihood.conditional_mean(f), likelihood.sample(f, np.random.default_rng(0)))
    if getattr(likelihood, "degrees_of_freedom", 4.0) > 2.0:
        assert finite(likelihood.conditional_variance(f))


@EVERY
def test_extreme_gaussians(likelihood):
    mean, variance = (grid.ravel() for grid in np.meshgrid(EXTREME, [0.0, 1e-12, 1.0, 1e3, 1e6]))
    assert finite(likelihood.predictive_mean(mean, variance))
    if getattr(likelihood, "degrees_of_freedom", 4.0) > 2.0:
        spread = likelihood.predictive_variance(mean, variance)
        assert finite(spread)
        assert np.all(spread >= 0)


@EVERY
@pytest.mark.parametrize("weighted", [False, True])
def test_extreme_tilted(likelihood, weighted):
    mean, variance = (grid.ravel() for grid in np.meshgrid(EXTREME[2:-2], [1e-12, 1e-3, 1.0, 1e3, 1e6]))
    obs = observations(likelihood, len(mean), weighted=weighted)
    result = likelihood.tilted(obs, mean, variance)
    assert finite(*result, *likelihood.tilted_parameter_gradient(obs, mean, variance))
    if likelihood.log_concave:
        assert np.all(result.curvature >= 0)
        assert np.all(result.curvature * variance <= 1 + 1e-6)


@pytest.mark.parametrize("likelihood", [k for k in LIKELIHOODS if k.name in COUNTS], ids=label)
def test_extreme_counts(likelihood):
    obs = Observations.of([0.0, 1.0, 1e6, 1e9, 1e12])
    for f in (-1e3, 0.0, 27.0, 1e3):
        at = np.full(5, f)
        assert finite(likelihood.log_density(obs, at), *likelihood.derivatives(obs, at))
    assert finite(*likelihood.tilted(obs, np.zeros(5), np.full(5, 9.0)))


def test_certain_labels_have_log_density_zero():
    obs = Observations.of([1.0, 0.0])
    f = np.array([1e3, -1e3])
    for link in ("logit", "probit"):
        np.testing.assert_array_equal(Bernoulli(link=link).log_density(obs, f), 0.0)
        np.testing.assert_array_equal(Bernoulli(link=link).derivatives(obs, f).gradient, 0.0)
    obs = Observations.of([7.0, 0.0], trials=[7.0, 7.0])
    np.testing.assert_allclose(Binomial().log_density(obs, f), 0.0, atol=1e-14)


@pytest.mark.parametrize("likelihood", [own for own in LIKELIHOODS if "exposure" in own.uses], ids=label)
def test_a_mean_that_is_clipped_is_not_better_known_than_others(likelihood):
    """E y ≤ y_0.975 + √(0.025/0.975) · std holds for every distribution, so for clipped ones as well."""
    mean, variance = np.array([0.0, 10.0, 500.0, 10.0]), np.array([900.0, 400.0, 4.0, 1e5])
    expected, spread = (
        likelihood.predictive_mean(mean, variance),
        likelihood.predictive_variance(mean, variance),
    )
    upper = likelihood.conditional_mean(mean + 2.0 * np.sqrt(variance))
    assert (expected <= 1.1 * upper + np.sqrt(0.025 / 0.975 * spread)).all()
    d = likelihood.derivatives(observations(likelihood, 4), mean + 2.0 * np.sqrt(variance))
    assert finite(d.gradient**2)
