"""Categorical columns as numbers, whatever they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._typing import Array, BoolArray

Levels = Mapping[int, list[Any]]  # the levels of each column that does not hold numbers


def encode_groups(X: Any, groups: Any, known: Levels | None) -> tuple[Any, dict[int, list[Any]]]:
    """X with the levels of its group columns as numbers, and the levels of those that were not numbers.

    `known` are the levels of an earlier call, if there was one; others get numbers beyond.
    """
    frame = hasattr(X, "iloc")
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if not frame and not isinstance(X, np.ndarray):
        X = np.asarray(X, dtype=object) if names is not None else np.asarray(X)
    wanted = [groups] if isinstance(groups, str | int | np.integer) else list(groups)
    levels: dict[int, list[Any]] = {}
    encoded: dict[int, Array] = {}
    for column in wanted:
        # Wrong columns are refused later, by the one place that knows all roles.
        if not isinstance(column, str):
            position = int(column)
        elif names is not None and column in names:
            position = names.index(column)
        else:
            continue
        if not 0 <= position < np.shape(X)[1]:
            continue
        values = X.iloc[:, position] if frame else X[:, position]
        missing = _missing(values)
        if missing.any():
            row = int(np.flatnonzero(missing)[0])
            raise ValueError(
                f"groups column {column!r} has missing values, the first in row {row}. Give them a level of "
                "their own, such as 'unknown', or leave out these rows."
            )
        plain = np.asarray(values)
        if plain.dtype.kind in "iufb":
            continue
        levels[position], encoded[position] = _codes(plain, None if known is None else known.get(position))
    if not encoded:
        return X, levels
    if frame:
        X = X.copy()
        for position, codes in encoded.items():
            X.isetitem(position, codes)
        return X, levels
    result = np.empty(X.shape, dtype=np.float64)
    for j in range(X.shape[1]):
        result[:, j] = encoded[j] if j in encoded else np.asarray(X[:, j], dtype=np.float64)
    return result, levels


def _missing(values: Any) -> BoolArray:
    """Which values (n,) of a column are missing."""
    if hasattr(values, "isna"):
        return np.asarray(values.isna())
    if values.dtype.kind in "iufb":
        return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    return np.array([value is None or value != value for value in values], dtype=bool)


def _codes(values: Array, known: list[Any] | None) -> tuple[list[Any], Array]:
    """The levels in the order of their numbers, and the number of each row's level."""
    order: list[Any] = sorted(set(values.tolist()), key=str)
    levels = order if known is None else [*known, *(level for level in order if level not in set(known))]
    number = {level: i for i, level in enumerate(levels)}
    codes = np.array([number[value] for value in values.tolist()], dtype=np.float64)
    return levels if known is None else list(known), codes
