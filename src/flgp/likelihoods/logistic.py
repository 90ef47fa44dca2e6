"""The logistic function σ under a Gaussian: two expansions of σ, each integrated in closed form.

For prediction, at very many points, σ is a mixture of a few normal cdfs: cheap, with small *absolute* error.
For expectation propagation the *logarithm* of the integral must be accurate even if the integral is 1e-300.
There a mixture of normals has Gaussian tails while σ has an exponential one, so σ is expanded in powers of
e^f instead, on either side of 0, with a small *relative* error everywhere.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_expit, log_ndtr, ndtr
from scipy.special import expit as logistic

from .._typing import Array
from ._base import Derivatives
from ._tilted import Tilted

# σ(x) ≈ Σ_k weight_k Φ(slope_k x), |error| < 7e-9 on the whole line. σ is a scale mixture of normals
# (twice the scale has Kolmogorov's distribution); these eight terms were fitted by least squares over
# 0 ≤ x ≤ 40 (Levenberg-Marquardt in the logarithms of weights and slopes, from slopes spaced evenly on a
# log scale and non-negative least-squares weights), then by exchange steps that even out the extrema of
# the error.
_MIXTURE_WEIGHTS = (
    0.0005813838883836418,
    0.01594462999410064,
    0.09654786903622276,
    0.24417143381041845,
    0.32875863905613956,
    0.23608253124783304,
    0.07257064861695385,
    0.005342864349948018,
)
_MIXTURE_SLOPES = (
    0.22580531806325296,
    0.29111669174133153,
    0.3722789835170456,
    0.4774743929698778,
    0.6142451257063233,
    0.7901866732970249,
    1.0169217808028843,
    1.3231217681302763,
)

# Below this the Gaussian is a point in double precision; the limit keeps mean/sd finite.
_SMALLEST_VARIANCE = 1e-20


def _power_coefficients(degree: int) -> Array:
    """c_1..c_degree with σ(f) ≈ Σ_k c_k e^(kf) for f ≤ 0, that is 1/(1+u) ≈ Σ_k c_k u^(k-1) on [0, 1].

    Interpolation at the Chebyshev points of [0, 1], ends included: the tail (u → 0) and the value ½ at
    f = 0, where the two sides meet, are exact. With the node polynomial ω the interpolant of 1/(1+u) is
    [1 - ω(u)/ω(-1)]/(1+u), whose relative error |ω(u)/ω(-1)| is about 2·(3 + √8)^-(degree - 1).
    """
    nodes = 0.5 * (1.0 + np.cos(np.pi * np.arange(degree) / (degree - 1)))
    omega = np.poly(nodes)
    numerator = -omega / np.polyval(omega, -1.0)
    numerator[-1] += 1.0
    quotient, _ = np.polydiv(numerator, np.array([1.0, 1.0]))
    return np.asarray(quotient[::-1])


_COEFFICIENTS = _power_coefficients(18)
_POWERS = np.arange(1.0, len(_COEFFICIENTS) + 1.0)
_FIRST, _SECOND = _POWERS * _COEFFICIENTS, _POWERS**2 * _COEFFICIENTS  # of the derivatives


def logit_kernel(successes: Array, failures: Array, eta: Array) -> Array:
    """Binomial and negative binomial up to a constant: successes · log σ(η) + failures · log σ(-η)."""
    return successes * log_expit(eta) + failures * log_expit(-eta)


def logit_derivatives(successes: Array, failures: Array, eta: Array) -> Derivatives:
    """Derivatives of `logit_kernel` in η."""
    up, down = logistic(eta), logistic(-eta)
    curvature = (successes + failures) * up * down
    return Derivatives(successes * down - failures * up, curvature, curvature * np.tanh(0.5 * eta))


def logistic_gaussian_integral(mean: Array, variance: Array) -> Array:
    """E[σ(f)] for f ~ N(mean, variance), to 1e-8; the arguments are broadcast.

    ∫ Φ(s f) N(f; μ, v) df = Φ(s μ / √(1 + s² v)) for each term of the mixture.
    """
    mean, variance = np.asarray(mean, dtype=float), np.asarray(variance, dtype=float)
    total = np.zeros(np.broadcast_shapes(mean.shape, variance.shape))
    for weight, slope in zip(_MIXTURE_WEIGHTS, _MIXTURE_SLOPES, strict=True):
        total += weight * ndtr(mean / np.sqrt(slope**-2 + variance))
    return np.minimum(total, 1.0)


def logistic_tilted(sign: Array, mean: Array, variance: Array) -> Tilted:
    """Return log Z, ∂ log Z/∂μ and -∂² log Z/∂μ² for Z = ∫ σ(sign · f) N(f; μ, v) df, labels -1 or 1, v ≥ 0.

    With I_k = ∫_{f<0} e^(kf) N(f; μ, v) df and J_k = ∫_{f>0} e^(-kf) N(f; μ, v) df, Z = J_0 + Σ c_k (I_k -
    J_k), Z' = Σ k c_k (I_k + J_k), Z'' = Σ k² c_k (I_k - J_k). All are computed for μ ≤ 0 (Z(-μ) = 1 - Z(μ)
    gives the rest) in units of I_1, the largest, so that no tail underflows.
    """
    sign, mean, variance = np.broadcast_arrays(
        np.asarray(sign, dtype=float), np.asarray(mean, dtype=float), np.asarray(variance, dtype=float)
    )
    shape = mean.shape
    sign, mean, variance = (array.ravel() for array in (sign, mean, variance))
    favoured = sign * mean > 0
    mu, v = -np.abs(mean), np.maximum(variance, _SMALLEST_VARIANCE)
    sd = np.sqrt(v)
    first = (mu + v) / sd
    inner = np.minimum(first, 0.0)
    # Every J_k, and I_k where its b = (μ + kv)/sd ≥ 0, is e^(-μ²/2v) _mills(b); the other I_k are
    # e^(kμ + k²v/2) Φ(-b). Neither form cancels or overflows where it is used.
    log_unit = np.where(
        first > 0, np.log(_mills(first)) - 0.5 * (mu / sd) ** 2, mu + v / 2 + log_ndtr(-first)
    )
    per_unit = np.where(first > 0, 1.0 / _mills(first), np.exp(-0.5 * inner**2) / ndtr(-inner))

    # All powers at once, (K, m): labels are usually few, and a loop over k would be mostly overhead.
    k = _POWERS[:, None]
    b = (mu + k * v) / sd
    below = _mills(b) * per_unit
    row, column = np.nonzero(b <= 0)  # few, under a wide prior
    exponent = row * (mu[column] + 0.5 * (row + 2) * v[column])  # k = row + 1
    below[row, column] = np.exp(np.minimum(exponent, 0.0)) * ndtr(-b[row, column]) / ndtr(-inner[column])
    above = _mills((k * v - mu) / sd) * per_unit
    difference = below - above
    z = _mills(-mu / sd) * per_unit + _COEFFICIENTS @ difference
    z1 = _FIRST @ (below + above)
    z2 = _SECOND @ difference

    unit = np.where(favoured, np.exp(log_unit), 1.0)
    opposite = np.where(favoured, unit * z, 0.0)
    total = np.where(favoured, 1.0 - opposite, z)
    log_normalizer = np.where(favoured, np.log1p(-opposite), log_unit + np.log(z))
    slope = unit * z1 / total
    bend = np.where(favoured, -unit, unit) * z2 / total
    curvature = np.clip(slope**2 - bend, 0.0, 1.0 / v)
    return Tilted(*(part.reshape(shape) for part in (log_normalizer, sign * slope, curvature)))


def _mills(b: Array) -> Array:
    """e^(b²/2) Φ(-b), for b ≥ 0 (the value at 0 below that)."""
    return np.asarray(0.5 * erfcx(np.maximum(b, 0.0) / np.sqrt(2.0)))
