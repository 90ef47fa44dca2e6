"""Shared by the simulated data sets on manifolds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .._typing import Array
from .exact import Measure, rectangle_distance, rectangle_heat_kernel

Sampling = Literal["uniform", "grid"]
RandomState = int | np.random.Generator | np.random.SeedSequence | None


@dataclass(frozen=True)
class RegressionData:
    """Points with a known function on them."""

    X: Array  # (n, p) points
    f: Array  # (n,) the function without noise
    noise: Array  # (n,) the noise of the observations

    @property
    def y(self) -> Array:
        """Noisy observations f + noise, shape (n,)."""
        return self.f + self.noise


@dataclass(frozen=True)
class SheetData(RegressionData):
    """Points on a rectangle that is rolled or folded but not stretched; X has shape (n, 3)."""

    coordinates: Array  # (n, 2) flat coordinates, along the sheet and across it
    sides: tuple[float, float]  # of the sheet

    @property
    def arc(self) -> Array:
        """Coordinate along the sheet, shape (n,)."""
        return self.coordinates[:, 0]

    def distances_from(self, row: int) -> Array:
        """Geodesic distances from one row to all (jitter ignored), shape (n,)."""
        return rectangle_distance(self.coordinates, self.coordinates[row])

    def heat_kernel_from(self, row: int, t: float, *, measure: Measure = "volume") -> Array:
        """Exact heat kernel (reflecting edges) between one row and all, shape (n,)."""
        here = self.coordinates
        return rectangle_heat_kernel(here, here[row], t, sides=self.sides, measure=measure)


def streams(random_state: RandomState, count: int) -> list[np.random.Generator]:
    """Independent generators, so that, for example, a change of the noise does not move the points."""
    return np.random.default_rng(random_state).spawn(count)


def check_count(n: int) -> int:
    """The number of points; raises a ValueError if it is not a positive integer."""
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
        raise ValueError(f"n={n!r} must be a positive integer: the number of points.")
    return int(n)


def draw_noise(n: int, sd: float, rng: np.random.Generator) -> Array:
    """Gaussian noise of shape (n,)."""
    if not sd >= 0:
        raise ValueError(f"noise_sd={sd!r} must not be negative.")
    return sd * rng.standard_normal(n)
