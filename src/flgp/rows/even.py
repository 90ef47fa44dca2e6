"""Columns on one scale: their moments, the unit of each, and heavy tails drawn in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._stored import stored
from .._typing import Array, IntArray, RowLike
from .blocks import row_blocks
from .columns import MappedRows

# Tails are heavy where the excess kurtosis is above 3, that of the Laplace distribution.
_HEAVY = 3.0
# Units that differ by a smaller factor count as the same.
_UNEVEN = 2.0
# Numbers, in units of the tail, are cut here: rows to predict may be so far away that they overflow.
_FARTHEST = 1e300
# Deviations, of a column's offset, that rounding may have made; and a variance that has lost its digits.
_ROUNDED, _LEAST = 1e-14, 1e-300


@stored("even columns")
@dataclass(frozen=True)
class EvenColumns:
    """Columns on one scale, x ↦ s·(x - c), or s·asinh((x - c)/u) where the tails are heavy.

    The logarithm's cousin asinh is a line up to about one unit u, the typical deviation, and takes numbers of
    both signs.
    """

    center: Array  # (q,) c: the median where tails are heavy, else the mean
    unit: Array  # (q,) u; 0 where the tails are not heavy
    scale: Array  # (q,) s, as `common_scale` has it

    @classmethod
    def of(cls, rows: RowLike, sample: Array) -> EvenColumns:
        """For rows (n, q); a sample of them (k, q) shows which tails are heavy."""
        center, unit = np.array([_tail(column) for column in sample.T]).T
        squashed = cls(center, unit, np.ones(len(unit)))
        # In blocks also where all rows are in memory, which need no second copy there.
        summary = summarize(MappedRows(rows, squashed, len(unit)), np.arange(len(unit)))
        # What is squashed stays as it is; the others move to their mean.
        center = np.where(unit > 0, center, center + summary.mean)
        return cls(center, unit, common_scale(summary))

    def __call__(self, X: Array) -> Array:
        """Rows (n, q) on one scale."""
        z = np.asarray(X, dtype=np.float64) - self.center
        heavy = self.unit > 0
        if heavy.any():
            with np.errstate(over="ignore"):
                z[:, heavy] = np.arcsinh(np.clip(z[:, heavy] / self.unit[heavy], -_FARTHEST, _FARTHEST))
        z *= self.scale
        return z

    def inverse(self, Z: Array) -> Array:
        """The columns (n, q) that these came from; the centre for a constant column."""
        varied = self.scale > 0
        z = np.divide(Z, self.scale, out=np.zeros(np.shape(Z)), where=varied)
        heavy = self.unit > 0
        z[:, heavy] = self.unit[heavy] * np.sinh(z[:, heavy])
        return z + self.center

    @property
    def changes_distances(self) -> bool:
        """Whether distances differ, by more than a common factor, from those of the columns as given."""
        scale = self.scale[self.scale > 0]
        return bool((self.unit > 0).any() or (len(scale) and scale.max() > _UNEVEN * scale.min()))


def _tail(column: Array) -> tuple[float, float]:
    """Centre and unit of a heavy-tailed column; (0, 0) for any other."""
    size = float(np.abs(column).max(initial=0.0))
    x = column / size if size > 0 else column
    z = x - x.mean()
    variance = float(np.mean(z**2))
    if variance < 1e-28 or len(np.unique(x)) <= 2:
        return 0.0, 0.0
    if float(np.mean(z**4)) <= (3.0 + _HEAVY) * variance**2:
        return 0.0, 0.0
    center = float(np.median(x))
    deviation = np.abs(x - center)
    unit = float(np.median(deviation)) or float(np.median(deviation[deviation > 0]))
    return center * size, unit * size


@dataclass(frozen=True)
class Summary:
    """What decides the scale of q columns, each (q,)."""

    mean: Array
    deviation: Array  # standard deviation
    zeros: Array  # share of the rows that are exactly 0
    ones: Array  # and exactly 1


def summarize(rows: RowLike, columns: IntArray) -> Summary:
    """Moments of columns, about a point among them so that large offsets do no harm."""
    origin = np.asarray(rows[:1], dtype=np.float64)[0, columns]

    def sums(block: Array) -> Array:
        own = np.asarray(block[:, columns], dtype=np.float64)
        counts = [np.count_nonzero(own == value, axis=0) for value in (0.0, 1.0)]
        own = own - origin
        moments = [own.sum(axis=0), np.einsum("ij,ij->j", own, own)]
        return np.stack([np.full(len(columns), len(own)), *moments, *counts])

    n, first, second, zeros, ones = row_blocks(rows).reduce(sums)
    mean = first / n
    variance = np.maximum(second / n - mean**2, 0.0)
    # A constant column: what is left is rounding, in these sums or in its numbers.
    variance[variance < np.maximum(1e-14 * second / n + (_ROUNDED * origin) ** 2, _LEAST)] = 0.0
    return Summary(origin + mean, np.sqrt(variance), zeros / n, ones / n)


def common_scale(summary: Summary) -> Array:
    """Factors (q,) that put columns on one scale, their mean variance 1; 0 for a constant column.

    Quantities are divided by two standard deviations, as regression does to compare them with indicators
    (Gelman 2008), and indicators stay in their own unit: to divide a rare one by its small deviation would
    let the few rows that have it count most. Counts that are mostly 0 or 1, and amounts that are mostly 0,
    lie between the two: the unit is the typical difference of two rows that differ.
    """
    variance = summary.deviation**2
    differ = 1.0 - summary.zeros**2 - summary.ones**2  # of two rows, if no other value occurs twice
    quantity = 1.0 - summary.zeros - summary.ones
    unit = 2.0 * variance * (1.0 + quantity)
    scale = np.sqrt(np.divide(differ, unit, out=np.zeros(len(unit)), where=variance > 0))
    spread = np.sqrt(np.mean(variance * scale**2))
    return scale / spread if spread > 0 else scale
