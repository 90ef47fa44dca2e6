"""Sparse Cholesky factor of Q_u + W, and the entries of its inverse that the evidence needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from ..._linalg import safe_cholesky
from ..._stored import stored
from ..._typing import Array, IntArray
from .dissection import Front
from .vecchia import VecchiaFactor


@stored("block of a sparse factor")
@dataclass(frozen=True)
class Block:
    """Columns of the factor that belong to one front, in the numbering of the points."""

    own: IntArray  # (j,) the points eliminated here
    border: IntArray  # (r,)
    diagonal: Array  # (j, j) lower
    below: Array  # (r, j)


@stored("sparse factor")
@dataclass(frozen=True)
class SparseCholesky:
    """R = L Lᵀ, L lower triangular in the order of elimination."""

    blocks: list[Block]  # in that order
    size: int  # m

    @property
    def log_determinant(self) -> float:
        """log|R|."""
        return 2.0 * float(sum(np.log(np.diag(block.diagonal)).sum() for block in self.blocks))

    def solve_half(self, x: Array) -> Array:
        """L⁻¹x for x (m, q): the products of its columns are xᵀR⁻¹x.

        Columns without a non-zero so far are skipped, so that kriging weights, which involve only a few
        points, cost little before the last fronts.
        """
        x = np.array(x, dtype=np.float64)
        for block in self.blocks:
            mine = x[block.own]
            columns = np.flatnonzero(mine.any(axis=0))
            if len(columns) == 0:
                continue
            every = len(columns) == x.shape[1]
            solved = _solve(block.diagonal, mine if every else mine[:, columns])
            if every:
                x[block.own] = solved
                x[block.border] -= block.below @ solved
            else:
                x[np.ix_(block.own, columns)] = solved
                x[np.ix_(block.border, columns)] -= block.below @ solved
        return x

    def solve(self, x: Array) -> Array:
        """R⁻¹x for x (m, q)."""
        x = self.solve_half(x)
        for block in reversed(self.blocks):
            x[block.own] = _solve(block.diagonal, x[block.own] - block.below.T @ x[block.border], trans="T")
        return x


class Assembled(NamedTuple):
    """The sum of the blocks a_i a_iᵀ/F_i of a front: non-zeros of the lower triangle of (size, size)."""

    size: int
    places: IntArray  # in the flattened matrix
    values: Array


def assemble(fronts: Sequence[Front], prior: VecchiaFactor) -> list[Assembled]:
    """The prior precision (I - B)ᵀF⁻¹(I - B) of u in the fronts of its neighbourhoods."""
    conditional = _conditional(prior) / np.sqrt(prior.variances)[:, None]
    return [_assembled(front, conditional) for front in fronts]


def factorize(fronts: Sequence[Front], prior: Sequence[Assembled], precision: Array) -> SparseCholesky:
    """Factor of R = (I - B)ᵀF⁻¹(I - B) + diag(precision), the precisions (m,) not negative."""
    waiting: list[list[tuple[IntArray, Array]]] = [[] for _ in fronts]  # from the children
    blocks = []
    for number, (front, own) in enumerate(zip(fronts, prior, strict=True)):
        j = len(front.own)
        matrix = np.zeros((own.size, own.size))  # of which the lower triangle counts
        matrix.ravel()[own.places] = own.values
        matrix[np.arange(j), np.arange(j)] += precision[front.own]
        for into, update in waiting[number]:
            matrix[np.ix_(into, into)] += update
        waiting[number] = []
        L = safe_cholesky(matrix[:j, :j])
        below = _solve(L, matrix[j:, :j].T).T
        if front.parent >= 0:
            waiting[front.parent].append((front.into_parent, matrix[j:, j:] - below @ below.T))
        blocks.append(Block(front.own, front.border, L, below))
    return SparseCholesky(blocks, len(precision))


def selected_inverse(
    factor: SparseCholesky, fronts: Sequence[Front], prior: VecchiaFactor
) -> tuple[Array, Array]:
    """The diagonal (m,) of R⁻¹, and R⁻¹a_i at i and its neighbours, (m, k + 1).

    a_i = e_i - Σ_j B_ij e_j is row i of I - B. The entries of the inverse on the pattern of the factor are
    computed from the last front to the first, each from those of its parent (Takahashi, Fagan & Chen 1973).
    """
    conditional = _conditional(prior)
    diagonal, products = np.empty(factor.size), np.empty(conditional.shape)
    inverses: list[Array] = [np.empty((0, 0))] * len(fronts)
    first_child = {front.parent: number for number, front in reversed(list(enumerate(fronts)))}
    for number in reversed(range(len(fronts))):
        front, block = fronts[number], factor.blocks[number]
        j = len(front.own)
        own_inverse = _solve(block.diagonal, np.eye(j))  # L⁻¹
        through = block.below @ own_inverse
        Z = np.empty((j + len(front.border),) * 2)
        if front.parent >= 0:
            Z[j:, j:] = inverses[front.parent][np.ix_(front.into_parent, front.into_parent)]
            Z[j:, :j] = -Z[j:, j:] @ through
            Z[:j, j:] = Z[j:, :j].T
            if first_child[front.parent] == number:  # the parent is no longer needed
                inverses[front.parent] = np.empty((0, 0))
        Z[:j, :j] = own_inverse.T @ own_inverse - through.T @ Z[j:, :j]
        diagonal[front.own] = np.diag(Z)[:j]
        if len(front.rows):
            product = _elements(front, conditional) @ Z
            products[front.rows] = np.take_along_axis(product, front.places, axis=1)
        inverses[number] = Z
    return diagonal, products


def _conditional(prior: VecchiaFactor) -> Array:
    """The non-zeros of I - B, (m, k + 1), with that of the point itself first."""
    return np.concatenate([np.ones((len(prior.variances), 1)), -prior.coefficients], axis=1)


def _assembled(front: Front, conditional: Array) -> Assembled:
    size, rows = len(front.own) + len(front.border), conditional[front.rows]
    first, second = np.tril_indices(rows.shape[1])
    one, other = front.places[:, first], front.places[:, second]
    entries = np.maximum(one, other) * size + np.minimum(one, other)
    values = rows[:, first] * rows[:, second]
    total = np.bincount(entries.ravel(), values.ravel(), size * size).astype(np.float64, copy=False)
    places = np.flatnonzero(total)
    return Assembled(size, places, total[places])


def _elements(front: Front, conditional: Array) -> sparse.csr_array:
    """Rows (q, j + r) of I - B that belong to the blocks of a front."""
    q, size = front.places.shape
    parts = (conditional[front.rows].ravel(), front.places.ravel(), np.arange(0, q * size + 1, size))
    return sparse.csr_array(parts, shape=(q, len(front.own) + len(front.border)))


def _solve(L: Array, x: Array, trans: str = "N") -> Array:
    return linalg.solve_triangular(L, x, lower=True, trans=trans, check_finite=False)
