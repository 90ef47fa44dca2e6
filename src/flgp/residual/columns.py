"""In which coordinates, and in which units, the short-range part measures its distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array, IntArray


@dataclass(frozen=True)
class Columns:
    """Some columns of X, each times a factor."""

    index: IntArray  # (q,)
    scale: Array  # (q,)

    def of(self, X: Array) -> Array:
        """Coordinates (n, q) of rows X (n, p)."""
        return np.ascontiguousarray(np.asarray(X, dtype=np.float64)[:, self.index] * self.scale)


def choose_columns(given: Any, n_columns: int, names: Sequence[str] | None = None) -> Columns:
    """Columns from what a user gives.

    Parameters
    ----------
    given : None, sequence of columns, or mapping from columns to factors
        A column is a position, or a name if the columns have names. None: all of them, as they are.
    n_columns : int
    names : sequence of str, optional

    Raises
    ------
    ValueError
        If a column does not exist or is named twice, or a factor is not positive.
    """
    if given is None:
        return Columns(np.arange(n_columns), np.ones(n_columns))
    if isinstance(given, str | int | np.integer):
        given = [given]
    columns = list(given)
    index = np.array([_position(column, n_columns, names) for column in columns], dtype=np.intp)
    if len(index) == 0 or len(np.unique(index)) < len(index):
        raise ValueError(f"residual_columns={given!r} must name at least one column, and none twice.")
    scale = np.ones(len(index))
    if isinstance(given, Mapping):
        scale = np.array([float(given[column]) for column in columns])
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise ValueError(f"residual_columns={given!r}: the factors must be positive and finite.")
    return Columns(index, scale)


def _position(column: Any, n_columns: int, names: Sequence[str] | None) -> int:
    if isinstance(column, str):
        if names is None:
            raise ValueError(f"residual_columns names {column!r}, but X has no column names. Give positions.")
        if column not in list(names):
            raise ValueError(f"residual_columns names {column!r}, which is not a column of X.")
        return list(names).index(column)
    whole = isinstance(column, int | np.integer) and not isinstance(column, bool)
    if not whole or not 0 <= column < n_columns:
        raise ValueError(f"residual_columns has {column!r}, but X has the columns 0 to {n_columns - 1}.")
    return int(column)
