"""The joint model y = Φβ + u + noise, β ~ N(0, diag(d)): evidence, exact gradient, posterior of β.

With W = F^(-1/2)(I - B), so that Σ⁻¹ = WᵀW for the covariance Σ of u + noise, and A = WΦD^(1/2), z = Wy:
H = I + AᵀA, w̄ = H⁻¹Aᵀz, r = z - Aw̄, and
log p(y) = -½(|r|² + |w̄|² + log|H| + Σ log F + m log 2π).

A search may look at s of the m rows of W: what these labels say, given their neighbours among all. (Let each
count for m/s labels, and many features would fit the s as if they were all.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._linalg import cholesky_of_one_plus, log_determinant, triangular_inverse
from .._threads import thread_map
from .._typing import Array, BoolArray
from ..terms.local.euclidean import LocalModel
from ..terms.local.neighborhoods import Neighborhoods
from ..terms.local.vecchia import vecchia_factor
from .posterior import Evaluation, WeightPosterior

# A feature whose column of A has a smaller square norm is left at its prior: log|H| moves by less than this.
_NEGLIGIBLE = 1e-7
# Rows whose neighbours' features are gathered at once: k·M numbers per row, to stay in cache.
_GATHER_ENTRIES = 500_000


@dataclass(frozen=True)
class JointData:
    """What an evidence search does not change.

    A constant is one more column of ones in `features`, with its own entry of d.
    """

    features: Array  # (m, M) Φ at the labelled points
    y: Array  # (m,)
    noise_scale: Array  # (m,) v: the noise variance of row i is σ²·v_i
    near: Neighborhoods


def evaluate(data: JointData, d: Array, local: LocalModel) -> Evaluation:
    """Evidence, exact gradient and posterior, O(s k³ + s k M + s M² + M³), at prior variances d (M,).

    `gradient_local` is in log ℓ, log a_u² and, for a kernel with a shape, log α. Where the noise variance of
    `local` is 0 only its jitter separates duplicate points.
    """
    factor, slopes = vecchia_factor(data.near, local, data.noise_scale)
    whiten = factor.matrix
    keep = _matters(data.features, d, whiten)
    root = np.sqrt(d[keep])
    scaled = np.compress(keep, data.features, axis=1) * root  # ΦD^(1/2), row-major: rows are gathered below
    A, z = whiten @ scaled, whiten @ data.y
    inverse = triangular_inverse(cholesky_of_one_plus(A.T @ A))  # L⁻¹ with H = L Lᵀ
    w = inverse.T @ (inverse @ (A.T @ z))
    r, residual = z - A @ w, data.y - scaled @ w
    log_det = factor.log_determinant - log_determinant(inverse)
    log_evidence = -0.5 * (r @ r + w @ w + log_det + len(r) * np.log(2 * np.pi))
    P = A @ (inverse.T @ inverse)  # A H⁻¹
    # ∂ log p/∂F_i and ∂ log p/∂B_ij, each row's with its neighbours'.
    by_variance = 0.5 * (r**2 + np.einsum("ij,ij->i", P, A) - 1.0) / factor.variances
    by_coefficient = pair_products(P, scaled, data.near)
    by_coefficient += r[:, None] * residual[data.near.neighbors]
    by_coefficient /= np.sqrt(factor.variances)[:, None]
    length, variance, noise, *shape = slopes.chain(factor, by_coefficient, by_variance)
    # β ~ N(mean, C Cᵀ), C = D^(1/2)L⁻ᵀ; features left out keep their prior.
    by_d, mean, C = np.zeros(len(d)), np.zeros(len(d)), np.diag(np.sqrt(d))
    by_d[keep] = 0.5 * (w**2 + np.einsum("ij,ij->j", inverse, inverse) - 1.0)
    mean[keep], C[np.ix_(keep, keep)] = root * w, root[:, None] * inverse.T
    return Evaluation(
        float(log_evidence),
        by_d,
        np.array([noise]),
        (WeightPosterior(mean, C),),
        gradient_local=np.array([length, variance, *shape]),
    )


def _matters(features: Array, d: Array, whiten: sparse.csr_array) -> BoolArray:
    """Features whose column of A may be longer than rounding, by |Wφ|² ≤ |φ|² |W|_1 |W|_∞.

    The spectral weights fall off so fast that this is often a small part of them.
    """
    size = abs(whiten)
    bound = d * np.einsum("ij,ij->j", features, features) * size.sum(axis=0).max() * size.sum(axis=1).max()
    keep = bound > _NEGLIGIBLE
    keep[np.argmax(bound)] = True
    return keep


def pair_products(left: Array, right: Array, near: Neighborhoods) -> Array:
    """left_i · right_j for every row i and its neighbours j, shape (s, k)."""
    s, k = near.neighbors.shape
    products = np.empty((s, k))
    size = max(1, _GATHER_ENTRIES // max(1, k * right.shape[1]))

    def fill(start: int) -> None:
        rows = slice(start, start + size)
        products[rows] = np.matmul(right[near.neighbors[rows]], left[rows, :, None])[..., 0]

    for _ in thread_map(fill, range(0, s, size)):
        pass
    return products
