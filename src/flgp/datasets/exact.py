"""Exact geodesic distances and heat kernels of the manifolds whose answers are known.

Time is that of the Laplace-Beltrami operator Δ: p_t is the kernel of exp(tΔ), so that on the line it is
(4πt)^(-1/2) exp(-d²/4t). Coordinates of points broadcast against each other, so ``(n, 1)`` against ``(1, n)``
gives all pairs. Manifolds with an edge have the reflecting (Neumann) kernel, the limit of graph Laplacians.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from .._typing import Array
from .._words import check_choice

Measure = Literal["volume", "probability"]

# At the self-dual time period²/4π the terms of both periodic series fall like exp(-πk²): five reach 1e-17.
_PERIODIC_TERMS = 5
# exp(-45) is below the rounding error of the sphere's Legendre series.
_LEGENDRE_EXPONENT = 45.0
_SPIRAL_POWER, _SPIRAL_SHIFT = 0.7, 4.0
_GAUSS_NODES, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(32)


def circle_distance(theta: npt.ArrayLike, other: npt.ArrayLike, *, radius: float = 1.0) -> Array:
    """Arc length between two angles on a circle."""
    difference = np.asarray(theta, dtype=float) - np.asarray(other, dtype=float)
    return radius * np.abs(_wrap(difference, 2 * np.pi))


def circle_heat_kernel(
    theta: npt.ArrayLike, other: npt.ArrayLike, t: float, *, radius: float = 1.0, measure: Measure = "volume"
) -> Array:
    """Heat kernel of the circle, Σ_k (4πt)^(-1/2) exp(-(θ - θ' - 2πk)² / 4t) for radius 1.

    Parameters
    ----------
    theta, other : array-like
        Angles, broadcast against each other.
    t : float
        Time, positive.
    radius : float
        Radius of the circle.
    measure : {"volume", "probability"}
        Density against arc length, or against the uniform probability (multiplied by the length 2π·radius).

    Returns
    -------
    ndarray
        Kernel values, of the broadcast shape.
    """
    length = 2 * np.pi * radius
    density = _periodic_heat_kernel(circle_distance(theta, other, radius=radius), _positive(t, "t"), length)
    return _against(density, length, measure)


def interval_heat_kernel(
    x: npt.ArrayLike, other: npt.ArrayLike, t: float, *, length: float, measure: Measure = "volume"
) -> Array:
    """Heat kernel of [0, length] with reflecting ends: that of a smooth curve in arc length (the spiral)."""
    x, other = np.asarray(x, dtype=float), np.asarray(other, dtype=float)
    t, length = _positive(t, "t"), _positive(length, "length")
    density = _periodic_heat_kernel(x - other, t, 2 * length)
    density = density + _periodic_heat_kernel(x + other, t, 2 * length)
    return _against(density, length, measure)


def rectangle_distance(point: npt.ArrayLike, other: npt.ArrayLike) -> Array:
    """Distance in the flat coordinates (..., 2) of a rectangle that is rolled or folded but not stretched.

    The Swiss roll and the folded sheet are such rectangles; a rectangle is convex, so the straight line in
    these coordinates is the shortest path on the surface.
    """
    return np.linalg.norm(_pairs(point, "point") - _pairs(other, "other"), axis=-1)


def rectangle_heat_kernel(
    point: npt.ArrayLike,
    other: npt.ArrayLike,
    t: float,
    *,
    sides: tuple[float, float],
    measure: Measure = "volume",
) -> Array:
    """Heat kernel of the rectangle [0, sides[0]] × [0, sides[1]] with reflecting edges; points (..., 2)."""
    point, other = _pairs(point, "point"), _pairs(other, "other")
    first = interval_heat_kernel(point[..., 0], other[..., 0], t, length=sides[0])
    second = interval_heat_kernel(point[..., 1], other[..., 1], t, length=sides[1])
    return _against(first * second, sides[0] * sides[1], measure)


def torus_distance(
    angles: npt.ArrayLike, other: npt.ArrayLike, *, radii: tuple[float, float] = (1.0, 1.0)
) -> Array:
    """Geodesic distance on the flat torus; angles (..., 2)."""
    angles, other = _pairs(angles, "angles"), _pairs(other, "other")
    return np.hypot(
        circle_distance(angles[..., 0], other[..., 0], radius=radii[0]),
        circle_distance(angles[..., 1], other[..., 1], radius=radii[1]),
    )


def torus_heat_kernel(
    angles: npt.ArrayLike,
    other: npt.ArrayLike,
    t: float,
    *,
    radii: tuple[float, float] = (1.0, 1.0),
    measure: Measure = "volume",
) -> Array:
    """Heat kernel of the flat torus, the product of the kernels of two circles; angles (..., 2)."""
    angles, other = _pairs(angles, "angles"), _pairs(other, "other")
    first = circle_heat_kernel(angles[..., 0], other[..., 0], t, radius=radii[0])
    second = circle_heat_kernel(angles[..., 1], other[..., 1], t, radius=radii[1])
    return _against(first * second, 4 * np.pi**2 * radii[0] * radii[1], measure)


def sphere_distance(point: npt.ArrayLike, other: npt.ArrayLike) -> Array:
    """Great-circle distance between unit vectors (..., 3), accurate for near and for opposite points."""
    point, other = np.asarray(point, dtype=float), np.asarray(other, dtype=float)
    # The half-angle form: arccos of the inner product would lose half of the digits at small distances.
    return 2 * np.arctan2(np.linalg.norm(point - other, axis=-1), np.linalg.norm(point + other, axis=-1))


def sphere_heat_kernel(
    point: npt.ArrayLike, other: npt.ArrayLike, t: float, *, measure: Measure = "volume"
) -> Array:
    """Heat kernel of the unit sphere, Σ_l (2l+1)/(4π) exp(-l(l+1)t) P_l(cos γ); unit vectors (..., 3).

    The number of terms grows like t^(-1/2). The absolute error is a few roundings of the peak 1/(4πt).
    """
    t = _positive(t, "t")
    cosine = np.cos(sphere_distance(point, other))
    before, legendre = np.zeros_like(cosine), np.ones_like(cosine)  # P_(-1), P_0
    total = np.zeros_like(cosine)
    for degree in range(int(np.ceil(np.sqrt(_LEGENDRE_EXPONENT / t))) + 1):
        total += (2 * degree + 1) * np.exp(-degree * (degree + 1) * t) * legendre
        after = ((2 * degree + 1) * cosine * legendre - degree * before) / (degree + 1)
        before, legendre = legendre, after
    # Far from the source the series cancels to rounding error; a density is not negative.
    return _against(np.maximum(total, 0.0) / (4 * np.pi), 4 * np.pi, measure)


def spiral_arc_length(theta: npt.ArrayLike) -> Array:
    """Length of the spiral (θ+4)^0.7 (cos θ, sin θ) from angle 0 to θ ≥ 0, to rounding error."""
    theta = np.asarray(theta, dtype=float)
    total = np.zeros_like(theta)
    for node, weight in zip(_GAUSS_NODES, _GAUSS_WEIGHTS, strict=True):
        shifted = theta * (node + 1) / 2 + _SPIRAL_SHIFT
        radius = shifted**_SPIRAL_POWER
        total += weight * np.hypot(radius, _SPIRAL_POWER * radius / shifted)
    return theta / 2 * total


def swiss_roll_arc_length(angle: npt.ArrayLike) -> Array:
    """Length of the Archimedean spiral of radius = angle, from its centre."""
    angle = np.asarray(angle, dtype=float)
    return (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle)) / 2


def _periodic_heat_kernel(distance: Array, t: float, period: float) -> Array:
    """Heat kernel of a closed curve: by images of the Gaussian at small t, by cosines at large t."""
    if t < period**2 / (4 * np.pi):
        return _sum_of_images(distance, t, period)
    return _sum_of_cosines(distance, t, period)


def _sum_of_images(distance: Array, t: float, period: float) -> Array:
    nearest = _wrap(distance, period)
    shifts = period * np.arange(-_PERIODIC_TERMS, _PERIODIC_TERMS + 1)
    total = sum(np.exp(-((nearest - shift) ** 2) / (4 * t)) for shift in shifts)
    return np.asarray(total / np.sqrt(4 * np.pi * t))


def _sum_of_cosines(distance: Array, t: float, period: float) -> Array:
    frequencies = 2 * np.pi / period * np.arange(1, _PERIODIC_TERMS + 1)
    total = sum(np.exp(-(k**2) * t) * np.cos(k * distance) for k in frequencies)
    return np.asarray((1 + 2 * total) / period)


def _wrap(difference: Array, period: float) -> Array:
    return difference - period * np.round(difference / period)


def _against(density: Array, volume: float, measure: Measure) -> Array:
    check_choice("measure", measure, ("volume", "probability"))
    return density * volume if measure == "probability" else density


def _positive(value: float, name: str) -> float:
    if not (np.ndim(value) == 0 and np.isfinite(value) and value > 0):
        raise ValueError(f"{name}={value!r} must be a positive number.")
    return float(value)


def _pairs(points: npt.ArrayLike, name: str) -> Array:
    points = np.asarray(points, dtype=float)
    if points.ndim == 0 or points.shape[-1] != 2:
        raise ValueError(f"{name} has shape {points.shape}: the last axis must hold two coordinates.")
    return points
