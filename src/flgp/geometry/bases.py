"""Shared by the known geometries: places, bases, and checks of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from .._stored import stored
from .._typing import Array, BoolArray, IntArray, RowLike
from ..rows.blocks import row_blocks
from ..rows.errors import in_words
from .base import Eigenbasis, MatrixRows, SparseRows

T = TypeVar("T")

# Default number of eigenpairs: smallest and largest.
_LEAST, _MOST = 200, 1000


@dataclass(frozen=True, eq=False)
class PointPlaces:
    """Points on a geometry whose eigenfunctions are known everywhere."""

    points: Array  # (b, k)
    closeness: Array  # (b,)


@dataclass(frozen=True, eq=False)
class NodePlaces:
    """Points as weights over the nodes of a geometry."""

    rows: SparseRows
    closeness: Array  # (b,)


class ByFormula(ABC):
    """Base of eigenbases whose functions are known everywhere: z = φ and B = 1."""

    eigenvalues: Array  # (M,)

    bandwidth = None

    @property
    def time_unit(self) -> float:
        return time_unit(self.eigenvalues)

    @abstractmethod
    def features(self, places: Any) -> Array:
        """φ (b, M)."""

    def rows(self, places: Any) -> MatrixRows:
        """The eigenfunctions themselves."""
        return MatrixRows(self.features(places))

    def at_nodes(self, weights: Array) -> Array:
        """Weights as they are."""
        return weights


@stored("eigenfunctions by formula")
@dataclass(frozen=True, eq=False)
class FunctionBasis(ByFormula):
    """A formula on a geometry of one part."""

    eigenvalues: Array  # (M,)
    functions: Callable[[Array], Array]  # φ (b, M) at points (b, k)

    n_parts = 1
    n_capped = 0

    def part_of(self, places: PointPlaces) -> IntArray:
        """All places are on the one part."""
        return np.zeros(len(places.closeness), dtype=np.int64)

    def features(self, places: PointPlaces) -> Array:
        return self.functions(places.points)


@stored("eigenfunctions at nodes")
@dataclass(frozen=True, eq=False)
class NodeBasis:
    """Eigenfunctions that are known at the nodes of a geometry."""

    eigenvalues: Array  # (M,)
    lift: Array  # (s, M) B
    components: IntArray  # (s,) connected part of each node
    n_capped: int
    time_unit: float

    bandwidth = None

    @property
    def n_parts(self) -> int:
        return int(self.components.max()) + 1

    def part_of(self, places: NodePlaces) -> IntArray:
        """The part of each place's first node."""
        return self.components[places.rows.index[:, 0]]

    def rows(self, places: NodePlaces) -> SparseRows:
        return places.rows

    def at_nodes(self, weights: Array) -> Array:
        return self.lift @ weights

    def features(self, places: NodePlaces) -> Array:
        return places.rows.combine(self.lift)


class Quantities:
    """Base of geometries whose columns are all quantities, none of them node numbers."""

    def identifiers(self, n_columns: int) -> tuple[int, ...]:
        return ()


class LeadingColumns(Quantities):
    """Base of geometries that take a fixed number of columns, the first ones of X by default."""

    n_columns: ClassVar[int] = 1
    takes: ClassVar[str] = "1 column"  # for error messages

    def columns(self, n_columns: int) -> int:
        if n_columns < self.n_columns:
            raise no_columns(type(self).__name__, self.takes, n_columns)
        return self.n_columns

    def check_width(self, rows: RowLike) -> None:
        """Raise ValueError unless rows have that many columns."""
        if rows.shape[1] != self.n_columns:
            raise no_columns(type(self).__name__, self.takes, rows.shape[1])


class Known(ABC):
    """Base of fitted geometries that learn at most a scale from the rows."""

    bandwidths = None
    typical_bandwidth = None

    def fitted_places(self) -> None:
        """None: fitted rows are not kept, because locating them again is cheap."""
        return

    def frozen(self) -> Self:
        """Return self: nothing is needed only for the fit."""
        return self

    def distance(self, X: Array) -> Array:
        """0: every row is on the geometry."""
        return np.zeros(len(X))

    def coordinates(self, X: Array) -> Array | None:
        """None: there are none that a local term could use."""
        return None

    @abstractmethod
    def eigenpairs(self, count: int) -> Eigenbasis:
        """The first ones."""

    def basis(
        self, n_eigenpairs: int, bandwidth: float | None = None, near: object = None, rough: bool = False
    ) -> Eigenbasis:
        """The first eigenpairs: there is no bandwidth to choose."""
        return self.eigenpairs(n_eigenpairs)

    def n_eigenpairs(self, n_labeled: int) -> int:
        """One eigenpair per label, between 200 and 1000."""
        return max(_LEAST, min(n_labeled, _MOST))


def node_eigenpairs(n_labeled: int, n_nodes: int) -> int:
    """The default number of eigenpairs for geometries that compute them numerically."""
    return max(1, min(max(_LEAST, n_labeled // 10), _MOST, n_nodes // 2))


def is_number(value: object) -> bool:
    """Whether a parameter is a finite real number."""
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


def time_unit(eigenvalues: Array) -> float:
    """1/λ_M; 1 if all eigenfunctions are constant."""
    return float(1.0 / eigenvalues[-1]) if eigenvalues[-1] > 0 else 1.0


def scan(rows: RowLike, function: Callable[[Array, int], T], combine: Callable[[T, T], T]) -> T:
    """`function` of each block of rows (b, q) and the number of its first row, combined."""
    return row_blocks(rows).map_at(function).reduce(lambda result: result, combine)


def check_rows(rows: RowLike, check: Callable[[Array, int], object]) -> None:
    """`check` each block of rows (b, q), given the number of its first row: it raises what is wrong."""

    def checked(block: Array, start: int) -> None:
        check(block, start)

    scan(rows, checked, lambda first, second: None)


def refuse(bad: BoolArray, start: int, message: str) -> None:
    """Raise ValueError if any of the rows from number `start` on is bad; `{rows}` in `message` names them."""
    if bad.any():
        raise ValueError(message.format(rows=in_words(start + np.flatnonzero(bad))))


def finite(X: Any, start: int) -> Array:
    """Rows as floats; raises ValueError if a value is missing or infinite."""
    X = np.asarray(X, dtype=float)
    refuse(
        ~np.isfinite(X).all(axis=1),
        start,
        "The columns of the geometry are NaN or infinite in {rows}. Drop or impute these rows.",
    )
    return X


def node_numbers(X: Any, n_nodes: int, what: str, start: int = 0) -> IntArray:
    """The nodes (b,) named by a column (b, 1) of node numbers."""
    number = finite(X, start)[:, 0]
    refuse(
        number != np.round(number),
        start,
        f"The {what} number is not an integer in {{rows}}. Number each {what} 0, 1, 2, ...",
    )
    refuse(
        (number < 0) | (number >= n_nodes),
        start,
        f"The {what} number is out of range in {{rows}}. Numbers run from 0 to {n_nodes - 1}.",
    )
    return number.astype(np.int64)


def at_nodes(number: IntArray) -> NodePlaces:
    """Places exactly at nodes."""
    ones = np.ones(len(number))
    return NodePlaces(SparseRows(number[:, None], ones[:, None]), ones)


def no_columns(name: str, takes: str, n_columns: int) -> ValueError:
    """The error for columns that a geometry cannot take."""
    return ValueError(
        f"{name} takes {takes}, but X has {n_columns}. Select the columns with geometry_columns."
    )
