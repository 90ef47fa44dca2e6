"""Numbers at the ends of their range: refused by name, or handled."""

from functools import cache

import numpy as np
import pytest

from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures, estimate_intrinsic_dimension
from flgp.geometry.landmarks import Landmarks
from flgp.rows.sources import StreamedRows

SMALL = {"n_anchors": 30, "n_eigenpairs": 10, "random_state": 0, "n_jobs": 1}


@pytest.mark.parametrize("where", ["X", "X_unlabeled", "anchors", "file"])
def test_coordinates_too_large_to_square_are_refused(where):
    X, angle = ring(60)
    large = X * 1e200
    model = FLGPRegressor(**SMALL).set_params(anchors=large[:9] if where == "anchors" else "kmeans")
    rows = {"X": large, "file": StreamedRows(large)}.get(where, X)
    with pytest.raises(ValueError, match=r"too large for squared distances in float64\. Scale the columns"):
        model.fit(rows, angle, large if where == "X_unlabeled" else None)


def test_single_precision_has_a_limit_of_its_own():
    X, angle = ring(60)
    model = FLGPRegressor(**SMALL).fit((X * 1e28).astype(np.float32), angle)
    assert np.isfinite(model.predict((X * 1e38).astype(np.float32))).all()
    large = (X * 2e38).astype(np.float32)
    for rows in (large, StreamedRows(large)):
        with pytest.raises(ValueError, match="too large for squared distances in float32"):
            model.fit(rows, angle)


@pytest.mark.parametrize("columns", [2, 20])
@pytest.mark.parametrize("scale", [1e-60, 1e-20, 1e20, 1e60])
def test_predictions_do_not_depend_on_the_unit_of_length(columns, scale):
    X, angle = ring(150)
    X = X @ np.random.default_rng(0).standard_normal((2, columns))
    known = np.where(np.arange(150) % 3 == 0, np.sin(angle), np.nan)
    # A power of two, so that only the exponent changes.
    scale = 2.0 ** np.round(np.log2(scale))
    found = FLGPRegressor(residual=None, **SMALL).fit(X * scale, known).predict(X * scale)
    expected = FLGPRegressor(residual=None, **SMALL).fit(X, known).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_many_copies_of_one_point_have_a_graph():
    for value in (0.0, 5e8):
        X = np.full((12, 2), value)
        for base_kernel in ("lae", "se"):
            model = HeatKernelFeatures(base_kernel=base_kernel, random_state=0).fit(X)
            assert np.isfinite(model.transform(X + 1e6)).all()
            assert np.isfinite(model.distance_to_anchors(X + 1e6)).all()


@pytest.mark.parametrize("scale", [1e-150, 1e-90, 1e90])
def test_labels_of_any_size(scale):
    X, angle = ring(100)
    y = np.sin(angle)
    model = FLGPRegressor(**SMALL).fit(X, y * scale)
    mean, sd = model.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(sd).all()
    if scale > 1e-100:
        np.testing.assert_allclose(mean / scale, y, atol=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": 1e150}, "Labels must be at most 1e\\+100"),
        ({"noise_scale": 1e150}, "noise_scale must be between"),
        ({"noise_scale": 1e-150}, "noise_scale must be between"),
        ({"sample_weight": 1e150}, "sample_weight must not be negative, missing or above"),
    ],
)
def test_what_is_too_large_is_named(arguments, message):
    X, _ = ring(30)
    y = np.full(30, arguments.pop("y", 1.0))
    known = {name: np.full(30, value) for name, value in arguments.items()}
    with pytest.raises(ValueError, match=message):
        FLGPRegressor(**SMALL).fit(X, y, **known)


@pytest.mark.parametrize("seed", [-1, 2**32, "one", 0.5])
def test_seeds_are_checked_by_name(seed):
    X, angle = ring(30)
    with pytest.raises(ValueError, match=r"random_state=.*is not a valid seed"):
        FLGPClassifier(random_state=seed).fit(X, angle > 3)


