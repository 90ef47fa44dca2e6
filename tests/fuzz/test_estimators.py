"""Any input gives a valid finite answer or the project's own clear error, and stays as it was."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from fuzz_cases import expected, few, parameters, rows_of, tables, unchanged
from hypothesis import given
from hypothesis import strategies as st

from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures
from flgp.likelihoods import Poisson

NUMBERS = ["smooth", "noise", "constant", "huge", "tiny", "counts", "shares", "whole", "two", "text", "none"]
LABELS = ["two", "three", "one", "text", "mixed", "fractions", "bool", "none", "many", "bytes"]


@st.composite
def row_values(draw, n):
    """Weights and the like: sensible, zero, negative, missing, too few."""
    values = np.random.default_rng(draw(st.integers(0, 99))).uniform(0.5, 2.0, n)
    kind = draw(st.sampled_from(["fine", "fine", "zero", "negative", "missing", "short", "text", "huge"]))
    if kind in ("zero", "negative", "missing") and n:
        values[draw(st.integers(0, n - 1))] = {"zero": 0.0, "negative": -1.0, "missing": np.nan}[kind]
    return {"short": values[:-1], "text": values.astype(str), "huge": values * 1e200}.get(kind, values)


@st.composite
def regressions(draw):
    X = draw(tables())
    n = rows_of(X)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    smooth = np.sin(np.linspace(0, 6, n))
    y = {
        "smooth": lambda: smooth,
        "noise": lambda: rng.standard_normal(n),
        "constant": lambda: np.full(n, 3.0),
        "huge": lambda: smooth * 1e200,
        "tiny": lambda: smooth * 1e-200,
        "counts": lambda: rng.poisson(3.0, n).astype(float),
        "shares": lambda: rng.random(n),
        "whole": lambda: rng.integers(0, 2, n),
        "two": lambda: np.column_stack([smooth, rng.standard_normal(n)]),
        "text": lambda: np.array(["a"] * n, dtype=object),
        "none": lambda: None,
    }[draw(st.sampled_from(NUMBERS))]()
    if y is not None and y.dtype == float and n:
        hidden = rng.random(n) < draw(st.sampled_from([0.0, 0.5, 0.9, 1.0]))
        y[hidden] = np.nan
        if draw(st.integers(0, 19)) == 0:
            y[0] = np.inf
    if y is not None and draw(st.integers(0, 19)) == 0:
        y = y[:-1]
    arguments = {}
    for name in ("sample_weight", "exposure", "trials", "noise_scale"):
        if draw(st.integers(0, 14)) == 0:
            arguments[name] = draw(row_values(n))
    return X, y, arguments


COMMON = ["gaussian", "student_t", "gamma", "exponential", "bernoulli", "probit"]
COUNTS = ["poisson", "negative_binomial", "binomial"]
REGRESSOR = {
    "likelihood": ([*COMMON, *COUNTS, Poisson()], ["normal", None, 3]),
    "noise_variance": ([None, 0.1, 1e-12, 1e12], [0.0, np.nan, 1e300]),
    "mean": (["constant", "zero"], ["linear"]),
    "residual": (["auto", None, "local"], ["global"]),
    "n_residual_neighbors": ([30, 1, 2, 10**9], [0]),
    "residual_kernel": (["auto", "matern12", "rational_quadratic"], ["cubic"]),
    "residual_columns": ([None, [0]], [["c0"], [9], [], "c0", [True]]),
}


@few
@given(case=regressions(), options=parameters(**REGRESSOR), other=tables())
def test_regressor(case, options, other):
    X, y, arguments = case
    inputs = copy.deepcopy((X, y, arguments))
    model = FLGPRegressor(**{"random_state": 0, "n_jobs": 1, **options})
    with expected() as error:
        model.fit(X, y, **arguments)
    if not error:
        k = () if np.ndim(y) == 1 else (np.shape(y)[1],)
        for points in (X, other):
            with expected() as error:
                mean, sd = model.predict(points, return_std=True)
                _check(mean, (rows_of(points), *k))
                _check(sd, (rows_of(points), *k), low=0.0)
                interval = model.predict_interval(points)
                _check(interval, (rows_of(points), 2, *k))
                assert (interval[:, 0] <= interval[:, 1]).all()
                _check(model.latent_mean_and_variance(points)[1], (rows_of(points), *k), low=0.0)
                _check(model.sample_y(points, 2), (rows_of(points), *k, 2))
            if points is X:
                assert not error, error
        sizes = {name: v for name, v in arguments.items() if name in ("exposure", "trials")}
        with expected():
            mean, sd = model.predict(X, return_std=True, **sizes)
            _check(mean, (rows_of(X), *k))
            _check(sd, (rows_of(X), *k), low=0.0)
            _check(model.predict_interval(X, **sizes), (rows_of(X), 2, *k))
            _check(model.sample_y(X, 2, **sizes), (rows_of(X), *k, 2))
        with expected():
            model.update(X, y, relearn=False, **arguments)
            _check(model.predict(X), (rows_of(X), *k))
    assert unchanged(inputs[0], X)
    assert unchanged(inputs[1], y)
    assert unchanged(inputs[2], arguments)


@st.composite
def classifications(draw):
    X = draw(tables())
    n = rows_of(X)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes = rng.integers(0, 3, n)
    y = {
        "two": lambda: codes % 2,
        "three": lambda: codes,
        "one": lambda: codes * 0,
        "text": lambda: np.array(["a", "b", "long name"])[codes],
        "mixed": lambda: np.array([1, "a", None], dtype=object)[codes],
        "fractions": lambda: codes + 0.5,
        "bool": lambda: codes > 1,
        "none": lambda: None,
        "many": lambda: np.arange(n) % 9,
        "bytes": lambda: np.array([b"a", b"b", b"c"])[codes],
    }[draw(st.sampled_from(LABELS))]()
    if y is not None and n:
        hidden = rng.random(n) < draw(st.sampled_from([0.0, 0.5, 0.9, 1.0]))
        if y.dtype.kind in "if":
            y[hidden] = -1
        elif y.dtype.kind in "OU":
            y = y.astype(object)
            y[hidden] = None
        if draw(st.integers(0, 9)) == 0:
            y = y.tolist()
        elif draw(st.integers(0, 19)) == 0:
            y = y[:-1]
    weight = draw(row_values(n)) if draw(st.integers(0, 5)) == 0 else None
    return X, y, weight


@few
@given(
    case=classifications(),
    options=parameters(
        multi_class=(["auto", "one_vs_rest", "coupled"], ["both"]),
        unlabeled=([-1, None], [0, "a", np.nan]),
        residual=([None, "local"], ["auto", "global"]),
    ),
    other=tables(),
)
def test_classifier(case, options, other):
    X, y, weight = case
    inputs = copy.deepcopy((X, y, weight))
    model = FLGPClassifier(**{"random_state": 0, "n_jobs": 1, **options})
    with expected() as error:
        model.fit(X, y, sample_weight=weight)
    if not error:
        for points in (X, other):
            with expected() as error:
                p = model.predict_proba(points)
                _check(p, (rows_of(points), len(model.classes_)), low=0.0)
                np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-9)
                assert np.isin(model.predict(points), model.classes_).all()
                assert np.isin(model.sample_y(points, 2), model.classes_).all()
                _check(model.distance_to_anchors(points), (rows_of(points),), low=0.0)
            if points is X:
                assert not error, error
        with expected():
            model.update(X, y, relearn=False, sample_weight=weight)
            _check(model.predict_proba(X), (rows_of(X), len(model.classes_)), low=0.0)
    assert unchanged(inputs[0], X)
    assert unchanged(inputs[1], y)
    assert unchanged(inputs[2], weight)


LATENT = ("hyperparameters", "time_prior", "intrinsic_dimension", "inference")


@few
@given(X=tables(), options=parameters(), other=tables())
def test_features(X, options, other):
    before = copy.deepcopy(X)
    options = {name: value for name, value in options.items() if name not in LATENT}
    model = HeatKernelFeatures(**{"random_state": 0, "n_jobs": 1, **options})
    with expected() as error:
        model.fit(X)
    if not error:
        for points in (X, other):
            with expected() as error:
                _check(model.transform(points), (rows_of(points), len(model.eigenvalues_)))
                _check(model.covariance(points), (rows_of(points), rows_of(points)))
            if points is X:
                assert not error, error
    assert unchanged(before, X)


def _check(values, shape, low=-np.inf):
    assert np.shape(values) == shape
    assert np.isfinite(values).all()
    assert (np.asarray(values) >= low).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_predicting_a_broken_row_is_refused(bad):
    model = FLGPRegressor(random_state=0).fit(np.eye(5), np.arange(5.0))
    with expected() as error:
        model.predict(np.full((1, 5), bad))
    assert "NaN" in str(error[0]) or "infinity" in str(error[0])
