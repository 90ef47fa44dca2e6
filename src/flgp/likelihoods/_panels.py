"""Adaptive quadrature of many one-dimensional densities at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._typing import Array, BoolArray, IntArray

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
# Weights of the last two coefficients (degrees 14 and 15) of the Legendre expansion of a function on [-1, 1].
# Gauss-Legendre sums are exact up to degree 31: where these two are small, the error of the sum is tiny.
_LAST = np.arange(14, 16)
_COEFFICIENTS = (_LAST + 0.5)[:, None] * _WEIGHTS * np.polynomial.legendre.legvander(_NODES, 15).T[_LAST]
# A panel is accepted when they are below this fraction of the integral.
_TOLERANCE = 1e-9
# Limit on the number of panels: no density needs so many, but noise would.
_MOST_PANELS = 256


class Panels(NamedTuple):
    """Intervals of x, each with the density of one row at its k Gauss-Legendre nodes; P in all."""

    row: IntArray  # (P,)
    start: Array  # (P,)
    width: Array  # (P,)
    density: Array  # (k, P)

    @property
    def x(self) -> Array:
        """The nodes, (k, P)."""
        return self.start + self.width * (0.5 * (_NODES[:, None] + 1.0))

    @property
    def mass(self) -> Array:
        """Integration weight times density at the nodes, (k, P)."""
        return 0.5 * self.width * _WEIGHTS[:, None] * self.density

    @property
    def integral(self) -> Array:
        """Integral over each panel, (P,)."""
        return 0.5 * self.width * (_WEIGHTS @ self.density)

    def take(self, which: BoolArray) -> Panels:
        """Some of the panels."""
        return Panels(self.row[which], self.start[which], self.width[which], self.density[:, which])


def sum_by_row(row: IntArray, values: Array, n_rows: int) -> Array:
    """Sums of values (P,) over the panels of each row, (n_rows,)."""
    return np.asarray(np.bincount(row, weights=values, minlength=n_rows), dtype=float)


def adaptive_panels(density: Callable[[IntArray, Array], Array], edges: Array, rounding: Array) -> Panels:
    """Halve panels until the density is smooth on each of them, for all rows at once.

    `density` is a function of the rows (P,) and x (k, P). The first panels of each row lie between its
    `edges` (k + 1, m), ascending; those of no width are left out. Halving cannot reduce `rounding` (m,), the
    relative error of the density.
    """
    n_rows = edges.shape[1]

    def panels(row: IntArray, start: Array, width: Array) -> Panels:
        blank = Panels(row, start, width, np.empty((len(_NODES), 0)))
        return blank._replace(density=density(row, blank.x))

    width = np.diff(edges, axis=0)
    place, rows = np.nonzero(width > 0)
    pending = panels(rows, edges[place, rows], width[place, rows])
    accepted: list[Panels] = []
    done, count = np.zeros(n_rows), np.zeros(n_rows)
    while len(pending.row):
        whole = done + sum_by_row(pending.row, pending.integral, n_rows)
        rough = pending.width * np.abs(_COEFFICIENTS @ pending.density).sum(axis=0)
        count = count + np.bincount(pending.row, minlength=n_rows)
        smooth = rough <= ((_TOLERANCE + rounding) * whole)[pending.row]
        good = smooth | (count > _MOST_PANELS)[pending.row]
        accepted.append(pending.take(good))
        done = done + sum_by_row(accepted[-1].row, accepted[-1].integral, n_rows)
        pending = pending.take(~good)
        half = 0.5 * pending.width
        pending = panels(
            np.tile(pending.row, 2), np.concatenate([pending.start, pending.start + half]), np.tile(half, 2)
        )
    return Panels(*(np.concatenate(parts, axis=-1) for parts in zip(*accepted, pending, strict=True)))
