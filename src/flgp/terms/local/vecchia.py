"""Σ⁻¹ ≈ (I - B)ᵀ F⁻¹ (I - B) for Σ = K_u + σ² diag(v), noise included, with derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..._threads import thread_map
from ..._typing import Array
from .batched import cholesky, solve_lower, solve_upper
from .euclidean import LocalModel, has_shape
from .neighborhoods import Neighborhoods, pair_columns

# Entries of one batch of k × k matrices (4 MB): fits in the cache, with vectors long enough for NumPy.
_BATCH_ENTRIES = 500_000


@dataclass(frozen=True)
class VecchiaFactor:
    """Row i of y given its neighbours: N(Σ_j B_ij y_j, F_i), and log|Σ| = Σ log F_i; or s of the m rows."""

    near: Neighborhoods
    size: int  # m
    coefficients: Array  # (s, k) the non-zeros of B
    variances: Array  # (s,) F

    @property
    def matrix(self) -> sparse.csr_array:
        """F^(-1/2) (I - B), sparse (s, m): W with Σ⁻¹ = WᵀW."""
        s, k = self.near.neighbors.shape
        values = np.concatenate([np.ones((s, 1)), -self.coefficients], axis=1)
        values /= np.sqrt(self.variances)[:, None]
        columns = np.concatenate([self.near.rows[:, None], self.near.neighbors], axis=1)
        pointers = np.arange(0, s * (k + 1) + 1, k + 1)
        return sparse.csr_array((values.ravel(), columns.ravel(), pointers), shape=(s, self.size))

    @property
    def log_determinant(self) -> float:
        """log|Σ|."""
        return float(np.log(self.variances).sum())


@dataclass(frozen=True)
class VecchiaSlopes:
    """Derivatives of a factor in log ℓ (first), log σ² (second) and, if the kernel has a shape, log α.

    Those in log a_u² follow, since scaling both variances scales F and does not change B:
    ∂B = -∂B/∂ log σ² and ∂F = F - ∂F/∂ log σ².
    """

    coefficients: Array  # (2 or 3, s, k) ∂B
    variances: Array  # (2 or 3, s) ∂F

    def chain(self, factor: VecchiaFactor, by_coefficient: Array, by_variance: Array) -> Array:
        """Gradient in (log ℓ, log a_u², log σ²) and, where there is a shape, log α.

        From the derivatives of a function in B, (s, k), and in F, (s,).
        """
        log_length, log_noise, *log_shape = self.variances @ by_variance + np.tensordot(
            self.coefficients, by_coefficient, 2
        )
        log_variance = by_variance @ factor.variances - log_noise  # both together scale F
        return np.array([log_length, log_variance, log_noise, *log_shape])


@dataclass(frozen=True)
class Conditionals:
    """Kriging systems of a batch of b points, batch last."""

    cholesky: Array  # (k, k, b) L with L Lᵀ = K_NN + noise
    within: Array  # (k(k-1)/2, b) off-diagonal of K_NN
    cross: Array  # (k, b) k_u(x, N)
    weights: Array  # (k, b) b = (K_NN + noise)⁻¹ k_u(N, x)
    explained: Array  # (b,) b · k_u(N, x)


def conditionals(local: LocalModel, within: Array, cross: Array, noise: Array) -> Conditionals:
    """Solve the kriging systems of a batch.

    `within` (k(k-1)/2, b) are distances between the neighbours of each point, `cross` (k, b) those from the
    point to them, and `noise` (k, b) their noise variances σ²·v_j.
    """
    k, b = cross.shape
    block = local.covariance(within)
    gram = np.empty((k, k, b))
    for j, rows in pair_columns(k):
        gram[j, j] = local.diagonal + noise[j]
        gram[j + 1 :, j] = block[rows]
    c = local.covariance(cross)
    L = cholesky(gram)
    half = solve_lower(L, c.copy())
    explained = np.einsum("kb,kb->b", half, half)
    return Conditionals(L, block, c, solve_upper(L, half), explained)


def _symmetric_times(packed: Array, x: Array) -> Array:
    """A x for symmetric A (k, k, b) with zero diagonal, given as the (k(k-1)/2, b) pairs."""
    k = len(x)
    product = np.zeros_like(x)
    for j, rows in pair_columns(k):
        product[j] += np.einsum("lb,lb->b", packed[rows], x[j + 1 :])
        product[j + 1 :] += packed[rows] * x[j]
    return product


def batches(m: int, k: int) -> list[slice]:
    """Rows in batches that keep the k × k matrices in cache."""
    size = max(1, _BATCH_ENTRIES // max(1, k * k))
    return [slice(start, min(start + size, m)) for start in range(0, m, size)]


def vecchia_factor(
    near: Neighborhoods, local: LocalModel, noise_scale: Array
) -> tuple[VecchiaFactor, VecchiaSlopes]:
    """Factor of Σ = K_u + σ² diag(v) and its exact derivatives, O(s k³); `noise_scale` (m,) is v."""
    s, k = near.neighbors.shape
    noise = local.noise_variance * np.asarray(noise_scale, dtype=np.float64)
    B, F = np.empty((s, k)), np.empty(s)
    count = 3 if has_shape(local.kernel) else 2
    slopes = VecchiaSlopes(np.empty((count, s, k)), np.empty((count, s)))

    def fill(rows: slice) -> None:
        own_noise, neighbor_noise = noise[near.rows[rows]], noise[near.neighbors[rows]].T
        system = conditionals(local, near.within[:, rows], near.cross[:, rows], neighbor_noise)
        b = system.weights
        B[rows] = b.T
        F[rows] = local.diagonal + own_noise - system.explained
        noise_b = neighbor_noise * b
        # ∂c and ∂Σ_NN b for each parameter, in the order of the slopes.
        cross = local.slopes(near.cross[:, rows], system.cross)
        within = local.slopes(near.within[:, rows], system.within)
        by_cross = [cross[0], np.zeros_like(b), *cross[1:]]
        by_block = [_symmetric_times(packed, b) for packed in within]
        by_block.insert(1, noise_b)
        # ∂b = Σ_NN⁻¹(∂c - ∂Σ_NN b), ∂F = ∂Σ_ii - 2 b·∂c + bᵀ ∂Σ_NN b
        right = np.stack([c - s for c, s in zip(by_cross, by_block, strict=True)], axis=1)  # (k, count, b)
        solved = solve_upper(system.cholesky, solve_lower(system.cholesky, right))
        slopes.coefficients[:, rows] = solved.transpose(1, 2, 0)
        for which, (c, s) in enumerate(zip(by_cross, by_block, strict=True)):
            slopes.variances[which, rows] = np.einsum("kb,kb->b", b, s - 2.0 * c)
        slopes.variances[1, rows] += own_noise

    for _ in thread_map(fill, batches(s, k)):
        pass
    return VecchiaFactor(near, len(noise), B, F), slopes
