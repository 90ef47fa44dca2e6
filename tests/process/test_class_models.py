"""A probit and least squares, weighed by left-out labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from flgp import FLGPClassifier
from flgp.likelihoods import Bernoulli, Categorical, Observations
from flgp.process.class_models import (
    LINEAR,
    PROBIT,
    SQUARES,
    ClassModel,
    class_columns,
    column_constant,
    least_squares_model,
    weighed,
)
from flgp.process.evidence import Target
from flgp.terms import Constant, Linear, Terms


def problem(C, m=14, q=3, seed=0, weight=None):
    """A linear term at m points, with labels of C classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, q))
    y = np.concatenate([np.arange(C), rng.integers(0, C, m - C)]).astype(float)
    likelihood = Categorical(C) if C > 2 else Bernoulli("probit")
    target = Target(
        np.arange(m), Observations.of(y, weight=weight), likelihood, Constant(0.0, 1.0), exclusive=True
    )
    term = Linear(np.arange(q), np.zeros(q), np.ones(q))
    return X, target, Terms((term,))


def dense_left_out(K, Y, noise, i):
    """Mean (C,) and variance at row i of a Gaussian process that sees all rows but i."""
    rest = np.delete(np.arange(len(K)), i)
    solved = np.linalg.solve(
        K[np.ix_(rest, rest)] + np.diag(noise[rest]), np.column_stack([Y[rest], K[rest, i]])
    )
    return K[i, rest] @ solved[:, :-1], K[i, i] - K[i, rest] @ solved[:, -1]


@pytest.mark.parametrize("C", [2, 3])
def test_left_out_labels_are_those_of_refits(C):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 14)
    X, target, terms = problem(C, weight=weight)
    found = least_squares_model(SQUARES, target, X, terms, {"linear_variance": 0.6, "noise_variance": 0.2})
    columns = class_columns(target)
    K = (0.6 / 3) * X @ X.T + column_constant(target, columns)
    # What f was multiplied by can be read off the prior variances.
    scale = float(np.sqrt(found.variances[0] / 0.2))
    y, likelihood = target.obs.y.astype(int), target.likelihood
    shares = np.bincount(y, weight) / weight.sum()
    offset = shares - 1 / C if C > 2 else shares[1:] - 0.5
    for i in range(14):
        mean, variance = dense_left_out(K, columns, 0.2 / weight, i)
        mean, variance = scale * (mean + offset), scale**2 * variance
        if C > 2:
            p = likelihood.probabilities(mean[None], np.full((1, C), variance))[0, y[i]]
        else:
            p = norm.cdf((2 * y[i] - 1) * mean[0] / np.sqrt(1 + variance))
        assert found.left_out[i] == pytest.approx(p, rel=1e-6)


def test_the_posterior_is_that_of_regression():
    X, target, terms = problem(3, m=20)
    found = least_squares_model(SQUARES, target, X, terms, {"linear_variance": 0.6, "noise_variance": 0.2})
    scale = float(np.sqrt(found.variances[0] / 0.2))
    design, d = np.column_stack([X, np.ones(20)]), found.variances
    precision = design.T @ design / (0.2 * scale**2) + np.diag(1 / d)
    covariance = np.linalg.inv(precision)
    for y, posterior in zip(class_columns(target).T, found.posteriors, strict=True):
        expected = covariance @ design.T @ (scale * y) / (0.2 * scale**2)
        np.testing.assert_allclose(posterior.mean, expected, atol=1e-8)
        np.testing.assert_allclose(posterior.factor @ posterior.factor.T, covariance, atol=1e-8)


def test_shares_maximise_the_left_out_probability():
    rng = np.random.default_rng(0)
    _, target, _ = problem(2, m=60)
    parts = [
        ClassModel(name, (), np.empty(0), (), rng.uniform(0.02, 0.98, 60))
        for name in (PROBIT, SQUARES, LINEAR)
    ]
    found = weighed(target, parts)
    shares = np.array([next((f.weight for f in found if f.name == p.name), 0.0) for p in parts])
    p = np.stack([part.left_out for part in parts], axis=1)

    def objective(z):
        s = np.exp(z - z.max())
        s /= s.sum()
        return -np.log(p @ s).sum() - np.array([5.0, 1.0, 2.0]) @ np.log(s)

    best = minimize(objective, np.zeros(3)).x
    expected = np.exp(best - best.max())
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=2e-3)
    assert sum(part.weight for part in found) == pytest.approx(1.0)


def test_a_model_that_explains_nothing_is_left_out():
    _, target, _ = problem(2, m=400)
    good = ClassModel(PROBIT, (), np.empty(0), (), np.full(400, 0.9))
    bad = ClassModel(SQUARES, (), np.empty(0), (), np.full(400, 0.1))
    assert [part.name for part in weighed(target, [good, bad])] == [PROBIT]


def linear_rule(C, seed=0):
    """Indicators with an exact linear rule, as in many tables."""
    rng = np.random.default_rng(seed)
    X = (rng.random((600, 18)) < 0.5).astype(float)
    truth = ((X - 0.5) @ rng.standard_normal((18, C))).argmax(axis=1)
    y = np.full(600, -1)
    y[:100] = truth[:100]
    return X, y, truth


@pytest.mark.parametrize("C", [2, 4])
def test_a_linear_rule_is_found_and_told(C, tmp_path):
    X, y, truth = linear_rule(C)
    model = FLGPClassifier(random_state=0).fit(X, y)
    shares = model.class_model_shares_
    assert sum(shares.values()) == pytest.approx(1.0)
    assert set(shares) <= {PROBIT, SQUARES, LINEAR}
    assert np.mean(model.predict(X[100:]) != truth[100:]) < 0.2
    p = model.predict_proba(X[:40])
    model.update(X[:1], y[:1], relearn=False)  # a repeated label, with all hyperparameters kept
    assert np.abs(model.predict_proba(X[:40]) - p).max() < 0.2
    drawn = model.sample_y(X[100:250], 500, random_state=0)
    counted = np.stack([(drawn == c).mean(axis=1) for c in range(C)], axis=1)
    assert np.abs(counted - model.predict_proba(X[100:250])).mean() < 0.02


def test_two_classes_are_predicted_as_the_integral_over_f_says():
    X, y, _ = linear_rule(2, seed=3)
    model = FLGPClassifier(random_state=0, calibrate=False).fit(X, y)
    mean, variance = model.latent_mean_and_variance(X)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], norm.cdf(mean / np.sqrt(1 + variance)), atol=1e-10
    )
    assert model.sharpness_ == 1.0
    assert model.class_model_shares_ == {PROBIT: 1.0}
