"""The labelled rows, and how an error message speaks of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from .._typing import Array, BoolArray, IntArray

# What may be known about a row, and the argument of `fit` it comes from.
ARGUMENTS = {
    "weight": "sample_weight",
    "exposure": "exposure",
    "trials": "trials",
    "noise_scale": "noise_scale",
}
# Labels and what is known about them stay within these, so that squares and products are numbers too.
SMALLEST, LARGEST = 1e-100, 1e100


@dataclass(frozen=True)
class Observations:
    """The labelled rows: targets and what is known about each, all of shape (m,)."""

    y: Array
    weight: Array  # multiplies the row's log-density
    exposure: Array  # counts: E[y] = exposure · rate
    trials: Array  # binomial: number of trials
    noise_scale: Array  # Gaussian: noise variance = σ² · noise_scale
    row: IntArray  # the row's number in the user's data, for messages

    @classmethod
    def of(cls, y: Any, *, row: Any = None, **known: Any) -> Self:
        """Observations with ones for everything that is not given, and rows numbered from 0."""
        if unknown := set(known) - set(ARGUMENTS):
            raise TypeError(f"Observations know nothing of {sorted(unknown)}, only of {sorted(ARGUMENTS)}.")
        y = np.asarray(y, dtype=float)
        given = {
            name: np.ones(len(y)) if known.get(name) is None else np.asarray(known[name], dtype=float)
            for name in ARGUMENTS
        }
        return cls(y, **given, row=np.arange(len(y)) if row is None else np.asarray(row, dtype=int))

    def take(self, rows: Any) -> Observations:
        """The same for a subset of the rows (indices or a mask)."""
        return Observations(*(getattr(self, field.name)[rows] for field in fields(self)))


def rows_in_words(bad: BoolArray, row: IntArray | None = None, limit: int = 5) -> str:
    """'rows 3, 8 and 12 more' for an error message.

    Parameters
    ----------
    bad : (m,) mask over the labelled rows.
    row : (m,) their numbers in the user's data; by default their positions.
    limit : how many to spell out.
    """
    rows = np.flatnonzero(bad) if row is None else row[bad]
    shown = ", ".join(str(number) for number in rows[:limit])
    more = f" and {len(rows) - limit} more" if len(rows) > limit else ""
    return f"row{'s' if len(rows) > 1 else ''} {shown}{more}"


def refuse(bad: BoolArray, obs: Observations, rule: str, remedy: str) -> None:
    """Raise a ValueError that states the rule, the rows that break it, and the remedy, if any is bad."""
    if np.any(bad):
        raise ValueError(f"{rule}; broken in {rows_in_words(bad, obs.row)}. {remedy}")


def refuse_fractions(values: Array, obs: Observations, what: str, remedy: str) -> None:
    """Raise a ValueError unless all values are whole numbers and at least 0."""
    bad = ~np.isfinite(values) | (values < 0) | (values != np.floor(values))
    refuse(bad, obs, f"{what} must be whole numbers and at least 0", remedy)
