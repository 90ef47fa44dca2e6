"""The softmax likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from flgp.likelihoods import Bernoulli, Categorical, Observations


@pytest.fixture
def problem(rng):
    return Categorical(4), Observations.of(rng.integers(0, 4, 30)), 2.0 * rng.normal(size=(30, 4))


def test_probabilities_and_density(problem):
    likelihood, obs, f = problem
    p = likelihood.probabilities(f)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p, np.exp(f) / np.exp(f).sum(axis=1, keepdims=True))
    labels = obs.y.astype(int)
    np.testing.assert_allclose(likelihood.log_density(obs, f), np.log(p[np.arange(30), labels]))


def test_gradient_and_curvature_against_differences(problem):
    likelihood, obs, f = problem
    gradient, curvature = likelihood.gradient(obs, f), likelihood.curvature(f)
    step = 1e-5
    for c in range(4):
        shift = step * np.eye(4)[c]
        slope = (likelihood.log_density(obs, f + shift) - likelihood.log_density(obs, f - shift)) / (2 * step)
        np.testing.assert_allclose(gradient[:, c], slope, atol=1e-8)
        bend = -(likelihood.gradient(obs, f + shift) - likelihood.gradient(obs, f - shift)) / (2 * step)
        np.testing.assert_allclose(curvature[:, c], bend, atol=1e-8)
    assert np.linalg.eigvalsh(curvature).min() > -1e-12


def test_two_classes_are_bernoulli(rng):
    f = rng.normal(size=(20, 2))
    obs = Observations.of(rng.integers(0, 2, 20))
    margin = f[:, 1] - f[:, 0]
    np.testing.assert_allclose(Categorical(2).log_density(obs, f), Bernoulli().log_density(obs, margin))
    np.testing.assert_allclose(Categorical(2).gradient(obs, f)[:, 1], Bernoulli().derivatives(obs, margin)[0])


def test_predictive_probabilities(rng):
    likelihood = Categorical(3)
    mean = np.array([[2.0, -1.0, 0.0], [0.3, 0.0, 0.1]])
    root = rng.normal(size=(2, 3, 3))
    covariance = root @ root.transpose(0, 2, 1)
    got = likelihood.predictive_probabilities(mean, covariance)
    np.testing.assert_allclose(got.sum(axis=1), 1.0)
    draws = mean + np.einsum("ncd,kd->knc", root, rng.normal(size=(200_000, 3)))
    want = np.stack([likelihood.probabilities(draws[:, i]).mean(axis=0) for i in range(2)])
    np.testing.assert_allclose(got, want, atol=6e-3)
    np.testing.assert_array_equal(got, likelihood.predictive_probabilities(mean, covariance))
    variance = np.array([[1.0, 4.0, 0.5], [9.0, 0.0, 2.0]])
    diagonal = variance[:, :, None] * np.eye(3)
    by_variance = likelihood.predictive_probabilities(mean, variance, n_draws=1024)
    by_covariance = likelihood.predictive_probabilities(mean, diagonal, n_draws=1024)
    np.testing.assert_allclose(by_variance, by_covariance, atol=6e-3)
    still = likelihood.predictive_probabilities(mean, np.zeros((2, 3)))
    np.testing.assert_allclose(still, likelihood.probabilities(mean))


def test_predictive_probabilities_of_two_classes_are_the_logistic_integral():
    mean, variance = np.array([[0.0, 1.5]]), np.array([[1.0, 2.0]])
    got = Categorical(2).predictive_probabilities(mean, variance, n_draws=1024)[0, 1]
    want = Bernoulli().predictive_mean(np.array([1.5]), np.array([3.0]))[0]
    np.testing.assert_allclose(got, want, atol=2e-3)
    assert got < expit(1.5)


def test_draws_start_and_extremes(rng):
    likelihood = Categorical(3)
    f = np.tile(np.log([0.5, 0.3, 0.2]), (20_000, 1))
    share = np.bincount(likelihood.sample(f, rng), minlength=3) / len(f)
    np.testing.assert_allclose(share, [0.5, 0.3, 0.2], atol=0.015)
    start = likelihood.initial_mean(Observations.of([0, 0, 0, 1]))
    assert start[0] > start[1] > start[2]
    np.testing.assert_allclose(start.sum(), 0.0, atol=1e-12)
    extreme = np.array([[1e6, -1e6, 0.0], [-1e3, 1e3, 1e3]])
    obs = Observations.of([1, 1])
    for values in (
        likelihood.log_density(obs, extreme),
        likelihood.gradient(obs, extreme),
        likelihood.curvature(extreme),
        likelihood.probabilities(extreme),
    ):
        assert np.all(np.isfinite(values))
