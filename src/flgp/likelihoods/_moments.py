"""Weighted summaries of the labels, for starting values and bounds."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from .observations import SMALLEST


def weighted_mean(values: Array, weight: Array) -> float:
    """Σ w v / Σ w."""
    return float(np.average(values, weights=weight))


def weighted_median(values: Array, weight: Array) -> float:
    """The smallest value with at least half of the weight at or below it."""
    order = np.argsort(values)
    share = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(share, 0.5 * share[-1])])


def positive_spread(spread: float, center: float) -> float:
    """A positive spread: for constant (or single) labels |center|, or 1 if that is 0 too.

    Its square is positive as well.
    """
    if spread > 1e-10 * abs(center):
        return max(spread, SMALLEST)
    return max(abs(center), SMALLEST) if center else 1.0
