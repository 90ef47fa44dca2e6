"""Quantiles of the predictive distribution of y."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._typing import Array
from ..likelihoods import Likelihood

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_MAX_STEPS = 200


def predictive_quantile(
    parts: Sequence[tuple[float, Likelihood]], latent: Sequence[tuple[Array, Array]], level: float
) -> Array:
    """Smallest y with P(Y ≤ y) ≥ level, (b,), under a mixture.

    Parameters
    ----------
    parts : (weight, likelihood) of each component
    latent : (mean, variance) of f under each component, arrays (b,)
    level : float in (0, 1)
    """
    discrete = parts[0][1].discrete

    def probability(y: Array) -> Array:
        total = np.zeros(len(y))
        for (weight, likelihood), (mean, variance) in zip(parts, latent, strict=True):
            sd = np.sqrt(variance)
            for node, share in zip(_NODES, _WEIGHTS, strict=True):
                total += weight * share * likelihood.cdf(y, mean + node * sd)
        return total

    center = sum(w * lik.predictive_mean(*f) for (w, lik), f in zip(parts, latent, strict=True))
    low, high = _bracket(probability, np.asarray(center, float), level, discrete)
    for _ in range(_MAX_STEPS):
        middle = np.floor((low + high) / 2) if discrete else (low + high) / 2
        if discrete and (high - low <= 1).all():
            break
        if not discrete and (high - low <= 1e-10 * (1.0 + np.abs(middle))).all():
            break
        above = probability(middle) >= level
        high = np.where(above, middle, high)
        low = np.where(above, low, middle)
    return high


def _bracket(probability, center: Array, level: float, discrete: bool) -> tuple[Array, Array]:  # type: ignore[no-untyped-def]
    """Ends with P(low) < level ≤ P(high); for counts low may be -1."""
    width = np.ceil(np.maximum(np.abs(center), 1.0))
    if discrete:
        low, high = np.full(len(center), -1.0), np.ceil(center)
    else:
        low, high = center - width, center + width
    for _ in range(_MAX_STEPS):
        short = probability(high) < level
        if not short.any():
            break
        high = np.where(short, high + width, high)
        width = np.where(short, 2 * width, width)
    width = np.maximum(np.abs(center), 1.0)
    for _ in range(0 if discrete else _MAX_STEPS):
        long = probability(low) >= level
        if not long.any():
            break
        low = np.where(long, low - width, low)
        width = np.where(long, 2 * width, width)
    return low, high
