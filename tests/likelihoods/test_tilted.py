"""Tilted moments against brute force, for every likelihood and for awkward shapes."""

from __future__ import annotations

import numpy as np
import pytest
from likelihood_cases import LIKELIHOODS, label, observations
from scipy.special import expit

from flgp.likelihoods import Bernoulli, Binomial, Gaussian, NegativeBinomial, Observations, Poisson, StudentT
from flgp.likelihoods._tilted import tilted_moments

PEAKED = ("student_t", "asymmetric_laplace")
EVERY = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=label)


def brute_force(likelihood, obs, mean, variance, extra=()):
    """log Z, moments of f and E[∂ log p/∂ log parameter] of one row, by panels on every scale.

    `extra`: values of f near which the density may have another peak.
    """
    sd = np.sqrt(variance)

    def log_joint(f):
        return obs.weight * likelihood.log_density(obs, f) - 0.5 * ((f - mean) / sd) ** 2

    scales = np.concatenate([-np.geomspace(1e-9, 2e3, 1500)[::-1], [0.0], np.geomspace(1e-9, 2e3, 1500)])
    edges = mean + sd * scales
    for _ in range(4):  # zoom in on the mode
        edges = np.unique(np.concatenate([edges, edges[np.argmax(log_joint(edges))] + 0.01 * sd * scales]))
    for center in extra:
        edges = np.unique(np.concatenate([edges, center + 0.01 * scales]))
    value = log_joint(edges)
    inside = np.flatnonzero(value > value.max() - 50)
    edges = edges[max(inside[0] - 1, 0) : inside[-1] + 2]
    node, weight = np.polynomial.legendre.leggauss(8)
    half = 0.5 * np.diff(edges)[:, None]
    f, width = (edges[:-1, None] + half * (node + 1)).ravel(), (half * weight).ravel()
    value = log_joint(f)
    mass = width * np.exp(value - value.max())
    total = mass.sum()
    mass = mass / total
    away = mass @ (f - mean)
    spread = mass @ (f - mean - away) ** 2
    d = likelihood.derivatives(obs, f)
    slope = obs.weight * d.gradient
    mean_slope = mass @ slope
    if spread < 0.5 * variance or not likelihood.smooth:
        gradient, curvature = away / variance, (1 - spread / variance) / variance
    else:
        gradient = mean_slope
        curvature = mass @ (obs.weight * d.curvature) - mass @ (slope - mean_slope) ** 2
    parameters = [obs.weight[0] * (mass @ d.log_density) for d in likelihood.parameter_derivatives(obs, f)]
    log_z = value.max() + np.log(total) - 0.5 * np.log(2 * np.pi * variance)
    return log_z, gradient, curvature, parameters


