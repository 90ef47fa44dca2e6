"""Quantiles of the predictive distribution of y."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from .._typing import Array, IntArray
from ..likelihoods import Likelihood

_MAX_STEPS = 200
# Of an end of an interval, in standard deviations.
_ACCURACY = 1e-10
# Values of f with a smaller share than this change no digit of a probability.
_LIGHTEST = 1e-13
# Steps that interpolation may lose against bisection.
_EXTRA = 6
# Probabilities that interpolation tells apart from 0 and 1.
_SMALLEST = 1e-15


# P(Y ≤ y) for y (n,) in rows (n,) of a table of points.
Probability = Callable[[Array, IntArray], Array]


def predictive_quantiles(
    parts: Sequence[tuple[float, Likelihood]],
    latent: Sequence[tuple[Array, Array]],
    levels: Sequence[float],
    size: Array | None = None,
) -> Array:
    """Smallest y with P(Y ≤ y) ≥ level, (b, len(levels)), under a mixture of components (weight, likelihood).

    `latent` has values (k, b) of f and their shares (k,), which stand for its marginals, under each; `size`
    (b,) are the exposures or trials of the rows.
    """
    discrete, largest = parts[0][1].discrete, parts[0][1].largest
    latent = [(values[shares > _LIGHTEST], shares[shares > _LIGHTEST]) for values, shares in latent]
    mixed = [(*part, *nodes) for part, nodes in zip(parts, latent, strict=True)]

    def probability(y: Array, rows: IntArray) -> Array:
        total = np.zeros(len(y))
        for weight, likelihood, values, shares in mixed:
            own, f = likelihood if size is None else likelihood.of_size(size[rows]), values[:, rows]
            total += weight * (shares @ own.cdf(np.broadcast_to(y, f.shape), f))
        return total

    center, spread = _center_and_spread(mixed, size)
    n = len(center)
    # Every level of every row; those that are found are asked about no more.
    rows, level = np.tile(np.arange(n), len(levels)), np.repeat(np.asarray(levels, dtype=float), n)
    center, spread = center[rows], spread[rows]
    low, high = _bracket(probability, rows, center, spread, level, discrete)
    high = np.minimum(high, largest)
    around_zero = np.flatnonzero((low < 0) & (high > 0))
    if not discrete and len(around_zero):
        # Amounts are not negative, and may be exactly 0 with a probability of their own.
        enough = probability(np.zeros(len(around_zero)), rows[around_zero]) >= level[around_zero]
        low[around_zero[~enough]] = 0.0
        high[around_zero[enough]] = 0.0
    ends = _narrowed(probability, rows, low, high, level, None if discrete else spread)
    return ends.reshape(len(levels), n).T


def _center_and_spread(
    mixed: Sequence[tuple[float, Likelihood, Array, Array]], size: Array | None
) -> tuple[Array, Array]:
    """Mean and standard deviation (b,) of y."""
    each = [
        (weight, likelihood if size is None else likelihood.of_size(size), values, shares)
        for weight, likelihood, values, shares in mixed
    ]
    center = np.asarray(
        sum(weight * shares @ own.conditional_mean(values) for weight, own, values, shares in each)
    )
    # Where the mean is large compared with the spread, the ends must be accurate in units of the spread. Off
    # the geometry exp(f) may have no spread that is a number.
    with np.errstate(over="ignore"):
        variance = sum(
            weight
            * shares
            @ (own.conditional_variance(values) + (own.conditional_mean(values) - center) ** 2)
            for weight, own, values, shares in each
        )
        return center, np.sqrt(np.asarray(variance))


def _narrowed(
    probability: Probability, rows: IntArray, low: Array, high: Array, level: Array, spread: Array | None
) -> Array:
    """Upper ends (n,) of brackets P(low) < level ≤ P(high) made narrow; without a spread, whole numbers.

    By interpolation, truncated and projected so that no case takes more than `_EXTRA` steps more than
    bisection (Oliveira & Takahashi 2020, "ITP").
    """

    def gap_at(y: Array, which: IntArray) -> Array:
        # In the scale of a normal distribution, in which tails are nearly straight.
        found = np.clip(probability(y, rows[which]), _SMALLEST, 1.0 - _SMALLEST)
        return np.asarray(ndtri(found) - ndtri(level[which]))

    every = np.arange(len(low))
    below, above = gap_at(low, every), gap_at(high, every)
    start = np.maximum(high - low, 1e-300)
    room = 2.0 ** (_EXTRA - 1) * start  # what the bracket may be after the next step
    last: Array = np.full(len(low), 0.5)  # 1 if the upper end moved, 0 if the lower one did
    for _ in range(_MAX_STEPS):
        middle, width = 0.5 * (low + high), high - low
        enough = np.ones_like(middle)
        if spread is not None:
            enough = np.fmin(1e-10 * (1.0 + np.abs(middle)), _ACCURACY * spread)  # it may be none
        enough = np.maximum(enough, 2.0 * np.spacing(np.abs(high)))  # there are no numbers between
        wide = np.flatnonzero(width > enough)
        if not len(wide):
            break
        rise = above - below
        share = np.divide(-below, rise, out=np.full_like(rise, 0.5), where=rise > 0)
        crossing = low + np.clip(share, 0.0, 1.0) * width
        # A little towards the middle, so that both ends move.
        toward, off = np.sign(middle - crossing), np.abs(middle - crossing)
        least = np.minimum(0.5 * enough, 0.25 * width)
        guess = crossing + toward * np.minimum(off, np.maximum(0.2 * width * (width / start), least))
        reach = np.maximum(room - 0.5 * width, 0.0)
        guess = np.clip(guess, middle - reach, middle + reach)
        if spread is None:
            guess = np.clip(np.floor(guess), low + 1.0, high - 1.0)
        guess, gap = guess[wide], gap_at(guess[wide], wide)
        right = gap >= 0
        # An end that stays twice pulls half as much ("Illinois"), so that it comes along, too.
        pull = np.where(right == last[wide], 0.5, 1.0)
        down, up = wide[right], wide[~right]
        high[down], above[down] = guess[right], gap[right]
        low[up], below[up] = guess[~right], gap[~right]
        below[down] *= pull[right]
        above[up] *= pull[~right]
        last[wide], room = right, 0.5 * room
    return high


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
        with np.errstate(over="ignore"):  # far from a part without spread
            above = weights @ ndtr((middle - mean) / sd) >= level
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return 0.5 * (low + high)


def _bracket(
    probability: Probability, rows: IntArray, center: Array, spread: Array, level: Array, discrete: bool
) -> tuple[Array, Array]:
    """Ends (n,) with P(low) < level ≤ P(high); for counts low may be -1."""
    # In units of the spread, whatever the unit of y; heavy tails may have none.
    start = np.where(np.isfinite(spread) & (spread > 0), 4.0 * spread, np.maximum(np.abs(center), 1.0))
    start = np.maximum(start, 1e-15 * np.abs(center))
    if discrete:
        start = np.ceil(np.maximum(start, 1.0))
        low, high = np.maximum(np.floor(center) - start, -1.0), np.ceil(center)
    else:
        low, high = center - start, center + start
    lowest = -1.0 if discrete else -np.inf
    width, left = start.copy(), np.arange(len(level))
    for _ in range(_MAX_STEPS):
        left = left[probability(high[left], rows[left]) < level[left]]
        if not len(left):
            break
        high[left] += width[left]
        width[left] *= 2.0
    width, left = start.copy(), np.arange(len(level))
    for _ in range(_MAX_STEPS):
        left = left[(probability(low[left], rows[left]) >= level[left]) & (low[left] > lowest)]
        if not len(left):
            break
        low[left] = np.maximum(low[left] - width[left], lowest)
        width[left] *= 2.0
    return low, high
