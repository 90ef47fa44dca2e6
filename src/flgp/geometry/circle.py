"""The circle: a period, such as an hour of the day or a month of the year."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._stored import stored
from .._typing import Array, RowLike
from .bases import FunctionBasis, Known, LeadingColumns, PointPlaces, check_rows, finite, is_number


@stored("circle")
@dataclass(frozen=True)
class Circle(LeadingColumns):
    """A circle of circumference `period`; x and x + period are the same place.

    The eigenvalues are (2πk/period)², each with a cosine and a sine; a basis holds both or none.

    Parameters
    ----------
    period : float
        Such as 24 for hours of the day or 360 for degrees.
    """

    period: float = 2.0 * np.pi

    def __post_init__(self) -> None:
        if not is_number(self.period) or self.period <= 0:
            raise ValueError(f"period={self.period!r} is not a positive number.")

    def fit(self, rows: RowLike, rng: np.random.Generator) -> FittedCircle:
        """Check that rows (n, 1) are finite."""
        self.check_width(rows)
        check_rows(rows, finite)
        return FittedCircle(float(self.period))


@stored("fitted circle")
@dataclass(frozen=True)
class FittedCircle(Known):
    """The circle, which learns nothing from the rows."""

    period: float

    def locate(self, X: Array) -> PointPlaces:
        X = finite(X, 0)
        return PointPlaces(X * (2.0 * np.pi / self.period), np.ones(len(X)))

    def coordinates(self, X: Array) -> Array:
        """Points (b, 2) on a circle of that circumference."""
        radius = self.period / (2.0 * np.pi)
        angle = np.asarray(X, dtype=float)[:, 0] / radius
        return radius * np.column_stack([np.cos(angle), np.sin(angle)])

    def eigenpairs(self, count: int) -> FunctionBasis:
        """The constant and all complete pairs of waves, at least one."""
        n_waves = (max(count, 3) - 1) // 2
        frequency = np.concatenate([[0.0], np.repeat(np.arange(1.0, n_waves + 1), 2)])
        return FunctionBasis((2.0 * np.pi / self.period * frequency) ** 2, Waves(n_waves))


@stored("cosines and sines")
@dataclass(frozen=True)
class Waves:
    """1, then √2 cos kα and √2 sin kα for k = 1 … n_waves."""

    n_waves: int

    def __call__(self, points: Array) -> Array:
        """φ (b, 2 n_waves + 1) at angles (b, 1)."""
        angle = points * np.arange(1.0, self.n_waves + 1)
        values = np.empty((len(points), 2 * self.n_waves + 1))
        values[:, 0] = 1.0
        values[:, 1::2] = np.sqrt(2.0) * np.cos(angle)
        values[:, 2::2] = np.sqrt(2.0) * np.sin(angle)
        return values
