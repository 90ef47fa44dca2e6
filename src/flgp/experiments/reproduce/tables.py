"""Tables as Markdown and CSV, and the statistics in their cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..markdown import markdown_table

# The models of each method, side by side in the tables; see `methods`.
PAPER, OURS = "paper", "ours"
MODELS = (PAPER, OURS)
DEFAULTS = "defaults"  # the method that has our model only


@dataclass(frozen=True)
class Table:
    """Text in rows and columns, with a title and a sentence below."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    note: str = ""

    def markdown(self) -> str:
        """A GitHub table with its title."""
        note = f"\n\n{self.note}" if self.note else ""
        return f"### {self.title}\n\n{markdown_table(self.columns, self.rows)}{note}\n"

    def csv(self) -> str:
        """Comma-separated, with a header."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return buffer.getvalue()


@dataclass(frozen=True)
class Statistics:
    """A measured column over repeats."""

    mean: float
    sd: float
    largest: float
    count: int

    def text(self, digits: int = 1, factor: float = 1.0) -> str:
        """mean(sd), or the mean alone for a single repeat."""
        mean = f"{factor * self.mean:.{digits}f}"
        return mean if self.count == 1 else f"{mean}({factor * self.sd:.{digits}f})"


def summarize(rows: Sequence[Mapping[str, Any]], metric: str, **where: Any) -> Statistics | None:
    """Statistics of a metric over the rows that match; None if there are none."""
    values = [
        row[metric]
        for row in rows
        if row[metric] not in ("", None) and all(row[key] == value for key, value in where.items())
    ]
    if not values:
        return None
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return Statistics(float(np.mean(values)), sd, float(np.max(values)), len(values))


def means_along(
    rows: Sequence[Mapping[str, Any]], metric: str, axis: str, unit: float = 1.0, **where: Any
) -> list[tuple[Any, float]]:
    """Each value of a key, ascending, with the mean of a metric there, over the rows that match."""
    found = ((x, summarize(rows, metric, **{axis: x}, **where)) for x in sorted({row[axis] for row in rows}))
    return [(x, unit * summary.mean) for x, summary in found if summary is not None]


def cell(found: Statistics | None, digits: int = 1, factor: float = 1.0) -> str:
    """The text of statistics, or a dash."""
    return "–" if found is None else found.text(digits, factor)


def cells(rows: Sequence[Mapping[str, Any]], metric: str, digits: int = 1) -> tuple[str, ...]:
    """The cells of a metric in the paper's model and in ours."""
    return tuple(cell(summarize(rows, metric, model=model), digits) for model in MODELS)


def number(value: float | None, digits: int = 1) -> str:
    """The text of a published number, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}"
