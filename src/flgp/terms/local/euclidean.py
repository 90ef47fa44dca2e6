"""Correlation functions of the Euclidean distance, and their slopes in the logarithms of their parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._stored import stored
from ..._typing import Array

# Added to the diagonal of K_u, relative to its variance: positive definite even with duplicates or σ² → 0.
JITTER = 1e-10
# Correlations at scaled distances beyond this are 0, even for kernels with power-law tails.
_UNCONNECTED = 1e60


class _Correlation(NamedTuple):
    """ρ(r, α) of the scaled distance r = rate·|x - x'|/ℓ, and -∂ log ρ/∂ log r = ∂ log ρ/∂ log ℓ.

    Only the rational quadratic has a shape α, and so a third function, ∂ log ρ/∂ log α.
    """

    value: Callable[[Array, float], Array]
    elasticity: Callable[[Array, float], Array]
    shape_elasticity: Callable[[Array, float], Array] | None = None
    rate: float = 1.0


def _rational_quadratic(r: Array, shape: float) -> Array:
    value = np.exp(-shape * np.log1p(r * r / (2.0 * shape)))
    return np.where(r < _UNCONNECTED, value, 0.0)


def _rational_quadratic_shape(r: Array, shape: float) -> Array:
    q = r * r / (2.0 * shape)
    return shape * (q / (1.0 + q) - np.log1p(q))


_CORRELATIONS = {
    "squared_exponential": _Correlation(lambda r, _: np.exp(-0.5 * r * r), lambda r, _: r * r),
    "matern12": _Correlation(lambda r, _: np.exp(-r), lambda r, _: r),
    "matern32": _Correlation(
        lambda r, _: (1.0 + r) * np.exp(-r), lambda r, _: r * r / (1.0 + r), rate=np.sqrt(3.0)
    ),
    "matern52": _Correlation(
        lambda r, _: (1.0 + r + r * r / 3.0) * np.exp(-r),
        lambda r, _: r * r * ((1.0 + r) / (3.0 + 3.0 * r + r * r)),  # r³ may overflow
        rate=np.sqrt(5.0),
    ),
    "rational_quadratic": _Correlation(
        _rational_quadratic, lambda r, shape: r * r / (1.0 + r * r / (2.0 * shape)), _rational_quadratic_shape
    ),
}
KERNEL_NAMES = tuple(_CORRELATIONS)


def has_shape(kernel: str) -> bool:
    """Whether a kernel has a shape α to learn."""
    return _CORRELATIONS[kernel].shape_elasticity is not None


@stored("local process")
@dataclass(frozen=True)
class LocalModel:
    """u ~ GP(0, a_u² ρ(|x - x'|/ℓ)) and noise of variance σ²·v_i.

    As in scikit-learn the squared exponential is exp(-r²/2), the Matérn functions have √(2ν) r in them, and
    the rational quadratic, a mixture of squared exponentials of all length scales, is (1 + r²/2α)^(-α).
    `noise_variance` may be 0: the factors are then those of the latent u alone.
    """

    kernel: str
    length_scale: float  # ℓ
    variance: float  # a_u²
    noise_variance: float  # σ²
    shape: float = 1.0  # α of the rational quadratic; the others have none

    def __post_init__(self) -> None:
        if self.kernel not in _CORRELATIONS:
            raise ValueError(
                f"unknown residual kernel {self.kernel!r}: choose one of {', '.join(KERNEL_NAMES)}."
            )
        if not (self.length_scale > 0 and self.variance > 0 and self.noise_variance >= 0 and self.shape > 0):
            raise ValueError(
                "length_scale, variance and shape must be positive and noise_variance not negative, got "
                f"{self.length_scale}, {self.variance}, {self.shape}, {self.noise_variance}."
            )

    @property
    def diagonal(self) -> float:
        """Variance of u at a labelled point, jitter included."""
        return self.variance * (1.0 + JITTER)

    def covariance(self, distance: Array) -> Array:
        """k_u at distances between different points, of any shape."""
        return self.variance * _CORRELATIONS[self.kernel].value(self._scaled(distance), self.shape)

    def _scaled(self, distance: Array) -> Array:
        """The scaled distance r; so far away that it overflows, it is only far."""
        with np.errstate(over="ignore"):
            far = np.minimum(distance / self.length_scale, _UNCONNECTED)
        return _CORRELATIONS[self.kernel].rate * far

    def slope(self, distance: Array, covariance: Array) -> Array:
        """∂k_u/∂ log ℓ at distances whose `covariance` is known."""
        elasticity = _CORRELATIONS[self.kernel].elasticity
        return covariance * elasticity(self._scaled(distance), self.shape)

    def slopes(self, distance: Array, covariance: Array) -> list[Array]:
        """∂k_u/∂ log ℓ and, for a kernel with a shape, ∂k_u/∂ log α."""
        by_length = self.slope(distance, covariance)
        by_shape = _CORRELATIONS[self.kernel].shape_elasticity
        if by_shape is None:
            return [by_length]
        return [by_length, covariance * by_shape(self._scaled(distance), self.shape)]
