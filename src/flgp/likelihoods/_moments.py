"""Weighted summaries of the labels, for starting values and bounds."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from .observations import SMALLEST

# Units in the last place of the mean that sums over labels may be wrong by.
_ROUNDING = 16.0


def weighted_mean(values: Array, weight: Array) -> float:
    """Σ w v / Σ w."""
    return float(np.average(values, weights=weight))


def weighted_quantile(values: Array, weight: Array, level: float) -> float:
    """The smallest value with at least this share of the weight at or below it."""
    order = np.argsort(values)
    share = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(share, level * share[-1])])


def weighted_median(values: Array, weight: Array) -> float:
    """The smallest value with at least half of the weight at or below it."""
    return weighted_quantile(values, weight, 0.5)


def positive_spread(spread: float, center: float) -> float:
    """A positive spread: for constant (or single) labels |center|, or 1 if that is 0 too.

    Labels are constant if they vary no more than by rounding at their size, so that a large offset does not
    hide what varies. The square of the result is positive as well.
    """
    if spread > _ROUNDING * np.spacing(abs(center)):
        return max(spread, SMALLEST)
    return max(abs(center), SMALLEST) if center else 1.0
