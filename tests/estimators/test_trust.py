"""What extreme but lawful problems broke once: each has one test that names it."""

from __future__ import annotations

import time

import numpy as np
import pytest

from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor


@pytest.fixture(scope="module")
def data():
    X, angle = ring(200, noise=0.02)
    return X, angle, np.where(np.arange(200) < 40, np.sin(angle), np.nan)


def test_the_predicted_class_is_the_most_probable_one_under_chains(data):
    """The sign of the mean of f decides only where f is Gaussian."""
    pytest.importorskip("polyagamma")
    X, angle, _ = data
    y = np.where(np.arange(200) < 12, (np.sin(angle) + 0.4 * np.cos(7 * angle) > 0).astype(int), -1)
    model = FLGPClassifier(inference="gibbs", n_chains=2, n_draws=100, n_warmup=50, random_state=0).fit(X, y)
    rows = np.random.default_rng(0).uniform(-1.5, 1.5, (3000, 2))
    np.testing.assert_array_equal(model.predict(rows), model.predict_proba(rows).argmax(axis=1))


@pytest.mark.parametrize("kernel", ["matern12", "matern32", "matern52", "rational_quadratic"])
def test_rows_beyond_the_square_root_of_the_largest_number(data, kernel):
    X, _, y = data
    model = FLGPRegressor(residual="local", residual_kernel=kernel, random_state=0).fit(X, y)
    for size in (1e100, 1e155, 1e300):
        mean, std = model.predict(np.array([[size, 0.0], [0.0, -size]]), return_std=True)
        assert np.isfinite(mean).all()
        assert np.isfinite(std).all()
        assert np.isfinite(model.covariance(np.array([[size, 0.0], [1.0, 0.0]]))).all()


@pytest.mark.parametrize(
    "options", [{"inference": "ep"}, {"inference": "laplace"}, {"multi_class": "coupled"}]
)
def test_weights_that_leave_nothing_of_the_prior_are_refused_by_name(data, options):
    X, angle, _ = data
    y = np.where(np.arange(200) < 30, (angle / 2.1).astype(int), -1)
    for size in (1e10, 1e15, 1e30, 1e100):
        with pytest.raises(ValueError, match="sample_weight is up to"):
            FLGPClassifier(random_state=0, **options).fit(X, y, sample_weight=np.full(200, size))
    FLGPClassifier(random_state=0, **options).fit(X, y, sample_weight=np.full(200, 1e9)).predict(X)


def test_weights_of_gaussian_labels_are_noise_and_may_be_large(data):
    X, _, y = data
    with pytest.raises(ValueError, match="sample_weight is up to"):
        FLGPRegressor(likelihood="student_t", random_state=0).fit(X, y, sample_weight=np.full(200, 1e30))
    model = FLGPRegressor(random_state=0).fit(X, y, sample_weight=np.full(200, 1e30))
    assert np.isfinite(model.predict(X)).all()


def test_intervals_do_not_depend_on_the_unit(data):
    """Bisection began with a width of 1, which is not reached by halving in units of 1e-60."""
    X, _, y = data
    options = {"likelihood": "student_t", "residual": None, "random_state": 0}
    ends = [
        FLGPRegressor(**options).fit(X, unit * y).predict_interval(X[:5]) / unit for unit in (1.0, 2.0**-200)
    ]
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-3)
    assert (ends[1][:, 0] < ends[1][:, 1]).all()


def test_intervals_of_large_counts_take_little_time(data):
    X, angle, _ = data
    counts = np.where(np.arange(200) < 30, np.round(1e12 * (np.sin(angle) + 1.5)), np.nan)
    options = {"likelihood": "negative_binomial", "hyperparameters": "integrate", "n_anchors": 20}
    model = FLGPRegressor(random_state=0, **options).fit(X, counts)
    started = time.process_time()
    ends = model.predict_interval(X[:6])
    assert time.process_time() - started < 3.0
    assert (ends[:, 0] <= ends[:, 1]).all()


def test_covariance_where_bandwidths_keep_different_numbers_of_eigenpairs(data):
    X, _, y = data
    options = {"base_kernel": "se", "hyperparameters": "integrate", "residual": None, "n_anchors": 60}
    model = FLGPRegressor(random_state=0, **options).fit(X, y)
    joint = model.covariance(X[:9])
    assert joint.shape == (9, 9)
    assert np.linalg.eigvalsh(joint).min() > -1e-8 * joint.max()


def test_scores_of_huge_numbers(data):
    X, _, y = data
    model = FLGPRegressor(random_state=0).fit(X, y)
    huge = FLGPRegressor(random_state=0).fit(X, y * 2.0**300)
    assert huge.score(X, y * 2.0**300) == pytest.approx(model.score(X, y), rel=1e-6)
    assert np.isfinite(model.score(X, y * 1e200))
