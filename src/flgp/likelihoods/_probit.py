"""The normal cdf Φ as a link, accurate in both tails."""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr

from .._typing import Array
from ._base import Derivatives
from ._tilted import Tilted

# Below -_FAR the hazard minus its asymptote cancels, and four terms of its series have an error below 1e-13.
_FAR = 100.0


def normal_hazard(z: Array) -> tuple[Array, Array]:
    """Ratio r = φ(z)/Φ(z) and excess r + z, which tends to 0 as 1/|z| for z → -∞, without cancellation."""
    ratio = np.sqrt(2.0 / np.pi) / erfcx(-z / np.sqrt(2.0))
    a = np.maximum(-z, _FAR)
    series = (1.0 - (2.0 - (10.0 - 74.0 / a**2) / a**2) / a**2) / a
    excess = np.where(z < -_FAR, series, ratio + z)
    return np.where(z < -_FAR, a + series, ratio), excess


def probit_derivatives(sign: Array, f: Array) -> Derivatives:
    """Derivatives of log Φ(sign · f) in f, for sign -1 or 1."""
    ratio, excess = normal_hazard(sign * f)
    curvature = ratio * excess
    third = curvature * excess - ratio * (1.0 - curvature)
    return Derivatives(sign * ratio, curvature, sign * third)


def probit_tilted(sign: Array, mean: Array, variance: Array) -> Tilted:
    """Return log Z, ∂ log Z/∂μ, -∂² log Z/∂μ² for Z = ∫ Φ(sign · f) N(f; μ, v) df = Φ(sign · μ/√(1 + v))."""
    width = np.sqrt(1.0 + np.asarray(variance, dtype=float))
    z = sign * mean / width
    ratio, excess = normal_hazard(z)
    return Tilted(log_ndtr(z), sign * ratio / width, ratio * excess / width**2)
