"""Scores against scikit-learn, closed forms, numerical integrals and simulation."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.metrics import log_loss

from flgp.metrics import (
    error_rate,
    expected_calibration_error,
    gaussian_coverage,
    gaussian_crps,
    gaussian_negative_log_likelihood,
    interval_coverage,
    negative_log_likelihood,
    reliability_curve,
    sample_crps,
)

RNG_SEED = 0


@pytest.fixture
def three_classes():
    """Labels drawn from their stated probabilities: perfectly calibrated."""
    rng = np.random.default_rng(RNG_SEED)
    proba = rng.dirichlet([1, 1, 1], size=20_000)
    drawn = (rng.uniform(size=(20_000, 1)) > proba.cumsum(axis=1)).sum(axis=1).clip(max=2)
    classes = np.array(["cat", "dog", "ape"])  # not sorted
    return classes[drawn], proba, classes


def test_error_rate():
    assert error_rate(["a", "b", "b", "a"], ["a", "b", "a", "a"]) == 0.25


def test_nll_agrees_with_scikit_learn(three_classes):
    y, proba, classes = three_classes
    order = np.argsort(classes)
    expected = log_loss(y, proba[:, order], labels=classes[order])
    assert negative_log_likelihood(y, proba, classes=classes) == pytest.approx(expected, rel=1e-12)


def test_nll_of_one_column():
    y, p = np.array([0, 1, 1]), np.array([0.2, 0.7, 0.9])
    expected = -np.mean(np.log([0.8, 0.7, 0.9]))
    assert negative_log_likelihood(y, p, classes=[0, 1]) == pytest.approx(expected)
    assert negative_log_likelihood(1 - y, p, classes=[1, 0]) == pytest.approx(expected)


def test_nll_of_impossible_is_huge_and_finite():
    proba = np.array([[1.0, 0.0], [0.5, 0.5]])
    score = negative_log_likelihood([1, 1], proba, classes=[0, 1])
    assert score == pytest.approx((-np.log(5e-324) + np.log(2)) / 2)
    # Nothing else is clipped.
    tiny = np.array([[1.0, 1e-300]])
    assert negative_log_likelihood([1], tiny, classes=[0, 1]) == pytest.approx(300 * np.log(10))


def test_nll_is_proper(three_classes):
    y, proba, classes = three_classes
    best = negative_log_likelihood(y, proba, classes=classes)
    for power in (0.7, 1.4):
        other = proba**power
        other /= other.sum(axis=1, keepdims=True)
        assert negative_log_likelihood(y, other, classes=classes) > best


def test_gaussian_nll_is_the_density():
    rng = np.random.default_rng(1)
    y, mean, sd = rng.normal(size=9), rng.normal(size=9), rng.uniform(0.5, 2, 9)
    expected = -norm(mean, sd).logpdf(y).mean()
    assert gaussian_negative_log_likelihood(y, mean, sd) == pytest.approx(expected)
    expected = -norm(mean, 2.0).logpdf(y).mean()
    assert gaussian_negative_log_likelihood(y, mean, 2.0) == pytest.approx(expected)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_calibrated_probabilities_have_no_calibration_error(three_classes, strategy):
    y, proba, classes = three_classes
    assert expected_calibration_error(y, proba, classes=classes, strategy=strategy) < 0.02
    curve = reliability_curve(y, proba, classes=classes, strategy=strategy)
    assert curve.count.sum() == len(y)
    well_filled = curve.count > 300
    np.testing.assert_allclose(curve.accuracy[well_filled], curve.confidence[well_filled], atol=0.06)
    assert (np.diff(curve.confidence) > 0).all()


def test_calibration_error_by_hand():
    # Confidence 0.9 twice (one right), 0.6 twice (both right): |0.5 - 0.9|/2 + |1 - 0.6|/2.
    proba = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.6, 0.4]])
    score = expected_calibration_error([0, 1, 1, 0], proba, classes=[0, 1], n_bins=10)
    assert score == pytest.approx(0.4)
    one_bin = expected_calibration_error([0, 1, 1, 0], proba, classes=[0, 1], n_bins=1)
    assert one_bin == pytest.approx(0.0)


def test_certain_and_right_is_calibrated():
    curve = reliability_curve([0, 1], np.eye(2), classes=[0, 1])
    np.testing.assert_array_equal(curve.confidence, [1.0])
    np.testing.assert_array_equal(curve.count, [2])


def test_quantile_bins_are_even(three_classes):
    y, proba, classes = three_classes
    count = reliability_curve(y, proba, classes=classes, n_bins=8, strategy="quantile").count
    np.testing.assert_array_equal(count, 2500)


def test_coverage():
    assert interval_coverage([0, 1, 2, 3], [0, 0, 0, 0], [0, 2, 1, np.inf]) == 0.75
    rng = np.random.default_rng(2)
    mean, sd = rng.normal(size=50_000), rng.uniform(0.1, 3, 50_000)
    y = rng.normal(mean, sd)
    for level in (0.5, 0.9):
        assert gaussian_coverage(y, mean, sd, level=level) == pytest.approx(level, abs=0.01)


@pytest.mark.parametrize(("y", "mean", "sd"), [(0.3, 0.0, 1.0), (-2.0, 1.0, 0.5), (4.0, 3.9, 2.0)])
def test_gaussian_crps_is_the_integral(y, mean, sd):
    below = quad(lambda x: norm.cdf(x, mean, sd) ** 2, mean - 12 * sd, y)[0]
    above = quad(lambda x: norm.sf(x, mean, sd) ** 2, y, mean + 12 * sd)[0]
    assert gaussian_crps([y], [mean], [sd]) == pytest.approx(below + above, rel=1e-6)


def test_gaussian_crps_of_certainty_is_the_absolute_error():
    assert gaussian_crps([1.0, 2.0], [1.5, 2.0], [0.0, 0.0]) == pytest.approx(0.25)
    assert gaussian_crps([1.0], [1.5], [1e-320]) == pytest.approx(0.5)


def test_sample_crps_is_the_average_over_distinct_pairs():
    rng = np.random.default_rng(3)
    y, draws = rng.normal(size=4), rng.normal(size=(4, 6))
    expected = []
    for value, row in zip(y, draws, strict=True):
        pairs = [abs(a - b) for i, a in enumerate(row) for j, b in enumerate(row) if i != j]
        expected.append(np.mean(np.abs(row - value)) - np.mean(pairs) / 2)
    assert sample_crps(y, draws) == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("n_samples", [2, 50])
def test_sample_crps_is_unbiased(n_samples):
    rng = np.random.default_rng(4)
    n = 100_000 // n_samples * 2
    mean, sd = rng.normal(size=n), rng.uniform(0.5, 2, n)
    y = rng.normal(size=n)
    draws = rng.normal(mean[:, None], sd[:, None], size=(n, n_samples))
    assert sample_crps(y, draws) == pytest.approx(gaussian_crps(y, mean, sd), abs=0.02)


BINARY = np.array([[0.4, 0.6], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: error_rate([1, 2], [1]), "y_pred has shape"),
        (lambda: error_rate([], []), "at least one row"),
        (lambda: error_rate([[1]], [[1]]), "one column"),
        (lambda: negative_log_likelihood([0, 2], BINARY, classes=[0, 1]), r"not among the classes.*1\."),
        (lambda: negative_log_likelihood(["a", "b"], BINARY, classes=[0, 1]), "not among the classes"),
        (lambda: negative_log_likelihood([0, 1], BINARY, classes=[0, 1, 2]), "needs one column"),
        (lambda: negative_log_likelihood([0, 1], [0.5, 0.5], classes=[0, 1, 2]), "two classes"),
        (lambda: negative_log_likelihood([0, 1], BINARY, classes=[1, 1]), "distinct"),
        (lambda: negative_log_likelihood([0, 1], BINARY * 2, classes=[0, 1]), r"sum to 1: row\(s\) 0, 1"),
        (lambda: negative_log_likelihood([0, 1], BINARY - [1, -1], classes=[0, 1]), "negative"),
        (lambda: negative_log_likelihood([0, 1], BINARY * np.nan, classes=[0, 1]), "finite"),
        (lambda: negative_log_likelihood([0], BINARY, classes=[0, 1]), "proba has shape"),
        (lambda: reliability_curve([0, 1], BINARY, classes=[0, 1], n_bins=0), "n_bins"),
        (lambda: reliability_curve([0, 1], BINARY, classes=[0, 1], strategy="kmeans"), "strategy"),
        (lambda: gaussian_negative_log_likelihood([0.0], [0.0], [0.0]), "sd must be positive"),
        (lambda: gaussian_negative_log_likelihood([np.nan], [0.0], [1.0]), "y_true must be finite"),
        (lambda: gaussian_crps([0.0], [0.0], [-1.0]), "sd must not be negative"),
        (lambda: gaussian_coverage([0.0], [0.0], [1.0], level=90), "level"),
        (lambda: interval_coverage([0.0], [1.0], [0.0]), "lower is above upper"),
        (lambda: interval_coverage([0.0], [np.nan], [0.0]), "NaN"),
        (lambda: sample_crps([0.0], [1.0]), "n_samples"),
        (lambda: sample_crps([0.0, 1.0], [[1.0, 2.0]]), "samples has shape"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_many_bad_rows_are_counted():
    with pytest.raises(ValueError, match=r"0, 1, 2, 3, 4 and 3 more"):
        gaussian_crps(np.zeros(8), np.zeros(8), -np.ones(8))
