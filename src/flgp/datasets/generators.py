"""Simulated points on circles, the sphere and the Swiss roll."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array, IntArray
from .._words import check_choice
from .exact import (
    Measure,
    circle_distance,
    circle_heat_kernel,
    sphere_distance,
    sphere_heat_kernel,
    swiss_roll_arc_length,
)
from .points import RandomState, RegressionData, Sampling, SheetData, check_count, draw_noise, streams

CIRCLE_RADII = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
_GOLDEN = (1 + 5**0.5) / 2
_SWISS_ROLL_ANGLES = (1.5 * np.pi, 4.5 * np.pi)


@dataclass(frozen=True)
class CirclesData:
    """Concentric circles of alternating class; rows in random order."""

    X: Array  # (n, 2)
    y: IntArray  # (n,) class, 0 or 1
    theta: Array  # (n,) angle
    circle: IntArray  # (n,) which circle, 0 (radius 0.5) to 5 (radius 1)


@dataclass(frozen=True)
class CircleData(RegressionData):
    """Points on the unit circle; X has shape (n, 2)."""

    theta: Array  # (n,)

    def distances_from(self, row: int) -> Array:
        """Geodesic distances from one row to all, shape (n,)."""
        return circle_distance(self.theta, self.theta[row])

    def heat_kernel_from(self, row: int, t: float, *, measure: Measure = "volume") -> Array:
        """Exact heat kernel between one row and all, shape (n,)."""
        return circle_heat_kernel(self.theta, self.theta[row], t, measure=measure)


@dataclass(frozen=True)
class SphereData(RegressionData):
    """Points on the unit sphere; X has shape (n, 3)."""

    def distances_from(self, row: int) -> Array:
        """Geodesic distances from one row to all, shape (n,)."""
        return sphere_distance(self.X, self.X[row])

    def heat_kernel_from(self, row: int, t: float, *, measure: Measure = "volume") -> Array:
        """Exact heat kernel between one row and all, shape (n,)."""
        return sphere_heat_kernel(self.X, self.X[row], t, measure=measure)


@dataclass(frozen=True)
class SwissRollData(SheetData):
    """Points on the Swiss roll; `arc` is the length from the inner edge."""

    @property
    def height(self) -> Array:
        """Coordinate across the roll, shape (n,)."""
        return self.coordinates[:, 1]


def circles(n: int = 3000, *, random_state: RandomState = None) -> CirclesData:
    """Six concentric circles of radii 0.5, 0.6 … 1.0 with uniform points and alternating classes.

    The columns are standardised and divided by √2, as in the paper. If 6 does not divide `n`, the inner
    circles have one point more.

    Examples
    --------
    >>> from flgp.datasets import circles
    >>> data = circles(600, random_state=0)
    >>> data.X.shape, sorted(set(data.y.tolist()))
    ((600, 2), [0, 1])
    """
    n = check_count(n)
    place, order = streams(random_state, 2)
    circle = order.permutation(np.arange(n) % len(CIRCLE_RADII))
    theta = place.uniform(0, 2 * np.pi, n)
    X = CIRCLE_RADII[circle, None] * np.column_stack([np.cos(theta), np.sin(theta)])
    scale = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0) / np.sqrt(2)
    return CirclesData(X, (circle % 2 == 0).astype(np.int64), theta, circle)


def circle(
    n: int = 6000, *, sampling: Sampling = "grid", noise_sd: float = 0.1, random_state: RandomState = None
) -> CircleData:
    """Unit circle with f = sin θ + cos(3θ)/2; "grid" places the points equally spaced from θ = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from flgp.datasets import circle
    >>> data = circle(8)
    >>> bool(np.isclose(data.distances_from(0)[4], np.pi))
    True
    """
    check_choice("sampling", sampling, ("uniform", "grid"))
    n = check_count(n)
    place, noise = streams(random_state, 2)
    share = np.arange(n) / n if sampling == "grid" else place.uniform(size=n)
    theta = 2 * np.pi * share
    f = np.sin(theta) + np.cos(3 * theta) / 2
    X = np.column_stack([np.cos(theta), np.sin(theta)])
    return CircleData(X, f, draw_noise(n, noise_sd, noise), theta)


def sphere(
    n: int = 6000, *, sampling: Sampling = "uniform", noise_sd: float = 0.1, random_state: RandomState = None
) -> SphereData:
    """Unit sphere with f = 2 x₁x₂ + P₃(x₃), harmonics of degree 2 and 3; "grid" is the Fibonacci lattice.

    Examples
    --------
    >>> from flgp.datasets import sphere
    >>> sphere(100, random_state=0).X.shape
    (100, 3)
    """
    check_choice("sampling", sampling, ("uniform", "grid"))
    n = check_count(n)
    place, noise = streams(random_state, 2)
    if sampling == "grid":
        rows = np.arange(n)
        height, angle = 1 - (2 * rows + 1) / n, 2 * np.pi * rows / _GOLDEN
    else:
        height, angle = place.uniform(-1, 1, n), place.uniform(0, 2 * np.pi, n)
    radius = np.sqrt(1 - height**2)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])
    f = 2 * X[:, 0] * X[:, 1] + (5 * height**3 - 3 * height) / 2
    return SphereData(X, f, draw_noise(n, noise_sd, noise))


def swiss_roll(
    n: int = 4000, *, height: float = 21.0, noise_sd: float = 0.1, random_state: RandomState = None
) -> SwissRollData:
    """Swiss roll (a cos a, h, a sin a), a from 1.5π to 4.5π, with points uniform by area.

    The function is f = 2 sin(6π·arc/length) + cos(2πh/height): three waves along the roll.

    Examples
    --------
    >>> from flgp.datasets import swiss_roll
    >>> swiss_roll(100, random_state=0).coordinates.shape  # arc length and height
    (100, 2)
    """
    n = check_count(n)
    place, noise = streams(random_state, 2)
    start, end = swiss_roll_arc_length(_SWISS_ROLL_ANGLES)
    length = float(end - start)
    arc, h = place.uniform(0, length, n), place.uniform(0, height, n)
    angle = _swiss_roll_angle(start + arc)
    X = np.column_stack([angle * np.cos(angle), h, angle * np.sin(angle)])
    f = 2 * np.sin(6 * np.pi * arc / length) + np.cos(2 * np.pi * h / height)
    return SwissRollData(X, f, draw_noise(n, noise_sd, noise), np.column_stack([arc, h]), (length, height))


def _swiss_roll_angle(arc: Array) -> Array:
    """Invert `swiss_roll_arc_length` by Newton's method, started at its limit √(2·arc)."""
    angle = np.sqrt(2 * arc)
    for _ in range(8):
        angle = angle - (swiss_roll_arc_length(angle) - arc) / np.sqrt(1 + angle**2)
    return angle
