"""The labelled rows, and error messages that name them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from .._typing import Array, BoolArray, IntArray

# The quantities known about each row, and the argument of `fit` that each comes from.
ARGUMENTS = {
    "weight": "sample_weight",
    "exposure": "exposure",
    "trials": "trials",
    "noise_scale": "noise_scale",
}
# Limits on labels and known quantities, so that squares and products stay finite.
SMALLEST, LARGEST = 1e-100, 1e100
# Rows that an error names.
_NAMED_ROWS = 5


@dataclass(frozen=True)
class Observations:
    """The labelled rows: targets and what is known about each, of shape (m,)."""

    y: Array
    weight: Array  # multiplies the row's log-density
    exposure: Array  # counts: E[y] = exposure · rate
    trials: Array  # binomial: number of trials
    noise_scale: Array  # Gaussian: noise variance = σ² · noise_scale
    row: IntArray  # the row's number in the user's data, for messages
    offset: Array  # added to f; (m, C) where there are latents for C classes

    @classmethod
    def of(cls, y: Any, *, row: Any = None, offset: Any = None, **known: Any) -> Self:
        """Observations; anything not given is 1, an offset 0, and rows are numbered from 0."""
        if unknown := set(known) - set(ARGUMENTS):
            raise TypeError(f"Observations.of got unknown {sorted(unknown)}; it accepts {sorted(ARGUMENTS)}.")
        y = np.asarray(y, dtype=float)
        given = {
            name: np.ones(len(y)) if known.get(name) is None else np.asarray(known[name], dtype=float)
            for name in ARGUMENTS
        }
        row = np.arange(len(y)) if row is None else np.asarray(row, dtype=int)
        offset = np.zeros(len(y)) if offset is None else np.asarray(offset, dtype=float)
        return cls(y, **given, row=row, offset=offset)

    def take(self, rows: Any) -> Observations:
        """The same for a subset of the rows (indices or a mask)."""
        return Observations(*(getattr(self, field.name)[rows] for field in fields(self)))


def rows_in_words(bad: BoolArray, row: IntArray | None = None) -> str:
    """'rows 3, 8 and 12 more' for an error message, from a mask (m,) of the labelled rows.

    `row` (m,) are their numbers in the user's data, by default their positions.
    """
    rows = np.flatnonzero(bad) if row is None else row[bad]
    shown = ", ".join(str(number) for number in rows[:_NAMED_ROWS])
    more = f" and {len(rows) - _NAMED_ROWS} more" if len(rows) > _NAMED_ROWS else ""
    return f"row{'s' if len(rows) > 1 else ''} {shown}{more}"


class BadRows(ValueError):
    """Rows that break a rule; tables name them by their numbers in the file."""

    def __init__(self, rule: str, rows: IntArray, remedy: str) -> None:
        super().__init__(rule, rows, remedy)
        self.rule, self.rows, self.remedy = rule, rows, remedy

    def __str__(self) -> str:
        every = np.ones(len(self.rows), dtype=bool)
        return f"{self.rule}; this fails in {rows_in_words(every, self.rows)}. {self.remedy}"


def refuse(bad: BoolArray, obs: Observations, rule: str, remedy: str) -> None:
    """Raise a BadRows with the rule, the rows that break it, and the remedy, if any row is bad."""
    if np.any(bad):
        raise BadRows(rule, obs.row[bad], remedy)


def refuse_fractions(values: Array, obs: Observations, what: str, remedy: str) -> None:
    """Raise a ValueError unless all values are whole numbers and at least 0."""
    bad = ~np.isfinite(values) | (values < 0) | (values != np.floor(values))
    refuse(bad, obs, f"{what} must be whole numbers and at least 0", remedy)
