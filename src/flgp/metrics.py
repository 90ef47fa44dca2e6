"""Scores of predictions and of their stated uncertainty.

All are means over rows. Lower is better, except for coverage, which should equal its level. The scores
(negative log-likelihood, CRPS) are proper: on average no forecast beats the true distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import erf, ndtri

from . import _words
from ._typing import Array, IntArray

# Tolerance of row sums: probabilities may be float32.
_ROW_SUM_TOLERANCE = 1e-4
_SMALLEST = float(np.nextafter(0.0, 1.0))


@dataclass(frozen=True)
class ReliabilityCurve:
    """Stated confidence against observed accuracy, bin by bin; empty bins are left out.

    Examples
    --------
    >>> from flgp.metrics import reliability_curve
    >>> curve = reliability_curve([1, 1, 0, 1], [0.9, 0.9, 0.9, 0.9], classes=[0, 1])
    >>> curve.confidence, curve.accuracy, curve.count
    (array([0.9]), array([0.75]), array([4]))
    """

    confidence: Array  # (b,) mean stated probability
    accuracy: Array  # (b,) fraction of correct rows
    count: IntArray  # (b,) rows in the bin


def error_rate(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Fraction of rows with the wrong class.

    Examples
    --------
    >>> from flgp.metrics import error_rate
    >>> error_rate([0, 1, 1, 2], [0, 1, 2, 2])
    0.25
    """
    y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
    _check_rows(y_true, y_pred=y_pred)
    return float(np.mean(y_true != y_pred))


def negative_log_likelihood(y_true: npt.ArrayLike, proba: npt.ArrayLike, *, classes: npt.ArrayLike) -> float:
    """Proper negative log-likelihood -mean log p(y | x) of class probabilities, natural logarithm.

    Parameters
    ----------
    y_true : array-like, shape (n,)
        Classes.
    proba : array-like, shape (n, C) or (n,)
        Probabilities, with rows that sum to 1; one column is the probability of ``classes[1]`` of two.
    classes : array-like, shape (C,)
        The class of each column, such as an estimator's ``classes_``.

    Returns
    -------
    float
        For a true class with probability 0, the smallest positive float is used: 744.4 for that row instead
        of infinity. One such row still ruins the mean, as it should, but repeats can be averaged and an
        underflow does not count as certainty. No other probability is changed.

    Examples
    --------
    >>> from flgp.metrics import negative_log_likelihood
    >>> round(negative_log_likelihood(["a", "b"], [[0.8, 0.2], [0.5, 0.5]], classes=["a", "b"]), 4)
    0.4581
    """
    column, proba = _columns(y_true, proba, classes)
    stated = proba[np.arange(len(column)), column]
    return float(-np.mean(np.log(np.maximum(stated, _SMALLEST))))


def gaussian_negative_log_likelihood(y_true: npt.ArrayLike, mean: npt.ArrayLike, sd: npt.ArrayLike) -> float:
    """Proper negative log-likelihood of Gaussian predictions; `sd` is that of y, noise included.

    Examples
    --------
    >>> from flgp.metrics import gaussian_negative_log_likelihood
    >>> round(gaussian_negative_log_likelihood([0.0, 1.0], mean=[0.0, 0.0], sd=1.0), 4)
    1.1689
    """
    y, mean, sd = _gaussian(y_true, mean, sd, positive=True)
    return float(np.mean(((y - mean) / sd) ** 2 / 2 + np.log(sd) + np.log(2 * np.pi) / 2))


