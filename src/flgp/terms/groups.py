"""Grouped effects: one number for every level of a categorical column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._stored import stored
from .._typing import Array
from ..geometry.base import SparseRows
from .base import Inputs, OneVariance, TermView


@stored("groups term")
@dataclass(frozen=True)
class Groups(OneVariance):
    """f = β of the row's level, β ~ N(0, a_g²); a level without labels keeps its prior."""

    column: int
    levels: Array  # (G,) values of the column among the labels, ascending
    label: str = ""  # tells several such terms apart

    @classmethod
    def seen_by(cls, labels: Inputs, column: int, label: str = "") -> Groups:
        """The levels among these labels."""
        return cls(column, np.unique(labels.columns()[:, column]), label)

    @property
    def name(self) -> str:
        """What predictions call it."""
        return f"groups[{self.label}]" if self.label else "groups"

    @property
    def parameters(self) -> tuple[str, ...]:
        """The variance between levels."""
        return (f"group_variance[{self.label}]" if self.label else "group_variance",)

    @property
    def n_features(self) -> int:
        """G."""
        return len(self.levels)

    def features(self, at: Inputs) -> Array:
        """(b, G) indicators."""
        return (at.columns()[:, [self.column]] == self.levels).astype(np.float64)

    def view(self, at: Inputs) -> TermView:
        """The row's level; one that was not among the labels is a gap, the same in all of its rows."""
        values = at.columns()[:, self.column]
        index = np.minimum(np.searchsorted(self.levels, values), len(self.levels) - 1)
        seen = self.levels[index] == values
        rows = SparseRows(index[:, None], seen.astype(np.float64)[:, None])
        return TermView(rows) if seen.all() else TermView(rows, (~seen).astype(np.float64), levels=values)
