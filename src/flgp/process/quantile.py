"""Quantiles of the predictive distribution of y."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from .._typing import Array
from ..likelihoods import Likelihood

_MAX_STEPS = 200
# Of an end of an interval, in standard deviations.
_ACCURACY = 1e-6
# Values of f with a smaller share than this change no digit of a probability.
_LIGHTEST = 1e-13
# Steps that interpolation may lose against bisection.
_EXTRA = 6
# Probabilities that interpolation tells apart from 0 and 1.
_SMALLEST = 1e-15


def predictive_quantile(
    parts: Sequence[tuple[float, Likelihood]], latent: Sequence[tuple[Array, Array]], level: float
) -> Array:
    """Smallest y with P(Y ≤ y) ≥ level, (b,), under a mixture of components (weight, likelihood).

    `latent` has values (k, b) of f and their shares (k,), which stand for its marginals, under each.
    """
    discrete = parts[0][1].discrete
    latent = [(values[shares > _LIGHTEST], shares[shares > _LIGHTEST]) for values, shares in latent]

    def probability(y: Array) -> Array:
        total = np.zeros(len(y))
        for (weight, likelihood), (values, shares) in zip(parts, latent, strict=True):
            total += weight * (shares @ likelihood.cdf(np.broadcast_to(y, values.shape), values))
        return total

    center = sum(
        weight * shares @ likelihood.conditional_mean(values)
        for (weight, likelihood), (values, shares) in zip(parts, latent, strict=True)
    )
    # Where the mean is large compared with the spread, the ends must be accurate in units of the spread. Off
    # the geometry exp(f) may have no spread that is a number.
    with np.errstate(over="ignore"):
        square: Array | float = 0.0
        for (weight, likelihood), (values, shares) in zip(parts, latent, strict=True):
            away = (likelihood.conditional_mean(values) - center) ** 2
            square = square + weight * shares @ (likelihood.conditional_variance(values) + away)
        spread = np.sqrt(square)
    low, high = _bracket(probability, np.asarray(center, float), np.asarray(spread), level, discrete)
    high = np.minimum(high, parts[0][1].largest)
    around_zero = (low < 0) & (high > 0)
    if not discrete and around_zero.any():
        # Amounts are not negative, and may be exactly 0 with a probability of their own.
        enough = probability(np.zeros_like(high)) >= level
        low = np.where(around_zero & ~enough, 0.0, low)
        high = np.where(around_zero & enough, 0.0, high)
    return _narrowed(probability, low, high, level, None if discrete else spread)[1]


def _narrowed(
    probability: Callable[[Array], Array], low: Array, high: Array, level: float, spread: Array | None
) -> tuple[Array, Array]:
    """Ends (b,) that are close together, with P(low) < level ≤ P(high); without a spread, whole numbers.

    By interpolation, truncated and projected so that no case takes more than `_EXTRA` steps more than
    bisection (Oliveira & Takahashi 2020, "ITP").
    """

    def gap_at(y: Array) -> Array:
        # In the scale of a normal distribution, in which tails are nearly straight.
        return ndtri(np.clip(probability(y), _SMALLEST, 1.0 - _SMALLEST)) - ndtri(level)

    below, above = gap_at(low), gap_at(high)
    start = np.maximum(high - low, 1e-300)
    room = 2.0 ** (_EXTRA - 1) * start  # what the bracket may be after the next step
    last: Array = np.full(len(low), 0.5)  # 1 if the upper end moved, 0 if the lower one did
    for _ in range(_MAX_STEPS):
        middle, width = 0.5 * (low + high), high - low
        enough = 1.0
        if spread is not None:
            enough = np.minimum(1e-10 * (1.0 + np.abs(middle)), _ACCURACY * spread)
        if (width <= enough).all():
            break
        rise = above - below
        share = np.divide(-below, rise, out=np.full_like(rise, 0.5), where=rise > 0)
        crossing = low + np.clip(share, 0.0, 1.0) * width
        # A little towards the middle, so that both ends move.
        toward, off = np.sign(middle - crossing), np.abs(middle - crossing)
        least = np.minimum(0.5 * np.asarray(enough), 0.25 * width)
        guess = crossing + toward * np.minimum(off, np.maximum(0.2 * width * (width / start), least))
        reach = np.maximum(room - 0.5 * width, 0.0)
        guess = np.clip(guess, middle - reach, middle + reach)
        if spread is None:
            guess = np.clip(np.floor(guess), low + 1.0, high - 1.0)
        gap = gap_at(guess)
        right = gap >= 0
        # An end that stays twice pulls half as much ("Illinois"), so that it comes along, too.
        pull = np.where(right == last, 0.5, 1.0)
        low, below = np.where(right, low, guess), np.where(right, pull * below, gap)
        high, above = np.where(right, guess, high), np.where(right, gap, pull * above)
        last, room = right.astype(float), 0.5 * room
    return low, high


def mixture_quantile(parts: Sequence[tuple[float, Array, Array]], level: float) -> Array:
    """Quantile (b,) of a mixture of Gaussians.

    Each of the `parts` (weight, means, standard deviations) is an equal mixture of k Gaussians, arrays (k,
    b).
    """
    weights = np.concatenate([np.full(len(mean), weight / len(mean)) for weight, mean, _ in parts])
    weights = weights / weights.sum()
    mean = np.concatenate([mean for _, mean, _ in parts])
    sd = np.maximum(np.concatenate([sd for _, _, sd in parts]), 1e-300)
    ends = mean + ndtri(level) * sd
    if len(mean) == 1:
        return ends[0]
    # Between the smallest and the largest of the components' own quantiles.
    low, high = ends.min(axis=0), ends.max(axis=0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = weights @ ndtr((middle - mean) / sd) >= level
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return 0.5 * (low + high)


def _bracket(
    probability: Callable[[Array], Array], center: Array, spread: Array, level: float, discrete: bool
) -> tuple[Array, Array]:
    """Ends with P(low) < level ≤ P(high); for counts low may be -1."""
    # In units of the spread, whatever the unit of y; heavy tails may have none.
    start = np.where(np.isfinite(spread) & (spread > 0), 4.0 * spread, np.maximum(np.abs(center), 1.0))
    start = np.maximum(start, 1e-15 * np.abs(center))
    if discrete:
        start = np.ceil(np.maximum(start, 1.0))
        low, high = np.maximum(np.floor(center) - start, -1.0), np.ceil(center)
    else:
        low, high = center - start, center + start
    width = start
    for _ in range(_MAX_STEPS):
        short = probability(high) < level
        if not short.any():
            break
        high = np.where(short, high + width, high)
        width = np.where(short, 2 * width, width)
    width = start
    for _ in range(_MAX_STEPS):
        long = probability(low) >= level
        if not (long & (low > -1.0) if discrete else long).any():
            break
        low = np.where(long, np.maximum(low - width, -1.0) if discrete else low - width, low)
        width = np.where(long, 2 * width, width)
    return low, high