def reliability_curve(
    y_true: npt.ArrayLike,
    proba: npt.ArrayLike,
    *,
    classes: npt.ArrayLike,
    n_bins: int = 15,
    strategy: Literal["uniform", "quantile"] = "uniform",
) -> ReliabilityCurve:
    """Confidence in the most probable class against how often it is the true one.

    Parameters
    ----------
    y_true, proba, classes
        See `negative_log_likelihood`.
    n_bins : int
        Number of bins.
    strategy : {"uniform", "quantile"}
        Bins of equal width on [0, 1], or with equal numbers of rows (as far as ties allow).

    Returns
    -------
    ReliabilityCurve

    Examples
    --------
    >>> from flgp.metrics import reliability_curve
    >>> curve = reliability_curve([1, 0, 1, 1], [0.6, 0.6, 0.9, 0.9], classes=[0, 1])
    >>> curve.accuracy
    array([0.5, 1. ])
    """
    column, proba = _columns(y_true, proba, classes)
    if n_bins < 1:
        raise ValueError(f"n_bins={n_bins} must be at least 1.")
    _words.check_choice("strategy", strategy, ("uniform", "quantile"))
    confidence, right = proba.max(axis=1), proba.argmax(axis=1) == column
    edges = np.linspace(0, 1, n_bins + 1)
    if strategy == "quantile":
        edges = np.quantile(confidence, edges)
    bins = np.digitize(confidence, edges[1:-1], right=True)  # a bin includes its upper edge
    count = np.bincount(bins, minlength=n_bins)
    used = count > 0
    total_confidence = np.bincount(bins, weights=confidence, minlength=n_bins)
    total_right = np.bincount(bins, weights=right, minlength=n_bins)
    count = count[used]
    return ReliabilityCurve(total_confidence[used] / count, total_right[used] / count, count)


def expected_calibration_error(
    y_true: npt.ArrayLike,
    proba: npt.ArrayLike,
    *,
    classes: npt.ArrayLike,
    n_bins: int = 15,
    strategy: Literal["uniform", "quantile"] = "uniform",
) -> float:
    """Mean over rows of `|accuracy - confidence|` of the row's bin; see `reliability_curve`.

    Examples
    --------
    >>> from flgp.metrics import expected_calibration_error
    >>> round(expected_calibration_error([1, 0, 1, 1], [0.6, 0.6, 0.9, 0.9], classes=[0, 1]), 4)
    0.1
    """
    curve = reliability_curve(y_true, proba, classes=classes, n_bins=n_bins, strategy=strategy)
    return float(np.average(np.abs(curve.accuracy - curve.confidence), weights=curve.count))


def interval_coverage(y_true: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike) -> float:
    """Fraction of rows inside their interval, ends included.

    Examples
    --------
    >>> from flgp.metrics import interval_coverage
    >>> interval_coverage([0.0, 1.0, 2.0, 9.0], lower=[-1, 0, 1, 2], upper=[1, 2, 3, 4])
    0.75
    """
    y, lower, upper = (np.asarray(column, dtype=float) for column in (y_true, lower, upper))
    _check_rows(y, lower=lower, upper=upper)
    _check_finite(y_true=y)
    _refuse(np.isnan(lower) | np.isnan(upper), "lower and upper must not be NaN")
    _refuse(lower > upper, "lower is above upper")
    return float(np.mean((lower <= y) & (y <= upper)))


def gaussian_coverage(
    y_true: npt.ArrayLike, mean: npt.ArrayLike, sd: npt.ArrayLike, *, level: float = 0.95
) -> float:
    """Fraction of rows inside the central `level` interval of a Gaussian prediction.

    Examples
    --------
    >>> from flgp.metrics import gaussian_coverage
    >>> gaussian_coverage([0.0, 1.9, 2.1, 0.3], mean=[0, 0, 0, 0], sd=1.0, level=0.95)
    0.75
    """
    y, mean, sd = _gaussian(y_true, mean, sd)
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} must lie between 0 and 1.")
    half_width = ndtri((1 + level) / 2) * sd
    return interval_coverage(y, mean - half_width, mean + half_width)


def gaussian_crps(y_true: npt.ArrayLike, mean: npt.ArrayLike, sd: npt.ArrayLike) -> float:
    """Continuous ranked probability score of Gaussian predictions, in the units of y; sd 0: `|y - mean|`.

    Examples
    --------
    >>> from flgp.metrics import gaussian_crps
    >>> round(gaussian_crps([0.0], mean=[0.0], sd=1.0), 4)
    0.2337
    """
    y, mean, sd = _gaussian(y_true, mean, sd)
    error = np.abs(y - mean)
    with np.errstate(over="ignore"):  # a tiny sd makes z infinite, where erf and exp are still correct
        z = np.divide(error, sd, out=np.full_like(error, np.inf), where=sd > 0)
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return float(np.mean(error * erf(z / np.sqrt(2)) + sd * (2 * density - 1 / np.sqrt(np.pi))))