def test_weights_and_targets_that_are_no_numbers_or_none():
    X, angle = ring(30)
    with pytest.raises(ValueError, match="sample_weight must be numbers"):
        FLGPRegressor(**SMALL).fit(X, angle, sample_weight=["much"] * 30)
    with pytest.raises(ValueError, match="y has 0 rows but X has 30"):
        FLGPRegressor(**SMALL).fit(X, [])
    with pytest.raises(ValueError, match="diffusion_time=1e\\+300 must be between"):
        FLGPRegressor(diffusion_time=1e300).fit(X, angle)
    model = FLGPRegressor(**SMALL).fit(X, angle)
    with pytest.raises(ValueError, match="no labelled row to score"):
        model.score(X, np.full(30, np.nan))


def test_one_label_of_each_of_many_classes_is_no_reason_to_warn():
    X, _ = ring(100)
    y = np.full(100, -1)
    y[:8] = np.arange(8)
    assert len(FLGPClassifier(**SMALL).fit(X, y).classes_) == 8


def test_anchors_and_priors_that_are_none():
    X, angle = ring(30)
    with pytest.raises(ValueError, match="time_prior=3 is not known"):
        FLGPRegressor(time_prior=3).fit(X, angle)
    with pytest.raises(ValueError, match="anchors must be the name of a rule"):
        FLGPRegressor(anchors=[["a", "b"]]).fit(X, angle)


def test_points_that_rounding_cannot_tell_apart_have_a_dimension():
    X = 1e9 + 1e-6 * np.random.default_rng(0).standard_normal((40, 3))
    assert 0 < estimate_intrinsic_dimension(X) <= 3


@cache
def on_three_waves(offset, factor, **options):
    X, angle = ring(300)
    y = np.sin(3 * angle) + 0.1 * np.random.default_rng(0).standard_normal(300)
    y[60:] = np.nan
    sizes = {"n_anchors": 60, "n_eigenpairs": 30, "random_state": 0, "residual_kernel": "matern32"}
    model = FLGPRegressor(**sizes, **options).fit(X, offset + factor * y)
    return *model.predict(X, return_std=True), model.predict_interval(X, 0.9).T


@pytest.mark.parametrize("options", [{}, {"hyperparameters": "integrate"}, {"residual": "local"}], ids=str)
@pytest.mark.parametrize(
    ("offset", "factor"), [(1e7, 1.0), (-1e10, 1.0), (1e12, 1e3), (-1e12, 1e2), (0.0, 1e-9)]
)
def test_shifted_and_scaled_labels_shift_and_scale_the_answers(offset, factor, options):
    mean, std, _ = on_three_waves(0.0, 1.0, **options)
    found, spread, (low, high) = on_three_waves(offset, factor, **options)
    np.testing.assert_allclose((found - offset) / factor, mean, atol=0.05)
    np.testing.assert_allclose(spread / factor, std, rtol=0.1)
    assert ((low < found) & (found < high)).all()


@cache
def on_one_wave(offset, factor, likelihood):
    X, angle = ring(120, noise=0.02)
    y = np.sin(angle) + 0.1 * np.random.default_rng(0).standard_normal(120)
    y[40:] = np.nan
    model = FLGPRegressor(likelihood=likelihood, **SMALL).fit(X, offset + factor * y)
    return model.predict(X, return_std=True)


@pytest.mark.parametrize(("offset", "factor"), [(1e7, 1.0), (-1e12, 1.0), (1e12, 1e12), (0.0, 1e-12)])
@pytest.mark.parametrize("likelihood", ["student_t", "asymmetric_laplace"])
def test_other_real_labels_are_shifted_and_scaled_too(likelihood, offset, factor):
    mean, std = on_one_wave(0.0, 1.0, likelihood)
    moved, width = on_one_wave(offset, factor, likelihood)
    # Searches end within their tolerance, and labels with an offset of 1e12 keep four digits of their own.
    np.testing.assert_allclose((moved - offset) / factor, mean, atol=0.02)
    np.testing.assert_allclose(width / factor, std, rtol=0.05)


