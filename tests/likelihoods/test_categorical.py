"""The softmax likelihood."""

from __future__ import annotations

import numpy as np
import pytest

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


def test_two_classes_are_bernoulli(rng):
    f = rng.normal(size=(20, 2))
    obs = Observations.of(rng.integers(0, 2, 20))
    margin = f[:, 1] - f[:, 0]
    np.testing.assert_allclose(Categorical(2).log_density(obs, f), Bernoulli().log_density(obs, margin))


def test_extremes():
    likelihood = Categorical(3)
    extreme = np.array([[1e6, -1e6, 0.0], [-1e3, 1e3, 1e3]])
    assert np.isfinite(likelihood.log_density(Observations.of([1, 1]), extreme)).all()
    assert np.isfinite(likelihood.probabilities(extreme)).all()
