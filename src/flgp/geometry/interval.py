"""An interval with reflecting ends, such as time or depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._stored import stored
from .._typing import Array, RowLike
from .base import closeness_of
from .bases import FunctionBasis, Known, LeadingColumns, PointPlaces, finite, is_number, refuse, scan

# Half-waves of the shortest function in a default basis.
_SHORTEST = 200


@stored("interval")
@dataclass(frozen=True)
class Interval(LeadingColumns):
    """The numbers from `low` to `high`; heat that reaches an end is reflected.

    The eigenvalues are (πk/length)², the eigenfunctions cosines.

    Parameters
    ----------
    low, high : float, optional
        The ends; by default the smallest and the largest of the fitted rows. Beyond them, predictions return
        to the prior, so set them if you want to predict outside the range of the rows.
    """

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        for name, end in (("low", self.low), ("high", self.high)):
            if end is not None and not is_number(end):
                raise ValueError(f"{name}={end!r} is not a finite number.")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"low={self.low!r} is not below high={self.high!r}. Swap the two?")

    def fit(self, rows: RowLike, rng: np.random.Generator) -> FittedInterval:
        """Find the ends of rows (n, 1) that were not given, and check all rows against those that were."""
        self.check_width(rows)
        below = -np.inf if self.low is None else self.low
        above = np.inf if self.high is None else self.high

        def ends(block: Array, start: int) -> tuple[float, float]:
            x = finite(block, start)[:, 0]
            refuse(
                (x < below) | (x > above),
                start,
                f"The interval from {below:g} to {above:g} does not contain {{rows}}. Widen low and high.",
            )
            return float(x.min()), float(x.max())

        least, most = scan(rows, ends, lambda one, two: (min(one[0], two[0]), max(one[1], two[1])))
        low = least if self.low is None else float(self.low)
        high = most if self.high is None else float(self.high)
        if not low < high:
            raise ValueError(f"All rows of the interval are {low:g}. Set low and high.")
        return FittedInterval(low, high, (high - low) / min(max(rows.shape[0], 1), _SHORTEST))


@stored("fitted interval")
@dataclass(frozen=True)
class FittedInterval(Known):
    """An interval with both ends.

    `unit` is the spacing of the fitted rows if they were even, but at least the shortest half-wave of a
    default basis. A point outside by less than this is hardly off the interval.
    """

    low: float
    high: float
    unit: float

    def locate(self, X: Array) -> PointPlaces:
        """Positions from 0 to 1; points outside are placed at the nearer end."""
        X = finite(X, 0)
        position = np.clip((X - self.low) / (self.high - self.low), 0.0, 1.0)
        return PointPlaces(position, closeness_of(self.distance(X)))

    def distance(self, X: Array) -> Array:
        """1 inside, and 1 + excess / unit outside, (b,)."""
        x = np.asarray(X, dtype=float)[:, 0]
        return 1.0 + np.maximum(np.maximum(self.low - x, x - self.high), 0.0) / self.unit

    def coordinates(self, X: Array) -> Array:
        """The numbers themselves (b, 1)."""
        return np.asarray(X, dtype=float)

    def basis(
        self, n_eigenpairs: int, bandwidth: float | None = None, near: object = None, rough: bool = False
    ) -> FunctionBasis:
        """The first cosines, at least two."""
        count = max(n_eigenpairs, 2)
        return FunctionBasis((np.pi / (self.high - self.low) * np.arange(count)) ** 2, Cosines(count))


@stored("cosines")
@dataclass(frozen=True)
class Cosines:
    """1, then √2 cos πku for k = 1 … count - 1."""

    count: int

    def __call__(self, points: Array) -> Array:
        """φ (b, count) at positions (b, 1) from 0 to 1."""
        values = np.cos(np.pi * points * np.arange(self.count))
        values[:, 1:] *= np.sqrt(2.0)
        return values
