"""Recognises the labels that mean "unlabelled"."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .._typing import Array, BoolArray


def is_missing_label(y: Array, unlabeled: Any) -> BoolArray:
    """Rows whose class label means "unlabelled": the marker, None, NaN or pandas.NA."""
    missing = np.zeros(len(y), dtype=bool)
    if y.dtype.kind == "f":
        missing |= np.isnan(y)
    elif y.dtype.kind == "O":
        # NA and NaN are the values that are not equal to themselves, or raise when compared.
        missing |= np.array([value is None or _not_itself(value) for value in y], dtype=bool)
    if unlabeled is None:
        return missing
    if y.dtype.kind == "O":
        known = np.flatnonzero(~missing)
        missing[known] = [_same(value, unlabeled) for value in y[known]]
    else:
        missing |= y == unlabeled  # no copy of y: it may be as long as a file has rows
    return missing


def _not_itself(value: Any) -> bool:
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True


def _same(value: Any, marker: Any) -> bool:
    return (type(value) is type(marker) and value == marker) or (
        isinstance(value, numbers.Number) and isinstance(marker, numbers.Number) and value == marker
    )
