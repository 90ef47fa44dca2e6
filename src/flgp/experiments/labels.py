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
