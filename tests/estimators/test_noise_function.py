"""Noise that varies over the manifold, as users see it."""

from __future__ import annotations

import numpy as np
import pytest

import flgp
from flgp import FLGPRegressor
from flgp.datasets import spiral
from flgp.likelihoods import Heteroscedastic

SMALL = {"n_anchors": 100, "n_eigenpairs": 30, "random_state": 0, "residual": None, "n_jobs": 1}


def simulated(ratio, seed, n_labels=120):
    """A function along the spiral, and noise whose standard deviation varies by this factor."""
    rng = np.random.default_rng(seed)
    points = spiral(400, random_state=0)
    u = (points.arc - points.arc.min()) / np.ptp(points.arc)
    f = sum(rng.normal() / (1 + k) * np.cos(np.pi * k * u + rng.uniform(0, 6)) for k in range(6))
    f = f / f.std()
    sd = 0.15 * ratio ** (0.5 + 0.5 * np.sin(3 * np.pi * u + rng.uniform(0, 6)))
    y = f + sd * rng.normal(size=len(u))
    labels = np.full(len(u), np.nan)
    rows = rng.permutation(len(u))[:n_labels]
    labels[rows] = y[rows]
    return points.X, f, sd, y, labels


def log_score(model, X, y):
    """Mean log density of a Gaussian with the predicted moments."""
    mean, total = model.predict(X, return_std=True)
    noise = model.predict_noise(X)
    assert (total >= noise - 1e-12).all()
    return float(np.mean(-0.5 * np.log(2 * np.pi * total**2) - 0.5 * ((y - mean) / total) ** 2))


def test_intervals_cover_f_and_y_and_the_noise_is_found():
    inside_f, inside_y, gains, agreement = [], [], [], []
    for seed in range(24):
        X, f, sd, y, labels = simulated(10.0, seed)
        rest = np.isnan(labels)
        model = FLGPRegressor(likelihood="heteroscedastic", **SMALL).fit(X, labels)
        ends = model.latent_interval(X, 0.9)
        inside_f.append(np.mean((ends[:, 0] <= f) & (f <= ends[:, 1])))
        ends = model.predict_interval(X[rest], 0.9)
        inside_y.append(np.mean((ends[:, 0] <= y[rest]) & (y[rest] <= ends[:, 1])))
        even = FLGPRegressor(**SMALL).fit(X, labels)
        mean, total = even.predict(X[rest], return_std=True)
        plain = np.mean(-0.5 * np.log(2 * np.pi * total**2) - 0.5 * ((y[rest] - mean) / total) ** 2)
        gains.append(log_score(model, X[rest], y[rest]) - plain)
        agreement.append(np.corrcoef(np.log(model.predict_noise(X)), np.log(sd))[0, 1])
    assert 0.83 < np.mean(inside_f) < 0.95
    assert 0.86 < np.mean(inside_y) < 0.94
    assert np.mean(gains) > 0.2
    assert np.sum(np.array(gains) < 0.0) <= 1  # noise is learned from few labels: one draw of 24 may mislead
    assert np.mean(agreement) > 0.7


def test_nothing_is_lost_where_the_noise_is_even():
    gains = []
    for seed in range(6):
        X, _, _, y, labels = simulated(1.0, seed)
        rest = np.isnan(labels)
        model = FLGPRegressor(likelihood="heteroscedastic", **SMALL).fit(X, labels)
        even = FLGPRegressor(**SMALL).fit(X, labels)
        mean, total = even.predict(X[rest], return_std=True)
        plain = np.mean(-0.5 * np.log(2 * np.pi * total**2) - 0.5 * ((y[rest] - mean) / total) ** 2)
        gains.append(log_score(model, X[rest], y[rest]) - plain)
    assert np.mean(gains) > -0.01


@pytest.fixture(scope="module")
def fitted():
    X, _, _, _, labels = simulated(10.0, 3)
    return X, labels, FLGPRegressor(likelihood="heteroscedastic", **SMALL).fit(X, labels)


def test_draws_moments_and_intervals_agree(fitted):
    X, _, model = fitted
    mean, sd = model.predict(X[:50], return_std=True)
    draws = model.sample_y(X[:50], 20_000, random_state=1)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.05 * sd.max())
    np.testing.assert_allclose(draws.std(axis=1), sd, rtol=0.1)
    ends = model.predict_interval(X[:50], 0.8)
    inside = np.mean((draws >= ends[:, :1]) & (draws <= ends[:, 1:]), axis=1)
    np.testing.assert_allclose(inside, 0.8, atol=0.015)
    _, joint = model.predict(X[:50], return_cov=True)
    np.testing.assert_allclose(np.sqrt(np.diag(joint)), sd, rtol=1e-6)
    prior = model.sample_y(X[:50], 4000, prior=True)
    assert np.isfinite(prior).all()


def test_files_updates_and_other_terms(fitted, tmp_path):
    X, labels, model = fitted
    flgp.save(model, tmp_path / "model.flgp")
    again = flgp.load(tmp_path / "model.flgp")
    np.testing.assert_array_equal(again.predict_noise(X), model.predict_noise(X))
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    value, gradient = model.log_marginal_likelihood(eval_gradient=True)
    np.testing.assert_allclose(value, model.log_marginal_likelihood_value_)
    assert gradient.shape == (len(model.optimizer_result_.names),)
    added = model.update(X[:3], np.zeros(3), relearn=False)
    assert np.isfinite(added.predict_noise(X)).all()
    wide = FLGPRegressor(likelihood="heteroscedastic", linear=[0], hyperparameters="integrate", **SMALL)
    assert np.isfinite(wide.fit(X, labels).predict_interval(X[:5])).all()


def test_units_do_not_matter(fitted):
    X, labels, _ = fitted
    base = FLGPRegressor(likelihood="heteroscedastic", **SMALL).fit(X, labels)
    scaled = FLGPRegressor(likelihood="heteroscedastic", **SMALL).fit(X, 1000.0 * labels)
    np.testing.assert_allclose(scaled.predict_noise(X), 1000.0 * base.predict_noise(X), rtol=0.05)


def test_two_outputs_may_share():
    X, _, _, _, labels = simulated(10.0, 5)
    Y = np.column_stack([labels, 3.0 * labels])
    model = FLGPRegressor(likelihood="heteroscedastic", shared=True, **SMALL).fit(X, Y)
    noise = model.predict_noise(X)
    assert noise.shape == (400, 2)
    np.testing.assert_allclose(noise[:, 1], 3.0 * noise[:, 0], rtol=1e-3)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"inference": "ep"}, "inference='auto'"),
        ({"residual": "local"}, "residual=None"),
        ({"amplitude": 0.0, "linear": [0]}, "needs the manifold"),
        ({"coregionalization": 1}, "Gaussian likelihood"),
    ],
)
def test_what_it_is_not_combined_with(fitted, options, match):
    X, labels, _ = fitted
    with pytest.raises(ValueError, match=match):
        FLGPRegressor(likelihood="heteroscedastic", **{**SMALL, **options}).fit(
            X, np.column_stack([labels, labels])
        )
    assert not hasattr(FLGPRegressor(), "predict_noise")


def test_parameters_may_be_given(fitted):
    X, labels, _ = fitted
    known = Heteroscedastic(noise_variance=0.1, noise_time=0.1, noise_spread=1.0)
    model = FLGPRegressor(likelihood=known, **SMALL).fit(X, labels)
    assert model.likelihood_ == known
