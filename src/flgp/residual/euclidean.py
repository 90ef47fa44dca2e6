"""Correlation functions of the Euclidean distance, and their slopes in the logarithm of the length scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import Array

# Added to the diagonal of K_u, relative to its variance: duplicates and σ² → 0 stay positive definite.
JITTER = 1e-10


class _Correlation(NamedTuple):
    """ρ(r) of the scaled distance r = |x - x'|/ℓ, and the elasticity -∂ log ρ/∂ log r = ∂ log ρ/∂ log ℓ."""

    value: Callable[[Array], Array]
    elasticity: Callable[[Array], Array]


def _matern32(r: Array) -> Array:
    t = np.sqrt(3.0) * r
    return (1.0 + t) * np.exp(-t)


def _matern32_elasticity(r: Array) -> Array:
    t = np.sqrt(3.0) * r
    return t * t / (1.0 + t)


def _matern52(r: Array) -> Array:
    t = np.sqrt(5.0) * r
    return (1.0 + t + t * t / 3.0) * np.exp(-t)


def _matern52_elasticity(r: Array) -> Array:
    t = np.sqrt(5.0) * r
    return t * t * ((1.0 + t) / (3.0 + 3.0 * t + t * t))  # t³ may overflow


_CORRELATIONS = {
    "squared_exponential": _Correlation(lambda r: np.exp(-0.5 * r * r), lambda r: r * r),
    "matern12": _Correlation(lambda r: np.exp(-r), lambda r: r),
    "matern32": _Correlation(_matern32, _matern32_elasticity),
    "matern52": _Correlation(_matern52, _matern52_elasticity),
}
KERNEL_NAMES = tuple(_CORRELATIONS)


@dataclass(frozen=True)
class LocalModel:
    """u ~ GP(0, a_u² ρ(|x - x'|/ℓ)) and noise of variance σ²·v_i.

    The squared exponential is exp(-r²/2), the Matérn functions have √(2ν) r in them, as in scikit-learn.
    `noise_variance` may be 0: then the factors below are those of the latent u alone.
    """

    kernel: str
    length_scale: float  # ℓ
    variance: float  # a_u²
    noise_variance: float  # σ²

    def __post_init__(self) -> None:
        if self.kernel not in _CORRELATIONS:
            raise ValueError(
                f"unknown residual kernel {self.kernel!r}: choose one of {', '.join(KERNEL_NAMES)}."
            )
        if not (self.length_scale > 0 and self.variance > 0 and self.noise_variance >= 0):
            raise ValueError(
                "length_scale and variance must be positive and noise_variance not negative, got "
                f"{self.length_scale}, {self.variance}, {self.noise_variance}."
            )

    @property
    def diagonal(self) -> float:
        """Variance of u at a labelled point, jitter included."""
        return self.variance * (1.0 + JITTER)

    def covariance(self, distance: Array) -> Array:
        """k_u at distances between different points, of any shape."""
        return self.variance * _CORRELATIONS[self.kernel].value(distance / self.length_scale)

    def slope(self, distance: Array, covariance: Array) -> Array:
        """∂k_u/∂ log ℓ at distances whose `covariance` is known."""
        return covariance * _CORRELATIONS[self.kernel].elasticity(distance / self.length_scale)