def sample_crps(y_true: npt.ArrayLike, samples: npt.ArrayLike) -> float:
    """Continuous ranked probability score from predictive draws, `E|Y - y| - ½ E|Y - Y'|`.

    Parameters
    ----------
    y_true : array-like, shape (n,)
        Observations.
    samples : array-like, shape (n, n_samples)
        At least two draws per row, as returned by `sample_y`.

    Returns
    -------
    float
        The "fair" estimate, in which Y and Y' are distinct draws: unbiased for the score of the distribution
        of the draws, however few there are. It may be slightly negative by chance.

    Examples
    --------
    >>> import numpy as np
    >>> from flgp.metrics import sample_crps
    >>> draws = np.random.default_rng(0).normal(size=(1, 20_000))
    >>> bool(abs(sample_crps([0.0], draws) - 0.2337) < 0.01)
    True
    """
    y, draws = np.asarray(y_true, dtype=float), np.asarray(samples, dtype=float)
    if draws.ndim != 2 or draws.shape[1] < 2:
        raise ValueError(f"samples has shape {draws.shape}: it must be (n, n_samples), two draws or more.")
    _check_rows(y, samples=draws[:, 0])
    _check_finite(y_true=y, samples=draws)
    count = draws.shape[1]
    # Σ_{i<j} |Y_i - Y_j| = Σ_k (2k - count + 1) Y_(k) over the sorted draws, k from 0.
    rank = 2 * np.arange(count) - count + 1
    spread = (np.sort(draws, axis=1) @ rank) / (count * (count - 1))
    return float(np.mean(np.abs(draws - y[:, None]).mean(axis=1) - spread))


def _columns(y_true: npt.ArrayLike, proba: npt.ArrayLike, classes: npt.ArrayLike) -> tuple[IntArray, Array]:
    """Column of the true class for every row, and the checked (n, C) probabilities."""
    y, classes, proba = np.asarray(y_true), np.asarray(classes), np.asarray(proba, dtype=float)
    if proba.ndim == 1:
        if len(classes) != 2:
            raise ValueError(f"proba has one column, which needs two classes, but got {len(classes)}.")
        proba = np.column_stack([1 - proba, proba])
    if proba.ndim != 2 or classes.ndim != 1 or proba.shape[1] != len(classes):
        raise ValueError(f"proba has shape {proba.shape}: it needs one column for each of {classes}.")
    _check_rows(y, proba=proba[:, 0])
    _check_finite(proba=proba)
    _refuse(proba.min(axis=1) < 0, "proba is negative")
    _refuse(np.abs(proba.sum(axis=1) - 1) > _ROW_SUM_TOLERANCE, "proba does not sum to 1")
    if len(set(classes.tolist())) < len(classes):
        raise ValueError(f"classes must be distinct: {classes}.")
    match = np.asarray(y[:, None] == classes)
    _refuse(~match.any(axis=1), f"y_true is not among the classes {classes}")
    return match.argmax(axis=1), proba


def _gaussian(
    y_true: npt.ArrayLike, mean: npt.ArrayLike, sd: npt.ArrayLike, *, positive: bool = False
) -> tuple[Array, Array, Array]:
    y, mean, sd = (np.asarray(column, dtype=float) for column in (y_true, mean, sd))
    if sd.ndim == 0:
        sd = np.full(mean.shape, sd)
    _check_rows(y, mean=mean, sd=sd)
    _check_finite(y_true=y, mean=mean, sd=sd)
    if positive:
        _refuse(sd <= 0, "sd must be positive")
    _refuse(sd < 0, "sd must not be negative")
    return y, mean, sd


def _check_rows(y_true: npt.NDArray[np.generic], **others: npt.NDArray[np.generic]) -> None:
    if y_true.ndim != 1 or len(y_true) == 0:
        raise ValueError(f"y_true has shape {y_true.shape}: it must be one column with at least one row.")
    for name, other in others.items():
        if other.shape != y_true.shape:
            raise ValueError(f"{name} has shape {other.shape}, but y_true has {y_true.shape}.")


def _check_finite(**columns: Array) -> None:
    for name, column in columns.items():
        finite = np.isfinite(column).reshape(len(column), -1)
        _refuse(~finite.all(axis=1), f"{name} must be finite")


def _refuse(bad: npt.ArrayLike, why: str) -> None:
    """Raise a ValueError that names the first offending rows."""
    rows = np.flatnonzero(bad)
    if len(rows):
        raise ValueError(f"{why}: row(s) {_words.listed(rows[:5], len(rows))}.")
