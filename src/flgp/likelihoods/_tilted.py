"""Moments of the tilted density N(f; mean, variance) · p(y | f)^weight by adaptive quadrature, row by row.

Everything is done in x = (f - mean) / sd, so that a variance of 0 needs no special case. The density may be
far from Gaussian: for a count of 0 under a wide Gaussian it is a plateau with a steep edge, for an outlier it
has two peaks. So panels around the mode are halved until the density is smooth enough for Gauss-Legendre on
each of them, for all rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._typing import Array, BoolArray, IntArray
from ._panels import adaptive_panels, sum_by_row
from .observations import Observations

if TYPE_CHECKING:
    from ._base import Likelihood

# Integration stops where the density has fallen by exp(-_DROP): the tail is below 1e-13 of the integral.
_DROP = 32.0
_HIGHEST = 600.0
# The quadratic prior term alone makes the density fall that far within this many units of x.
_FARTHEST = np.sqrt(2.0 * _DROP)
_NARROWEST = 1e-13
# A mode is found to this share of its width; closer ones are the same.
_MODE_TOLERANCE, _SAME_MODE = 0.01, 0.05
_MODE_STEPS = 200
# Rows per batch: their temporaries fit in the cache, and memory stays bounded.
_BLOCK = 1024
_REACH_STEPS = 12
# Without log-concavity the density may not fall steadily: the first panels grow away from the modes.
_FAR_OFF = 100.0
_EVERY_SCALE, _GROWTH = np.arange(-5.0, 1.0)[:, None], np.log(6.0)


class Tilted(NamedTuple):
    """log Z of the tilted density and its derivatives in the mean of the Gaussian, each of shape (m,)."""

    log_normalizer: Array
    gradient: Array  # ∂ log Z / ∂ mean
    curvature: Array  # -∂² log Z / ∂ mean²


class _Rule(NamedTuple):
    """A quadrature of the tilted density: nodes with their rows and probabilities, (k, P)."""

    obs: Observations  # of the row of each panel, (P,)
    row: IntArray  # (P,)
    x: Array
    f: Array
    probability: Array  # sums to 1 over the nodes of a row
    log_normalizer: Array  # (m,)

    def expectation(self, values: Array) -> Array:
        """E[values] of every row, (m,), for values (k, P) at the nodes."""
        return sum_by_row(self.row, np.sum(self.probability * values, axis=0), len(self.log_normalizer))

    def take(self, panels: BoolArray) -> _Rule:
        """Some of the panels."""
        x, f, probability = (values[:, panels] for values in (self.x, self.f, self.probability))
        return _Rule(self.obs.take(panels), self.row[panels], x, f, probability, self.log_normalizer)


def tilted_moments(likelihood: Likelihood, obs: Observations, mean: Array, variance: Array) -> Tilted:
    """Log Z and its derivatives in the mean for every row, to about 1e-9."""
    blocks = [_moments(likelihood, *block) for block in _blocks(obs, mean, variance)]
    return Tilted(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def tilted_expectations(
    likelihood: Likelihood,
    obs: Observations,
    mean: Array,
    variance: Array,
    functions: Callable[[Observations, Array], list[Array]],
) -> list[Array]:
    """E[weight · function(obs, f)] under the tilted density for each array that `functions` returns."""
    blocks = []
    for block in _blocks(obs, mean, variance):
        rule = _quadrature(likelihood, *block)
        blocks.append([rule.expectation(rule.obs.weight * value) for value in functions(rule.obs, rule.f)])
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]


def _blocks(obs: Observations, mean: Array, variance: Array) -> Iterator[tuple[Observations, Array, Array]]:
    mean, variance = (np.broadcast_to(np.asarray(v, dtype=float), obs.y.shape) for v in (mean, variance))
    for start in range(0, max(len(mean), 1), _BLOCK):
        rows = slice(start, start + _BLOCK)
        yield obs.take(rows), mean[rows], variance[rows]


def _moments(likelihood: Likelihood, obs: Observations, mean: Array, variance: Array) -> Tilted:
    """As `tilted_moments`, for one block of rows.

    Two forms of the derivatives are exact: by the moments of f, (E[f] - mean)/v and (1 - Var[f]/v)/v, and by
    those of the slope g, E[g] and E[W] - Var[g]. The first loses digits where the data say little about f,
    the second where they say much; each row uses the accurate one.
    """
    rule = _quadrature(likelihood, obs, mean, variance)
    center = rule.expectation(rule.x)
    spread = rule.expectation((rule.x - center[rule.row]) ** 2)
    telling = spread < 0.5
    safe = np.where(telling, variance, 1.0)
    gradient, curvature = center / np.sqrt(safe), (1.0 - spread) / safe
    if not telling.all():
        by_slope = _slope_moments(likelihood, rule.take(~telling[rule.row]))
        gradient, curvature = np.where(telling, (gradient, curvature), by_slope)
    if likelihood.log_concave:
        curvature = np.maximum(curvature, 0.0)
    return Tilted(rule.log_normalizer, gradient, curvature)


def _slope_moments(likelihood: Likelihood, rule: _Rule) -> tuple[Array, Array]:
    """E[g] and E[W] - Var[g], (m,), for the slope g of the weighted log-density; 0 for rows without nodes."""
    slope, bend = likelihood.slope_and_curvature(rule.obs, rule.f)
    # Where the density vanishes a slope may be too large to be squared.
    inside = rule.probability > 0
    slope, bend = (np.where(inside, rule.obs.weight * part, 0.0) for part in (slope, bend))
    mean = rule.expectation(slope)
    gap = np.where(inside, slope - mean[rule.row], 0.0)
    return mean, rule.expectation(bend - gap**2)


def _quadrature(likelihood: Likelihood, obs: Observations, mean: Array, variance: Array) -> _Rule:
    sd = np.sqrt(variance)

    def log_joint(x: Array) -> Array:
        return obs.weight * likelihood.log_density_in_f(obs, mean + sd * x) - 0.5 * x**2

    start = np.zeros_like(mean)
    if likelihood.log_concave:
        mode = _mode(likelihood, obs, mean, sd, start)
        top = log_joint(mode)
        edges = _concave_edges(log_joint, mode)
    else:
        best = likelihood.likeliest(obs)
        other = start if best is None else np.clip((best - mean) / np.maximum(sd, 1e-100), -1e5, 1e5)
        modes = _mode(likelihood, obs, mean, sd, np.stack([start, other]))
        bend = likelihood.slope_and_expected_curvature(obs, mean + sd * modes)[1]
        width = (1.0 + sd**2 * obs.weight * bend) ** -0.5
        same = np.abs(modes[1] - modes[0]) < _SAME_MODE * width.min(axis=0)  # one mode, found twice
        modes[1], width[1] = np.where(same, (modes[0], width[0]), (modes[1], width[1]))
        edges, heights = _edges_on_every_scale(modes, width), log_joint(modes)
        mode, top = np.where(heights[1] > heights[0], (modes[1], heights[1]), (modes[0], heights[0]))

    def density(row: IntArray, x: Array) -> Array:
        log_density = likelihood.log_density_in_f(obs.take(row), mean[row] + sd[row] * x)
        # Positive only where rounding hides the mode (a huge weight or variance): it must not overflow.
        return np.exp(np.minimum(obs.weight[row] * log_density - 0.5 * x**2 - top[row], _HIGHEST))

    widths = np.diff(edges, axis=0)
    rounding = _rounding(log_joint, mode, np.min(widths, axis=0, where=widths > 0, initial=np.inf))
    panels = adaptive_panels(density, edges, rounding)
    row, x, mass = panels.row, panels.x, panels.mass
    # 0 where sites ran away and label and Gaussian have nothing in common: far below, but a number.
    total = np.maximum(sum_by_row(row, panels.integral, len(mean)), 1e-300)
    at = mean + sd * mode
    without_f = likelihood.log_density(obs, at) - likelihood.log_density_in_f(obs, at)
    log_normalizer = top + obs.weight * without_f + np.log(total) - 0.5 * np.log(2.0 * np.pi)
    return _Rule(obs.take(row), row, x, mean[row] + sd[row] * x, mass / total[row], log_normalizer)


def _concave_edges(log_joint: Callable[[Array], Array], mode: Array) -> Array:
    """Edges of the first panels, (k, m): from the mode to where the density vanishes on either side."""
    left, right = _reach(log_joint, mode)
    return np.stack([mode - left, mode - 0.2 * left, mode, mode + 0.2 * right, mode + right])


def _edges_on_every_scale(modes: Array, widths: Array) -> Array:
    """Edges of the first panels, (k, m): growing from the width of each mode, beyond the farthest one."""
    reach = np.max(np.abs(modes), axis=0) + _FARTHEST

    def around(mode: Array, width: Array, reach: Array) -> list[Array]:
        # A mode that is narrow (a huge count) must not slip between two nodes.
        growth = np.maximum(_GROWTH, np.log(reach / width) / -_EVERY_SCALE[0, 0])
        steps = reach * np.exp(growth * _EVERY_SCALE)
        return [mode - steps, mode[None], mode + steps]

    pairs = list(zip(modes, widths, strict=True))
    edges = [part for mode, width in pairs for part in around(mode, width, reach)]
    if np.any(reach > _FAR_OFF * _FARTHEST):  # the Gaussian itself would slip between two edges
        near = np.full_like(reach, _FARTHEST)
        edges += [part for mode, width in pairs for part in around(mode, width, near)]
    return np.sort(np.concatenate(edges), axis=0)


def _rounding(log_joint: Callable[[Array], Array], mode: Array, width: Array) -> Array:
    """Noise of the log-density, (m,): how far it is from straight where it should be (1e9 trials: 1e-7)."""
    at = np.linspace(-1.0, 1.0, 9)[:, None]
    values = log_joint(mode + 4e-8 * at * width)
    return 10.0 * np.ptp(values - 0.5 * at * (values[-1] - values[0]), axis=0)


def _mode(likelihood: Likelihood, obs: Observations, mean: Array, sd: Array, start: Array) -> Array:
    """A mode of the tilted density in x, to a hundredth of its width: Newton within a shrinking bracket.

    In x the slope sd·weight·g(mean + sd·x) - x falls at a rate of at least 1 if the likelihood is
    log-concave, so the root is no farther from the start than the slope there. `start` is (m,) or (k, m).
    """

    def slope_and_steepness(x: Array) -> tuple[Array, Array]:
        slope, bend = likelihood.slope_and_expected_curvature(obs, mean + sd * x)
        return sd * obs.weight * slope - x, 1.0 + sd**2 * obs.weight * bend

    x, (slope, steepness) = start, slope_and_steepness(start)
    side = np.sign(slope)
    # Twice Newton's step is far enough where the curvature is right, and not too far where it is large.
    step = np.minimum(2.0 * np.abs(slope) / steepness, np.minimum(np.abs(slope), 1.0))
    far = start + side * step
    for _ in range(_MODE_STEPS):  # until the slope at the far end points back to the start
        at_far, steepness_there = slope_and_steepness(far)
        uphill = side * at_far > 0
        if not uphill.any():
            break
        x, slope, steepness = np.where(uphill, (far, at_far, steepness_there), (x, slope, steepness))
        step = np.where(uphill, 4.0 * step, step)
        far = np.where(uphill, far + side * step, far)

    near, moved = x, np.abs(far - x)
    found = np.zeros(x.shape, dtype=bool)
    for _ in range(_MODE_STEPS):
        step = slope / steepness
        # A row that is there stays there while others go on.
        left = np.minimum(np.abs(step), np.abs(far - near))
        found |= left * np.sqrt(steepness) < _MODE_TOLERANCE
        if found.all():
            break
        inside = (x + step - near) * (far - x - step) > 0
        # Steps that do not become shorter lead nowhere: half of the bracket instead.
        newton = inside & (np.abs(step) < 0.5 * moved)
        new = np.where(newton, x + step, near + 0.5 * (far - near))
        x, moved = np.where(found, x, new), np.abs(new - x)
        slope, steepness = slope_and_steepness(x)
        ahead = side * slope > 0
        near, far = np.where(ahead, x, near), np.where(ahead, far, x)
    return x


def _reach(log_joint: Callable[[Array], Array], mode: Array) -> Array:
    """Distances (2, m) from the mode, to the left and to the right, at which the density has fallen by
    exp(-_DROP), by bisection on a log scale.
    """
    lowest, sides = log_joint(mode) - _DROP, np.array([[-1.0], [1.0]])
    low, high = np.full((2, len(mode)), np.log(_NARROWEST)), np.full((2, len(mode)), np.log(_FARTHEST))
    for _ in range(_REACH_STEPS):
        middle = 0.5 * (low + high)
        fallen = log_joint(mode + sides * np.exp(middle)) < lowest
        low, high = np.where(fallen, low, middle), np.where(fallen, middle, high)
    return np.exp(high)
