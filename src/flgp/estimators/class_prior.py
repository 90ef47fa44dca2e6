"""Known shares of the classes: probabilities that agree with them over all points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from .._typing import Array

_ROUNDS, _TOLERANCE, _LONGEST = 100, 1e-9, 5.0
# Shares must sum to 1 up to this.
_ROUNDING = 1e-6


def with_prior_classes(labeled: Array, given: Any) -> Array:
    """All classes, sorted: those among the labels, in any order, and those that shares name."""
    classes = np.unique(labeled)
    if not isinstance(given, Mapping):
        return classes
    known = set(classes.tolist())
    more = [name for name in given if name not in known]
    kinds = "US" if classes.dtype.kind in "US" else "biuf"
    for name in more:
        if np.asarray(name).ndim or np.asarray(name).dtype.kind not in kinds or name != name:
            raise ValueError(
                f"class_prior names {name!r}, which is not a class like {classes.tolist()[0]!r}. "
                "Use the names that the labels have."
            )
    return np.unique(np.concatenate([classes, np.asarray(more)])) if more else classes


def check_class_prior(given: Any, classes: Array) -> Array | str | None:
    """Shares (C,) in the order of `classes`; "labels" and None as they are."""
    if given is None or (isinstance(given, str) and given == "labels"):
        return given
    if isinstance(given, str):
        if given != "uniform":
            raise ValueError(f"class_prior={given!r} is not known. Use 'uniform', 'labels', shares, or None.")
        return np.full(len(classes), 1.0 / len(classes))
    if isinstance(given, Mapping):
        names = classes.tolist()
        if absent := [name for name in names if name not in given]:
            raise ValueError(f"class_prior has no share for the class {absent[0]!r}. Add it.")
        given = [given[name] for name in names]
    try:
        shares = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError("class_prior must be numbers, a share for each class.") from error
    if shares.shape != (len(classes),):
        raise ValueError(
            f"class_prior has shape {shares.shape}, but there are {len(classes)} classes among the labels."
        )
    if not np.isfinite(shares).all() or (shares <= 0).any():
        raise ValueError("class_prior must be positive shares. Leave out classes that do not occur.")
    if abs(float(shares.sum()) - 1.0) > _ROUNDING:
        raise ValueError(f"class_prior sums to {shares.sum():g}, not to 1. Divide it by its sum.")
    return shares / shares.sum()


def log_odds_shift(p: Array, shares: Array, start: Array | None = None) -> Array:
    """Numbers (C,) to add to the log probabilities p (n, C), so that their mean over the rows is `shares`."""
    log_p = np.log(np.maximum(p, np.finfo(float).tiny))
    shift = np.zeros(p.shape[1]) if start is None else start

    def excess(at: Array) -> tuple[float, Array, Array]:
        """A convex function whose gradient is what the mean probabilities have too much; and these."""
        log_sum = logsumexp(log_p + at, axis=1)
        q = np.exp(log_p + at - log_sum[:, None])
        return float(log_sum.mean() - shares @ at), q.mean(axis=0) - shares, q

    value, gap, q = excess(shift)
    for _ in range(_ROUNDS):
        if np.abs(gap).max() < _TOLERANCE:
            break
        # Newton; the shift of all classes by the same number is free, so the curvature is singular.
        curvature = np.diag(q.mean(axis=0)) - q.T @ q / len(q)
        step = np.linalg.lstsq(curvature + 1e-12 * np.eye(len(gap)), -gap, rcond=1e-12)[0]
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))
        length = 1.0
        while (new := excess(shift + length * step))[0] > value and length > 1e-6:
            length *= 0.5
        shift = shift + length * step
        value, gap, q = new
    return shift - shift.mean()


def shifted(log_p: Array, shift: Array) -> Array:
    """Probabilities (n, C) with a shift of their log odds."""
    return np.exp(log_softmax(log_p + shift, axis=1))


def soft_shares(p: Array, counts: Array) -> Array:
    """Shares that the labels suggest: as much theirs as the model's own, for labels are few and noisy."""
    return 0.5 * p.mean(axis=0) + 0.5 * (counts + 1.0) / (counts.sum() + len(counts))
