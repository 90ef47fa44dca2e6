"""Tangential vector fields on the sphere, such as winds: gradients and curls of spherical harmonics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from typing import ClassVar

import numpy as np
from scipy import sparse

from .._stored import stored
from .._typing import Array, RowLike
from .bases import FunctionBasis, Known, LeadingColumns, PointPlaces, check_rows, finite, is_number, refuse
from .sphere import SphericalHarmonics

# Shares of the divergent part that are compared where it is not given.
SHARES = (0.5, 0.2, 0.05)


@stored("tangential fields on the sphere")
@dataclass(frozen=True)
class TangentSphere(LeadingColumns):
    """Tangential vector fields on the unit sphere, seen through their components.

    A row is a latitude, a longitude and a bearing, all in degrees: f is the component of the field in that
    direction. The bearing is clockwise from north, so 90 is the east and 0 the north component; a field with
    both has two rows for each place. The field is a gradient plus a curl (Helmholtz and Hodge): its
    eigenfunctions are ∇Y/√(ℓ(ℓ+1)) and x×∇Y/√(ℓ(ℓ+1)) for the spherical harmonics Y of degree ℓ ≥ 1, with
    eigenvalue ℓ(ℓ+1). Nothing is special at the poles, where components have no limit.

    Parameters
    ----------
    divergent : float between 0 and 1, optional
        Prior share of the gradient part in the variance: large-scale winds have hardly any divergence. None:
        that of 0.5, 0.2 and 0.05 with the highest evidence.
    """

    divergent: float | None = None

    n_columns: ClassVar[int] = 3
    takes: ClassVar[str] = "3 columns (latitude, longitude, bearing in degrees)"

    def __post_init__(self) -> None:
        checked_share(self.divergent)

    def candidates(self, rows: RowLike) -> list[TangentSphere]:
        """Fields with a given share, to be compared where none is given."""
        return [TangentSphere(share) for share in SHARES] if self.divergent is None else [self]

    def fit(self, rows: RowLike, rng: np.random.Generator) -> FittedTangentSphere:
        """Check that rows (n, 3) are latitudes, longitudes and bearings."""
        self.check_width(rows)
        check_rows(rows, _frame)
        return FittedTangentSphere(SHARES[0] if self.divergent is None else float(self.divergent))


@stored("fitted tangential fields on the sphere")
@dataclass(frozen=True)
class FittedTangentSphere(Known):
    """The fields, which learn nothing from the rows.

    They have no coordinates: two components at one place are not near each other.
    """

    divergent: float

    def locate(self, X: Array) -> PointPlaces:
        """Unit vectors of the place and of the direction, (b, 6)."""
        return PointPlaces(_frame(X, 0), np.ones(len(X)))

    def eigenpairs(self, count: int) -> FunctionBasis:
        """All fields up to the largest degree L with 2((L+1)² - 1) ≤ count; at least degree 1."""
        degree = max(isqrt(count // 2 + 1) - 1, 1)
        ell = np.arange(1.0, degree + 1)
        eigenvalues = np.repeat(ell * (ell + 1.0), (2 * (2 * ell + 1)).astype(int))
        return FunctionBasis(eigenvalues, TangentHarmonics(degree, self.divergent))


@stored("tangential harmonics")
@dataclass(frozen=True)
class TangentHarmonics:
    """Curls, then gradients, of the harmonics of each degree from 1 to L.

    The mean square over all places and directions is 1 for both together, shared as `divergent` says.
    """

    degree: int
    divergent: float

    def __call__(self, points: Array) -> Array:
        """φ (b, 2((L+1)² - 1)) for places and directions (b, 6)."""
        x, e = points[:, :3], points[:, 3:]
        values = SphericalHarmonics(self.degree)(x)
        turned = np.cross(x, e)  # ∇Y·e = (x×∇Y)·(x×e)
        curl, gradient = np.zeros_like(values), np.zeros_like(values)
        for k, rotation in enumerate(rotations(self.degree)):
            along = values @ rotation
            curl += e[:, k, None] * along
            gradient += turned[:, k, None] * along
        result = np.empty((len(points), 2 * (values.shape[1] - 1)))
        for ell in range(1, self.degree + 1):
            own, width, start = slice(ell**2, (ell + 1) ** 2), 2 * ell + 1, 2 * (ell**2 - 1)
            scale = 2.0 / np.sqrt(ell * (ell + 1.0))
            result[:, start : start + width] = scale * np.sqrt(1.0 - self.divergent) * curl[:, own]
            result[:, start + width : start + 2 * width] = scale * np.sqrt(self.divergent) * gradient[:, own]
        return result


@lru_cache(maxsize=8)
def rotations(degree: int) -> tuple[sparse.csr_array, ...]:
    """Matrices of (x×∇)_k for k = x, y, z on the real harmonics up to a degree: Y(x) ↦ Y(x) matrix.

    A rotation mixes harmonics of one degree only. With Z_m = P̄_ℓm exp(imφ) the ladder operators give
    (x×∇)_x Z_m = -½i(c₊Z_{m+1} + c₋Z_{m-1}) and (x×∇)_y Z_m = -½(c₊Z_{m+1} - c₋Z_{m-1}),
    c± = √(ℓ(ℓ+1) - m(m±1)), of which real and imaginary parts are taken.
    """
    entries: list[list[tuple[int, int, float]]] = [[], [], []]  # (from, to, value) of each axis
    for ell in range(1, degree + 1):
        first = ell**2

        def cosine(m: int, first: int = first) -> int:
            return first if m == 0 else first + 2 * m - 1

        top = np.sqrt(ell * (ell + 1.0) / 2.0)  # between m = 0 and m = 1, in harmonics of mean square 1
        entries[0] += [(cosine(0), cosine(1) + 1, top), (cosine(1) + 1, cosine(0), -top)]
        entries[1] += [(cosine(0), cosine(1), -top), (cosine(1), cosine(0), top)]
        for m in range(1, ell + 1):
            c, s = cosine(m), cosine(m) + 1
            entries[2] += [(c, s, -float(m)), (s, c, float(m))]
            if m == ell:
                continue
            up = 0.5 * np.sqrt(ell * (ell + 1.0) - m * (m + 1.0))
            above, beside = cosine(m + 1), cosine(m + 1) + 1
            entries[0] += [(c, beside, up), (s, above, -up), (above, s, up), (beside, c, -up)]
            entries[1] += [(c, above, -up), (s, beside, -up), (above, c, up), (beside, s, up)]
    size = (degree + 1) ** 2
    result = []
    for axis in entries:
        column, row, value = zip(*axis, strict=True)
        result.append(sparse.csr_array((value, (row, column)), shape=(size, size)))
    return tuple(result)


def checked_share(divergent: object) -> None:
    """Raise ValueError unless a share of the divergent part is None or between 0 and 1."""
    if divergent is not None and not (is_number(divergent) and 0 < divergent < 1):  # type: ignore[operator]
        raise ValueError(f"divergent={divergent!r} is not a number between 0 and 1, or None.")


def _frame(X: Array, start: int) -> Array:
    """Unit vectors of place and direction (b, 6); `start` is the number of the first row."""
    X = finite(X, start)
    refuse(
        np.abs(X[:, 0]) > 90.0,
        start,
        "The latitude is beyond ±90 degrees in {rows}. The columns are latitude, longitude and bearing.",
    )
    latitude, longitude, bearing = np.deg2rad(X).T
    a, b = np.sin(latitude), np.cos(latitude)
    c, d = np.cos(longitude), np.sin(longitude)
    place = np.column_stack([b * c, b * d, a])
    east, north = np.column_stack([-d, c, np.zeros(len(X))]), np.column_stack([-a * c, -a * d, b])
    return np.column_stack([place, np.sin(bearing)[:, None] * east + np.cos(bearing)[:, None] * north])
