"""Errors of rows, and of where they come from."""

from __future__ import annotations

import numpy as np

from .._typing import BoolArray, IntArray
from .._words import listed

# Rows that an error names.
_NAMED = 5


class ClusterError(RuntimeError):
    """A Dask cluster failed as a whole; what the model had learned before is unchanged."""


def in_words(rows: IntArray | BoolArray) -> str:
    """'rows 3, 8 and 12 more' for an error message, from the numbers of rows or a mask."""
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    return f"{'row' if len(rows) == 1 else 'rows'} {listed(rows[:_NAMED], len(rows))}"