def test_draws_of_labels_with_an_offset_keep_their_spread():
    X, angle = ring(120, noise=0.02)
    y = np.sin(angle) + 0.1 * np.random.default_rng(0).standard_normal(120)
    y[40:] = np.nan
    chains = {"inference": "gibbs", "n_chains": 1, "n_draws": 300, "n_warmup": 20}
    model = FLGPRegressor(likelihood="student_t", residual=None, **SMALL, **chains)
    std = model.fit(X, y).predict(X, return_std=True)[1]
    far = model.fit(X, 1e9 + y).predict(X, return_std=True)[1]
    np.testing.assert_allclose(np.median(far), np.median(std), rtol=0.1)


def test_a_row_far_from_the_landmarks_leaves_the_others_alone():
    X, angle = ring(60, noise=0.02)
    model = FLGPRegressor(geometry=Landmarks(12), random_state=0).fit(X, np.sin(angle))
    for far in (1e40, -1e155, 1e300):
        together = model.predict(np.concatenate([X[:5], [[far, 0.0]]]))
        # Products of blocks of another size may round differently.
        np.testing.assert_allclose(together[:5], model.predict(X[:5]), rtol=1e-12)
        assert np.isfinite(together).all()


def test_poisson_counts_are_right_or_refused_by_name():
    """Up to 1e14 the spread is that of the counts; beyond, it was a thousand times as wide."""
    X, angle = ring(60, noise=0.0)
    rng = np.random.default_rng(0)
    model = FLGPRegressor(likelihood="poisson", random_state=0)
    for rate in (1e9, 3e13):
        expected = rate * np.exp(np.sin(angle))
        y = np.round(expected + np.sqrt(expected) * rng.standard_normal(60))
        mean, std = model.fit(X, y).predict(X, return_std=True)
        assert (np.abs(mean - expected) < 6 * std).all()
        assert (std < 3 * np.sqrt(mean)).all()
    with pytest.raises(ValueError, match="Poisson counts above 1e\\+14"):
        model.fit(X, np.full(60, 1e15))


@pytest.mark.parametrize("likelihood", ["poisson", "hurdle_poisson", "zero_inflated_poisson"])
def test_counts_that_propagation_would_take_minutes_over_are_refused(likelihood):
    X = np.linspace(0.0, 1.0, 20)[:, None]
    y = np.full(20, 4e12)
    with pytest.raises(ValueError, match=r"does not settle for counts above 1e\+09"):
        FLGPRegressor(likelihood=likelihood, inference="ep").fit(X, y)


@pytest.mark.parametrize(
    ("offset", "factor"),
    [(0.0, 1e-12), (0.0, 1e12), (1e3, 1.0), (-1e12, 1e9), (1e12, 1e12), (-1e-9, 1e-12), (1e6, 1e6)],
)
@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_shifted_and_scaled_points_leave_the_answers(kind, offset, factor):
    """All columns in another unit, from another origin: also the same anchors are chosen."""
    X, angle = ring(300)
    y = np.sin(3 * angle) + 0.1 * np.random.default_rng(0).standard_normal(300)
    if kind == "classes":
        y, model = (y > 0).astype(int), FLGPClassifier(**SMALL)
    else:
        model = FLGPRegressor(**SMALL)
    y[60:] = -1 if kind == "classes" else np.nan
    answer = model.predict_proba if kind == "classes" else model.predict
    model.fit(X, y)
    expected = answer(X)
    moved = offset + factor * X
    model.fit(moved, y)
    np.testing.assert_allclose(answer(moved), expected, rtol=0, atol=1e-3 * np.abs(expected).max())
