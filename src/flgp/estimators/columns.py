"""Which columns of X serve what: the geometry, covariates, groups, and the distances of the local term."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._stored import stored
from .._typing import Array, IntArray
from ..geometry.base import Geometry
from ..rows.columns import select
from ..rows.even import EvenColumns
from .validation import is_auto


@stored("scaled columns")
@dataclass(frozen=True)
class Columns:
    """Some columns of X, each times a factor."""

    index: IntArray  # (q,)
    scale: Array  # (q,)

    def of(self, X: Array) -> Array:
        """Coordinates (n, q) of rows X (n, p)."""
        return np.ascontiguousarray(np.asarray(X, dtype=np.float64)[:, self.index] * self.scale)


@stored("roles of columns")
@dataclass(frozen=True)
class ColumnRoles:
    """Positions of the columns that a model uses."""

    geometry: IntArray | None  # None: all columns, in their order
    linear: IntArray | None
    groups: tuple[int, ...]
    local: Columns | None  # None: where the geometry says
    names: tuple[str, ...] | None  # of all columns, where they have some
    even: EvenColumns | None = None  # what the geometry's columns go through; None: they are as given

    @property
    def linear_is_own(self) -> bool:
        """Whether the covariates are just the geometry's columns."""
        return self.linear is not None and (
            self.geometry is None or np.array_equal(self.linear, self.geometry)
        )

    def label(self, column: int) -> str:
        """A column's name, or its position."""
        return str(column) if self.names is None else self.names[column]

    def geometry_of(self, X: Any) -> Any:
        """The columns of the geometry."""
        return select(X, self.geometry, self.even)


def choose_roles(
    geometry: Geometry,
    n_columns: int,
    names: Sequence[str] | None,
    *,
    geometry_columns: Any = None,
    linear: Any = None,
    groups: Any = None,
    residual_columns: Any = None,
    own_linear: bool = False,
) -> ColumnRoles:
    """Roles from what a user gives; a column is a position, or a name if the columns have names.

    `linear="auto"` takes the columns that nothing else uses; where there are none, those of the geometry, if
    `own_linear` allows it.
    """
    named = None if names is None else tuple(str(name) for name in names)
    grouped = () if groups is None else tuple(positions("groups", groups, n_columns, names).tolist())
    others: IntArray = np.array([j for j in range(n_columns) if j not in grouped], dtype=np.intp)
    if geometry_columns is None:
        if len(others) == 0:
            raise ValueError("groups takes every column of X. Leave at least one for the geometry.")
        own = others[: geometry.columns(len(others))]
    else:
        own = positions("geometry_columns", geometry_columns, n_columns, names)
        geometry.columns(len(own))
    _refuse_shared("geometry_columns", own.tolist(), "groups", grouped)
    local = None if residual_columns is None else scaled_columns(residual_columns, n_columns, names)
    identifiers = [own[j] for j in geometry.identifiers(len(own))]
    covariates: IntArray | None = None
    if isinstance(linear, str) and linear == "all" and "all" not in (named or ()):
        covariates = np.array([j for j in others if j not in identifiers], dtype=np.intp)
        if len(covariates) == 0:
            raise ValueError("linear='all' finds no column that is neither a group nor a node's number.")
    elif is_auto(linear):
        used = {*own.tolist(), *grouped, *(() if local is None else local.index.tolist())}
        unused = np.array([j for j in others if j not in used], dtype=np.intp)
        covariates = unused if len(unused) else own if own_linear else None
    elif linear is not None:
        covariates = positions("linear", linear, n_columns, names)
        _refuse_shared("linear", covariates.tolist(), "groups", grouped)
    whole = np.array_equal(own, np.arange(n_columns))
    return ColumnRoles(None if whole else own, covariates, grouped, local, named)


def _refuse_shared(one: str, first: Sequence[int], other: str, second: Sequence[int]) -> None:
    if shared := sorted(set(first) & set(second)):
        raise ValueError(f"Column {shared[0]} is in {one} and in {other}. Use it in one of them.")


def positions(argument: str, given: Any, n_columns: int, names: Sequence[str] | None = None) -> IntArray:
    """Positions (q,) of the columns that a user names, each once."""
    if isinstance(given, str | int | np.integer):
        given = [given]
    try:
        columns = list(given)
    except TypeError as error:
        raise ValueError(f"{argument}={given!r} must be columns of X, by position or name.") from error
    index = np.array([_position(argument, column, n_columns, names) for column in columns], dtype=np.intp)
    if len(index) == 0 or len(np.unique(index)) < len(index):
        raise ValueError(f"{argument}={given!r} must name at least one column, and none twice.")
    return index


def scaled_columns(given: Any, n_columns: int, names: Sequence[str] | None = None) -> Columns:
    """Columns, or a mapping from columns to factors, from what a user gives as `residual_columns`."""
    index = positions("residual_columns", given, n_columns, names)
    scale = np.ones(len(index))
    if isinstance(given, Mapping):
        scale = np.array([float(given[column]) for column in given])
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise ValueError(f"residual_columns={given!r}: the factors must be positive and finite.")
    return Columns(index, scale)


def _position(argument: str, column: Any, n_columns: int, names: Sequence[str] | None) -> int:
    if isinstance(column, str):
        if names is None:
            raise ValueError(f"{argument} names {column!r}, but X has no column names. Give positions.")
        if column not in list(names):
            raise ValueError(f"{argument} names {column!r}, which is not a column of X.")
        return list(names).index(column)
    whole = isinstance(column, int | np.integer) and not isinstance(column, bool)
    if not whole or not 0 <= column < n_columns:
        raise ValueError(f"{argument} has {column!r}, but X has the columns 0 to {n_columns - 1}.")
    return int(column)
