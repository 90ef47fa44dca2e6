"""Class labels as users hand them in: their type is kept, and two types are not mixed."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from .._typing import Array


def plain_labels(y: Any, unlabeled: Any = None) -> Any:
    """`y` without what NumPy would change: None among text, NA among pandas' integers and booleans.

    Parameters
    ----------
    y : labels
    unlabeled : the label that means "unlabelled", of whatever type

    Raises
    ------
    ValueError
        If text and numbers are mixed, which NumPy would turn into text: 1 and "1" would be one class.
    """
    if (
        hasattr(y, "dtype")
        and hasattr(y, "isna")
        and not isinstance(y.dtype, np.dtype)
        and y.dtype.kind in "iub"
    ):
        # Integers with NA would become floats, and classes 1.0 and 2.0.
        y = y.astype(object)
    if isinstance(y, list | tuple) and any(value is None or isinstance(value, str) for value in y):
        whole = np.empty(len(y), dtype=object)
        whole[:] = y
        y = whole if any(value is None for value in y) or _kinds(whole) != {"text"} else y
    if getattr(getattr(y, "dtype", None), "kind", "") == "O" and np.ndim(y) == 1:
        _refuse_mixture(np.asarray(y, dtype=object), unlabeled)
    return y


def _kinds(values: Array) -> set[str]:
    return {kind for value in values if (kind := _kind(value)) is not None}


def _kind(value: Any) -> str | None:
    """The kind of one label, None where there is none."""
    if isinstance(value, str | bytes):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "booleans"
    if isinstance(value, Number):
        return None if value != value else "numbers"
    return None


def _refuse_mixture(values: Array, unlabeled: Any) -> None:
    first: dict[str, Any] = {}
    for value in values:
        kind = _kind(value)
        if kind is not None and not (type(value) is type(unlabeled) and value == unlabeled):
            first.setdefault(kind, value)
    if len(first) > 1:
        named = " and ".join(f"{kind} ({value!r})" for kind, value in first.items())
        raise ValueError(f"y mixes {named}. Use labels of one type, and None where there is no label.")
