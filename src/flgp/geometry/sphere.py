"""The sphere: real spherical harmonics."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from .._stored import stored
from .._typing import Array, RowLike
from .base import closeness_of
from .bases import FunctionBasis, Known, PointPlaces, Quantities, check_rows, finite, no_columns, refuse

# How far from 1 the length of a fitted row may be.
_TOLERANCE = 1e-3
# Points per block, so that all functions of a block stay in the cache.
_POINTS = 1024


@stored("sphere")
@dataclass(frozen=True)
class Sphere(Quantities):
    """The unit sphere.

    Rows are latitude and longitude in degrees (2 columns) or unit vectors (3 columns). The eigenvalues are
    ℓ(ℓ+1) with 2ℓ+1 eigenfunctions each. A basis holds all functions of a degree or none, so its kernel does
    not depend on where the poles are.
    """

    def columns(self, n_columns: int) -> int:
        if n_columns not in (2, 3):
            takes = "2 columns (latitude, longitude in degrees) or 3 (unit vectors)"
            raise no_columns("Sphere", takes, n_columns)
        return n_columns

    def fit(self, rows: RowLike, rng: np.random.Generator) -> FittedSphere:
        """Check that rows (n, 2 or 3) are on the sphere."""
        fitted = FittedSphere(self.columns(rows.shape[1]))

        def check(block: Array, start: int) -> None:
            fitted.directions(block, start)
            refuse(
                fitted.distance(block) > 1.0,
                start,
                "Sphere takes unit vectors, but the length is not 1 in {rows}. Divide each row by its "
                "length; for latitude and longitude, select only those two columns with geometry_columns.",
            )

        check_rows(rows, check)
        return fitted


@stored("fitted sphere")
@dataclass(frozen=True)
class FittedSphere(Known):
    """The sphere, for rows of 2 or 3 columns."""

    n_columns: int

    def directions(self, X: Array, start: int = 0) -> Array:
        """Unit vectors (b, 3); `start` is the number of the first row."""
        X = finite(X, start)
        if self.n_columns == 3:
            length = np.linalg.norm(X, axis=1, keepdims=True)
            # The centre has no direction, and any is as good: it is far off the sphere.
            return np.where(length > 0, X / np.where(length > 0, length, 1.0), np.array([0.0, 0.0, 1.0]))
        refuse(
            np.abs(X[:, 0]) > 90.0,
            start,
            "The latitude is beyond ±90 degrees in {rows}. Latitude comes first, then longitude: swap the "
            "columns if they are the other way round.",
        )
        latitude, longitude = np.deg2rad(X).T
        across = np.cos(latitude)
        return np.column_stack([across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)])

    def locate(self, X: Array) -> PointPlaces:
        return PointPlaces(self.directions(X), closeness_of(self.distance(X)))

    def distance(self, X: Array) -> Array:
        """Difference (b,) of the length of a row from 1, in units of the 0.001 allowed for fitted rows."""
        if self.n_columns == 2:
            return np.zeros(len(X))
        return np.abs(np.linalg.norm(np.asarray(X, dtype=float), axis=1) - 1.0) / _TOLERANCE

    def coordinates(self, X: Array) -> Array:
        return self.directions(X)

    def eigenpairs(self, count: int) -> FunctionBasis:
        """All harmonics up to the largest degree L with (L+1)² ≤ count; at least up to degree 1."""
        n_degrees = isqrt(max(count, 4))
        degree = np.arange(n_degrees)
        return FunctionBasis(
            np.repeat(degree * (degree + 1.0), 2 * degree + 1), SphericalHarmonics(n_degrees - 1)
        )


@stored("spherical harmonics")
@dataclass(frozen=True)
class SphericalHarmonics:
    """All real spherical harmonics up to a degree L, with mean square 1.

    In each degree ℓ the order is m = 0, then (cos mφ, sin mφ) for m = 1 … ℓ.
    """

    degree: int

    def __call__(self, points: Array) -> Array:
        """φ (b, (L+1)²) at unit vectors (b, 3)."""
        values = np.empty((len(points), (self.degree + 1) ** 2))
        for a in range(0, len(points), _POINTS):
            values[a : a + _POINTS] = self._of_block(points[a : a + _POINTS]).T
        return values

    def _of_block(self, points: Array) -> Array:
        """φ ((L+1)², b), by the recursion in ℓ of the normalised Legendre functions P̄_ℓm for all m at once.

        The factor sin^m θ of P̄_ℓm is moved to cos mφ and sin mφ: (x + iy)^m is a polynomial, and the poles
        need no special case.
        """
        z = points[:, 2]
        size = len(z)
        turn = np.empty((self.degree + 1, size), dtype=complex)  # √2 (x + iy)^m, and 1 for m = 0
        turn[0] = np.sqrt(2.0)
        step = points[:, 0] + 1j * points[:, 1]
        for power in range(1, self.degree + 1):
            np.multiply(turn[power - 1], step, out=turn[power])
        turn[0] = 1.0
        values = np.empty(((self.degree + 1) ** 2, size))
        before, now = np.zeros((0, size)), np.ones((1, size))  # degrees ℓ-2 and ℓ-1
        for ell in range(self.degree + 1):
            if ell > 0:
                m = np.arange(ell, dtype=float)[:, None]
                following = np.empty((ell + 1, size))
                np.multiply(now, z, out=following[:ell])
                following[: ell - 1] -= before * np.sqrt(
                    ((ell - 1.0) ** 2 - m[:-1] ** 2) / (4.0 * (ell - 1.0) ** 2 - 1.0)
                )
                following[:ell] *= np.sqrt((4.0 * ell**2 - 1.0) / (ell**2 - m**2))
                following[ell] = np.sqrt((2.0 * ell + 1.0) / (2.0 * ell)) * now[ell - 1]
                before, now = now, following
            first = ell**2
            values[first] = now[0]
            np.multiply(now[1:], turn.real[1 : ell + 1], out=values[first + 1 : first + 2 * ell : 2])
            np.multiply(now[1:], turn.imag[1 : ell + 1], out=values[first + 2 : first + 2 * ell + 1 : 2])
        return values
