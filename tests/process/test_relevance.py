"""Relevance of columns: gradients, what is found, and units that do not matter."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from flgp import FLGPClassifier, FLGPRegressor
from flgp.process.relevance import CLASSES, NUMBERS, _DenseModel, learn_relevance


@pytest.mark.parametrize("separate", [False, True])
def test_the_gradient_is_that_of_the_objective(separate):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    model = _DenseModel(X, Y - Y.mean(axis=0), rng.uniform(0.5, 2.0, 40), 0.5)
    theta = np.array([0.1, -0.2, -1.0, 0.3])
    if separate:
        theta = np.concatenate([theta, 0.5 * rng.standard_normal(6)])
    gradient, h = model.log_posterior(theta)[1], 1e-6
    for i, step in enumerate(h * np.eye(len(theta))):
        numeric = (model.log_posterior(theta + step)[0] - model.log_posterior(theta - step)[0]) / (2 * h)
        assert gradient[i] == pytest.approx(numeric, abs=1e-5)


def test_columns_that_matter_are_found():
    X, y = make_friedman1(400, noise=1.0, random_state=0)  # five of ten columns
    found = learn_relevance(X, (y - y.mean())[:, None], np.ones(400), NUMBERS)
    assert found.shares.sum() == pytest.approx(1.0)
    assert found.shares[[0, 1, 2]].sum() > 0.7
    assert found.local[:3].min() > 3 * found.local[5:].max()
    assert set(np.argsort(-found.linear)[:2]) == {3, 4}  # these two are linear
    assert found.uneven


def test_units_do_not_matter():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 4))
    y = (np.sin(2 * X[:, 0]) + X[:, 1])[:, None]
    y = y - y.mean()
    units = np.array([1.0, 1e4, 1e-3, 10.0])
    plain = learn_relevance(X, y, np.ones(120), NUMBERS)
    scaled = learn_relevance(X * units, y, np.ones(120), NUMBERS)
    np.testing.assert_allclose(scaled.shares, plain.shares, atol=0.02)
    np.testing.assert_allclose(scaled.local * units, plain.local, rtol=0.2)


def test_nothing_to_learn_from():
    constant = learn_relevance(np.ones((30, 3)), np.ones((30, 1)), np.ones(30), CLASSES)
    assert np.isfinite(constant.local).all()
    silent = learn_relevance(
        np.random.default_rng(0).normal(size=(30, 2)), np.zeros((30, 1)), np.ones(30), CLASSES
    )
    assert silent.local[0] == silent.local[1]
    some = np.random.default_rng(0).normal(size=(30, 3)) * [1, 0, 1]
    found = learn_relevance(some, some[:, :1], np.ones(30), NUMBERS)
    assert found.shares[1] == 0.0


def test_estimators_tell_it():
    X, y = make_friedman1(300, noise=0.5, random_state=0)
    model = FLGPRegressor(random_state=0).fit(X, y)
    assert model.feature_relevance_.shape == (10,)
    assert model.feature_relevance_[:5].sum() > 0.9
    classes = FLGPClassifier(random_state=0).fit(X, np.digitize(y, [12.0, 17.0]))
    assert classes.feature_relevance_[:5].sum() > classes.feature_relevance_[5:].sum()
    alike = FLGPRegressor(random_state=0, residual_columns=list(range(10))).fit(X, y)
    new, truth = make_friedman1(500, noise=0.0, random_state=1)
    assert alike.score(new, truth) < model.score(new, truth) - 0.02


@pytest.mark.parametrize(("likelihood", "tolerance"), [("gamma", 1e-3), ("tweedie", 2e-2)])
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_amounts_does_not_matter(likelihood, tolerance, unit):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    f = np.sin(X[:, 0]) + 0.5 * X[:, 1]
    y = np.where(np.arange(300) < 60, rng.gamma(5.0, np.exp(f) / 5.0), np.nan)
    if likelihood == "tweedie":
        y[:15] = 0.0
    model = FLGPRegressor(likelihood=likelihood, random_state=0)
    here, there = model.fit(X, y).predict(X), model.fit(X, unit * y).predict(X) / unit
    assert np.abs(there - here).max() < tolerance * np.ptp(here)
