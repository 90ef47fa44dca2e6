"""Products of geometries, such as places on the sphere at times of the year."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import isqrt, prod

import numpy as np

from .._stored import stored
from .._typing import Array, IntArray, RowLike
from ..rows.columns import select
from .base import Eigenbasis, FittedGeometry, Geometry, Places, smallest_sums
from .bases import ByFormula, Known


@stored("product of geometries")
@dataclass(frozen=True, eq=False)
class Product:
    """Points with a place on each of several geometries, whose columns follow one another.

    Eigenvalues add and eigenfunctions multiply, so the heat kernel is the product of the factors' kernels.
    One diffusion time serves all factors: their units decide how they compare, such as a circle's period.

    Parameters
    ----------
    *args : Geometry
        Two or more, in the order of their columns.
    geometries : iterable of Geometry
        The same, as one argument.

    Examples
    --------
    >>> from flgp.geometry import Circle, Interval, Product
    >>> cylinder = Product(Circle(period=24), Interval())
    """

    geometries: tuple[Geometry, ...]

    def __init__(self, *args: Geometry, geometries: Iterable[Geometry] = ()) -> None:
        factors = (*args, *geometries)
        if len(factors) < 2:
            raise ValueError(f"Product takes two or more geometries, but got {len(factors)}.")
        for factor in factors:
            if not isinstance(factor, Geometry):
                raise ValueError(f"Product takes geometries, but got {factor!r}.")
        object.__setattr__(self, "geometries", factors)

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.geometries))})"

    def columns(self, n_columns: int) -> int:
        """The columns of all factors."""
        return sum(self.widths(n_columns))

    def widths(self, n_columns: int) -> tuple[int, ...]:
        """How many columns each factor takes; raises ValueError if that is not clear."""
        choices = [_choices(factor, n_columns) for factor in self.geometries]
        possible = [widths for widths in product(*choices) if sum(widths) <= n_columns]
        # Prefer assignments that use all columns; other columns may belong to other terms.
        complete = [widths for widths in possible if sum(widths) == n_columns]
        found = complete or possible
        if len(found) != 1:
            problem = "more than one way to share" if found else "no way to share"
            raise ValueError(
                f"There is {problem} {n_columns} columns among {self!r}. Select the columns of the product "
                "with geometry_columns."
            )
        return found[0]

    def identifiers(self, n_columns: int) -> tuple[int, ...]:
        """Those of the factors."""
        widths = self.widths(n_columns)
        found = [
            start + column
            for factor, start, width in zip(self.geometries, np.cumsum([0, *widths]), widths, strict=False)
            for column in factor.identifiers(width)
        ]
        return tuple(int(column) for column in found)

    def fit(self, rows: RowLike, rng: np.random.Generator) -> FittedProduct:
        """Fit each factor to its columns of rows (n, q)."""
        widths = self.widths(rows.shape[1])
        if sum(widths) != rows.shape[1]:
            raise ValueError(f"{self!r} takes {sum(widths)} columns, but the rows have {rows.shape[1]}.")
        factors = [
            factor.fit(select(rows, np.arange(columns.start, columns.stop)), rng)
            for factor, columns in zip(self.geometries, _slices(widths), strict=True)
        ]
        return FittedProduct(tuple(factors), widths)


def _choices(geometry: Geometry, n_columns: int) -> list[int]:
    """Numbers of columns up to `n_columns` for which a geometry takes all columns."""
    found = []
    for width in range(1, n_columns + 1):
        try:
            if geometry.columns(width) == width:
                found.append(width)
        except ValueError:
            continue
    return found


def _slices(widths: Iterable[int]) -> list[slice]:
    return [slice(a, b) for a, b in pairwise(np.cumsum([0, *widths]).tolist())]


@dataclass(frozen=True, eq=False)
class ProductPlaces:
    """A place on each factor."""

    factors: tuple[Places, ...]

    @property
    def closeness(self) -> Array:
        """Product of the closenesses of the factors (b,)."""
        return np.prod([places.closeness for places in self.factors], axis=0)


@stored("fitted product of geometries")
@dataclass(frozen=True, eq=False)
class FittedProduct(Known):
    """Fitted factors and how many columns each takes."""

    factors: tuple[FittedGeometry, ...]
    widths: tuple[int, ...]

    def _split(self, X: Array) -> list[tuple[FittedGeometry, Array]]:
        X = np.asarray(X)
        columns = [X[:, part] for part in _slices(self.widths)]
        return list(zip(self.factors, columns, strict=True))

    def locate(self, X: Array) -> ProductPlaces:
        """Locate points on each factor."""
        return ProductPlaces(tuple(factor.locate(columns) for factor, columns in self._split(X)))

    def distance(self, X: Array) -> Array:
        """The largest distance of the factors (b,)."""
        return np.max([factor.distance(columns) for factor, columns in self._split(X)], axis=0)

    def coordinates(self, X: Array) -> Array | None:
        """The concatenated coordinates of all factors, if all have some."""
        found = [factor.coordinates(columns) for factor, columns in self._split(X)]
        known = [coordinates for coordinates in found if coordinates is not None]
        return np.column_stack(known) if len(known) == len(found) else None

    def basis(
        self, n_eigenpairs: int, bandwidth: float | None = None, near: object = None, rough: bool = False
    ) -> ProductBasis:
        """The products of eigenfunctions with the smallest sums of eigenvalues."""
        bases = tuple(_at_least(factor, n_eigenpairs) for factor in self.factors)
        chosen = smallest_sums([basis.eigenvalues for basis in bases], n_eigenpairs)
        eigenvalues = sum(basis.eigenvalues[index] for basis, index in zip(bases, chosen.T, strict=True))
        return ProductBasis(np.asarray(eigenvalues), bases, chosen)

    def frozen(self) -> FittedProduct:
        """The product with frozen factors."""
        return replace(self, factors=tuple(factor.frozen() for factor in self.factors))


def _at_least(factor: FittedGeometry, count: int) -> Eigenbasis:
    """A basis of `count` eigenpairs or more, even if they come in groups; fewer only if no more exist.

    A missing eigenvalue might belong to one of the smallest sums.
    """
    basis = factor.basis(count)
    if len(basis.eigenvalues) < count:
        basis = factor.basis(count + 2 * (isqrt(count) + 1))  # the next degree of a sphere
    return basis


@stored("products of eigenfunctions")
@dataclass(frozen=True, eq=False)
class ProductBasis(ByFormula):
    """Products of one eigenfunction from each factor."""

    eigenvalues: Array  # (M,)
    factors: tuple[Eigenbasis, ...]
    chosen: IntArray  # (M, number of factors) which eigenfunction of each factor

    @property
    def n_parts(self) -> int:
        """Number of connected parts: products of one part of each factor."""
        return prod(factor.n_parts for factor in self.factors)

    @property
    def n_capped(self) -> int:
        """Number of parts with a stray part of any factor."""
        return self.n_parts - prod(factor.n_parts - factor.n_capped for factor in self.factors)

    def part_of(self, places: ProductPlaces) -> IntArray:
        """The part that each place is on, (b,)."""
        parts = [basis.part_of(place) for basis, place in zip(self.factors, places.factors, strict=True)]
        return np.ravel_multi_index(parts, [factor.n_parts for factor in self.factors]).astype(np.int64)

    def features(self, places: ProductPlaces) -> Array:
        """φ (b, M)."""
        values = np.ones(1)
        for basis, place, chosen in zip(self.factors, places.factors, self.chosen.T, strict=True):
            values = values * basis.features(place)[:, chosen]
        return values
