"""Random draws of the Pólya-Gamma distribution PG(b, z) of Polson, Scott & Windle (2013).

Its Laplace transform is E exp(-sω) = (cosh(z/2) / cosh √(z²/4 + s/2))^b.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._typing import Array

# Beyond this tilt, PG(b, z) is an inverse Gaussian up to b·exp(-z) in total variation.
_FAR = 25.0
# Up to this integer shape a sum of exact PG(1, z) draws is the fastest way.
_FEW = 4.0
# Terms of the gamma series that are drawn one by one; the rest is one moment-matched gamma.
_TERMS = 16


def sample_polya_gamma(shape: Array, tilt: Array, rng: np.random.Generator) -> Array:
    """Independent draws of PG(b, z) (m,), for shapes b ≥ 0 (b = 0 gives 0) and tilts z.

    Three regimes, each without an error that a chain could show. The `polyagamma` package draws small integer
    shapes exactly. Its other methods were measured to be approximate (the variance some per cent off at b =
    2.3, a wrong mean at |z| = 200, a normal law above b = 50), so they are not used.
    """
    tilt = np.abs(tilt)
    draws = np.zeros(len(tilt))
    present = shape > 0
    far = present & (tilt > _FAR)
    few = present & ~far & (shape <= _FEW) & (shape == np.floor(shape))
    rest = present & ~far & ~few
    if few.any():
        draws[few] = polyagamma_package()(shape[few], tilt[few], method="devroye", random_state=rng)
    if rest.any():
        draws[rest] = _gamma_series(shape[rest], tilt[rest], rng)
    if far.any():
        # cosh(x) = exp(x)/2 in the Laplace transform leaves that of an inverse Gaussian.
        draws[far] = rng.wald(shape[far] / (2 * tilt[far]), shape[far] ** 2 / 4)
    return draws


def _gamma_series(shape: Array, tilt: Array, rng: np.random.Generator) -> Array:
    """PG(b, z) = Σ_k g_k / (2π² ((k - ½)² + u²)), g_k ~ Gamma(b), u = z/2π ≤ 4.

    The terms beyond the first 16 carry less than 1 % of the variance. A gamma variable with their mean and
    variance replaces them: the whole is then wrong by 1e-5 in its variance and 1e-4 in its third cumulant,
    at most.
    """
    k = np.arange(_TERMS) + 0.5
    u2 = (tilt / (2 * np.pi)) ** 2
    scales = 1.0 / (2 * np.pi**2 * (k**2 + u2[:, None]))  # (m, terms)
    head = np.einsum("ij,ij->i", rng.standard_gamma(shape[:, None], size=scales.shape), scales)
    # Mean of the rest: E PG(1, z) = tanh(z/2) / 2z less the terms drawn.
    z = np.maximum(tilt, 1e-6)
    mean = np.tanh(z / 2) / (2 * z) - scales.sum(axis=1)
    # Variance of the rest: ∫_K^∞ dx / (2π² (x² + u²))², expanded in (u/K)² ≤ 1/16.
    ratio = u2 / _TERMS**2
    variance = (1 - 6 * ratio / 5 + 9 * ratio**2 / 7) / (12 * np.pi**4 * _TERMS**3)
    return head + rng.standard_gamma(shape * mean**2 / variance) * variance / mean


def polyagamma_package() -> Callable[..., Any]:
    """`polyagamma.random_polyagamma`, or an ImportError that names the extra."""
    try:
        from polyagamma import random_polyagamma
    except ImportError as error:
        raise ImportError("Gibbs sampling needs the polyagamma package: pip install flgp[mcmc]") from error
    return random_polyagamma
