"""Labels of some rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import BoolArray, IntArray


def only_at(rows: IntArray | BoolArray, y: Any) -> Any:
    """A copy of y (n,) in which all rows but some are unlabelled: NaN for numbers, -1 for classes."""
    y = np.asarray(y)
    known = np.full(len(y), np.nan if y.dtype.kind == "f" else -1)
    known[rows] = y[rows]
    return known


def some_labels(y: Any, m: int, seed: int) -> tuple[Any, IntArray]:
    """The labels y (n,) at m random rows only, and the numbers of the other rows."""
    rows = np.random.default_rng(seed).choice(len(y), size=min(m, len(y)), replace=False)
    return only_at(rows, y), np.setdiff1d(np.arange(len(y)), rows)