def compare(likelihood, obs, mean, variance, extra=()):
    got = likelihood.tilted(obs, mean, variance)
    by_parameter = likelihood.tilted_parameter_gradient(obs, mean, variance)
    assert len(by_parameter) == len(likelihood.parameter_names)
    for i in range(len(obs.y)):
        want = brute_force(likelihood, obs.take([i]), mean[i], variance[i], extra)
        np.testing.assert_allclose(got.log_normalizer[i], want[0], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(got.gradient[i], want[1], rtol=1e-6, atol=1e-7 / np.sqrt(variance[i]))
        np.testing.assert_allclose(got.curvature[i], want[2], rtol=1e-6, atol=1e-7 / variance[i])
        for values, value in zip(by_parameter, want[3], strict=True):
            np.testing.assert_allclose(values[i], value, rtol=1e-6, atol=1e-7)


@EVERY
@pytest.mark.parametrize("weighted", [False, True])
def test_against_brute_force(likelihood, weighted, rng):
    obs = observations(likelihood, 12, weighted=weighted)
    mean = rng.normal(0.0, 3.0, 12)
    variance = np.geomspace(1e-4, 1e4, 12)
    compare(likelihood, obs, mean, variance, extra=obs.y if likelihood.name in PEAKED else ())


def test_a_plain_that_ends_in_a_cliff():
    """A count of 0 under a very wide Gaussian, with the cliff on the mean's far side."""
    obs = Observations.of(np.zeros(4))
    mean, variance = np.array([-20.0, -200.0, 0.0, 50.0]), np.array([1e3, 1e5, 1e6, 1e2])
    compare(Poisson(), obs, mean, variance, extra=(0.0,))
    compare(NegativeBinomial(dispersion=0.3), obs, mean, variance, extra=(0.0,))


def test_two_hills_of_an_outlier():
    """A narrow hill at y and a wide one at the mean, in all proportions."""
    y = np.full(5, 3.0)
    mean, variance = np.array([-3.0, -1.0, 0.0, 2.0, -12.0]), np.array([1.0, 1.0, 0.2, 0.05, 10.0])
    for likelihood in (
        StudentT(scale=0.01),
        StudentT(scale=0.2),
        StudentT(scale=0.5, degrees_of_freedom=60.0),
    ):
        compare(likelihood, Observations.of(y), mean, variance, extra=(3.0,))


@EVERY
def test_no_variance_is_the_density_itself(likelihood, rng):
    obs = observations(likelihood, 12, weighted=True)
    f = rng.normal(size=12)
    got, d = likelihood.tilted(obs, f, np.zeros(12)), likelihood.derivatives(obs, f)
    np.testing.assert_allclose(got.log_normalizer, obs.weight * likelihood.log_density(obs, f), rtol=1e-9)
    np.testing.assert_allclose(got.gradient, obs.weight * d.gradient, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(got.curvature, obs.weight * d.curvature, rtol=1e-8, atol=1e-9)


@EVERY
def test_parameter_gradient_is_that_of_log_z(likelihood, rng):
    obs = observations(likelihood, 10, weighted=True)
    mean, variance = rng.normal(size=10), rng.uniform(0.1, 5, 10)
    gradients = likelihood.tilted_parameter_gradient(obs, mean, variance)
    for name, got in zip(likelihood.parameter_names, gradients, strict=True):
        start = getattr(likelihood, name)
        up, down = (
            likelihood.with_parameters(**{name: start * np.exp(s)}).tilted(obs, mean, variance).log_normalizer
            for s in (1e-4, -1e-4)
        )
        np.testing.assert_allclose(got, (up - down) / 2e-4, rtol=1e-5, atol=5e-7)


@pytest.mark.parametrize(
    "likelihood", [Bernoulli(), Bernoulli(link="probit"), Gaussian(noise_variance=0.5)], ids=label
)
def test_closed_forms_equal_the_quadrature(likelihood, rng):
    obs = observations(likelihood, 40)
    mean, variance = rng.normal(0.0, 4.0, 40), np.geomspace(1e-6, 1e5, 40)
    closed, quadrature = (
        likelihood.tilted(obs, mean, variance),
        tilted_moments(likelihood, obs, mean, variance),
    )
    for got, want, unit in zip(closed, quadrature, (1.0, variance**-0.5, 1 / variance), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-8 * np.min(unit))


def test_huge_counts_neither_lose_digits_nor_time():
    """A million rows' worth of information per row: the posterior is Gaussian around log y."""
    y = np.array([1e6, 1e9, 1e9])
    mean, variance = np.log(y) + np.array([0.5, -2.0, 3.0]), np.array([0.5, 2.0, 10.0])
    got = Poisson().tilted(Observations.of(y), mean, variance)
    np.testing.assert_allclose(got.gradient, (np.log(y) - mean) / (variance + 1 / y), rtol=1e-5)
    np.testing.assert_allclose(got.curvature, 1 / (variance + 1 / y), rtol=1e-5)
    trials = np.full(3, 1e9)
    got = Binomial().tilted(Observations.of(0.25 * trials, trials=trials), np.zeros(3), np.ones(3))
    np.testing.assert_allclose(got.gradient, np.log(1 / 3), rtol=1e-5)


def test_rows_are_independent_whatever_their_number(rng):
    """More rows than a block, and none at all."""
    f = rng.normal(size=2500)
    obs = Observations.of(rng.poisson(np.exp(f)))
    whole = Poisson().tilted(obs, f, 0.5)
    part = Poisson().tilted(obs.take(slice(2000, 2100)), f[2000:2100], 0.5)
    for got, want in zip(whole, part, strict=True):
        np.testing.assert_allclose(got[2000:2100], want, rtol=1e-9, atol=1e-10)
    nothing = Poisson().tilted(obs.take([]), np.empty(0), np.empty(0))
    assert all(values.shape == (0,) for values in nothing)


def test_log_z_is_the_log_predictive_density():
    mean, variance = np.full(2, 0.8), np.full(2, 3.0)
    log_z = Bernoulli().tilted(Observations.of([0, 1]), mean, variance).log_normalizer
    np.testing.assert_allclose(np.exp(log_z).sum(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_z[1]), Bernoulli().predictive_mean(mean, variance)[0], atol=1e-8)
    assert np.exp(log_z[1]) < expit(0.8)


@EVERY
def test_terms_without_f_may_be_left_out(likelihood):
    obs, f = observations(likelihood, 6), np.linspace(-1.0, 1.0, 6)
    whole = likelihood.log_density(obs, f + 0.5) - likelihood.log_density(obs, f)
    part = likelihood.log_density_in_f(obs, f + 0.5) - likelihood.log_density_in_f(obs, f)
    np.testing.assert_allclose(part, whole, rtol=1e-9, atol=1e-9)


def test_modes_of_many_rows_take_few_steps(monkeypatch):
    """A row whose mode was found used to move on while others were searched."""
    calls = []
    plain = Poisson.derivatives

    def counted(self, obs, f):
        calls.append(1)
        return plain(self, obs, f)

    monkeypatch.setattr(Poisson, "derivatives", counted)
    rng = np.random.default_rng(0)
    obs = Observations.of(np.round(10.0 ** rng.uniform(0, 9, 400)))
    tilted_moments(Poisson(), obs, rng.uniform(-3, 20, 400), 10.0 ** rng.uniform(-3, 2, 400))
    assert len(calls) < 50  # it was 99
