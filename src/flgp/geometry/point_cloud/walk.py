"""The walk point → anchor → point: its transition matrix Z, what a new point needs for its row, and ZᵀZ."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np
from scipy import sparse

from ..._stored import stored
from ..._typing import Array, IntArray
from ...rows.blocks import Blocks
from .joining import NeighborBlock, NeighborGraph, along_columns, local_mass

# Up to this many anchors the Gram matrix is accumulated in a dense table, which is fastest.
_DENSE_GRAM = 1500
# From this many neighbours on a sparse product is faster than a list of all pairs (five times at 60).
_MANY_NEIGHBORS = 8


@stored("transition weights")
@dataclass(frozen=True)
class Transition:
    """Z_ij ∝ n_j K_ij / c_j with c_j = Σ_i K_ij; fitted and new points use the same ratio n_j / c_j."""

    log_ratio: Array  # (s,) log n_j - log c_j
    epsilon: float | None  # ε of the SE kernel; None: local anchor embedding
    n_sets: int = 1  # of anchors

    def rows(self, block: NeighborBlock) -> Array:
        """Rows of Z on their r neighbours, shape (b, r), each summing to 1 (in each set)."""
        if self.epsilon is None:
            assert block.weights is not None
            z = block.weights * np.exp(self.log_ratio - self.log_ratio.max())[block.index]
        else:
            # In the log domain: a small ε or an outlier must not give 0/0.
            z = self.log_ratio[block.index] - block.sqdist / (4.0 * self.epsilon**2)
            for z_set in np.split(z, self.n_sets, axis=1):
                # Column by column: NumPy's reductions along an axis of r = 3 cost ten times as much.
                z_set -= along_columns(np.maximum, z_set)[:, None]
            np.exp(z, out=z)
        for z_set in np.split(z, self.n_sets, axis=1):
            z_set /= along_columns(np.add, z_set)[:, None]
        return z


def fit_transition(
    graph: NeighborGraph, epsilon: float | None, blocks: Blocks[NeighborBlock] | None = None
) -> Transition:
    """Stage 4: column sums over all rows (or over some `blocks` of them), in the log domain."""
    s = len(graph.anchors)
    known = graph.lae_mass if blocks is None else None  # saves a pass over rows that are not in memory
    blocks = graph.blocks if blocks is None else blocks
    if epsilon is None:
        mass = blocks.reduce(partial(local_mass, s)) if known is None else known
        log_mass = np.log(np.maximum(mass, np.finfo(float).tiny))
    else:
        scale = 4.0 * epsilon**2
        shifted = blocks.reduce(partial(_shifted_mass, s, graph.nearest_sqdist, scale))
        # At least 1 over all rows; smaller only if a sample of rows misses an anchor.
        log_mass = np.log(np.maximum(shifted, 1.0)) - graph.nearest_sqdist / scale
    return Transition(np.log(graph.sizes) - log_mass, epsilon, graph.n_sets)


def _shifted_mass(s: int, nearest: Array, scale: float, block: NeighborBlock) -> Array:
    """Σ_i exp(-(d²_ij - min_i d²_ij)/4ε²): at least one term is 1, so its logarithm is safe."""
    return local_mass(s, replace(block, weights=np.exp((nearest[block.index] - block.sqdist) / scale)))


def anchor_gram(
    graph: NeighborGraph, step: Transition, blocks: Blocks[NeighborBlock] | None = None
) -> sparse.csr_array:
    """ZᵀZ, shape (s, s), sparse: a sum over rows, so it can be streamed and distributed.

    With several sets it is block-diagonal: no walk leaves its set.
    """
    blocks = graph.blocks if blocks is None else blocks
    gram = sparse.csr_array(blocks.reduce(partial(_gram_part, step, len(graph.anchors))))
    full = sparse.csr_array(gram + sparse.triu(gram, 1, format="csr").T)
    full.eliminate_zeros()
    return full


def _gram_part(step: Transition, s: int, block: NeighborBlock) -> Array | sparse.csr_array:
    """The upper triangle of ZᵀZ of one block: each pair of neighbours once."""
    z, n_sets = step.rows(block), step.n_sets
    r = block.index.shape[1] // n_sets
    if r >= _MANY_NEIGHBORS and s > _DENSE_GRAM:
        return _gram_product(s, n_sets, block.index, z)
    first, second = (
        np.add.outer(r * np.arange(n_sets), pair).ravel()  # the same pairs in each set
        for pair in np.triu_indices(r)
    )
    # Rows run along the last axis: long vectors take half the time.
    index, weights = np.ascontiguousarray(block.index.T), np.ascontiguousarray(z.T)
    low, high = np.minimum(index[first], index[second]), np.maximum(index[first], index[second])
    products = (weights[first] * weights[second]).ravel()
    if s <= _DENSE_GRAM:
        cell = (low * np.int64(s) + high).ravel()
        return np.bincount(cell, weights=products, minlength=s * s).reshape(s, s)
    return sparse.csr_array((products, (low.ravel(), high.ravel())), shape=(s, s))


def _gram_product(s: int, n_sets: int, index: IntArray, z: Array) -> sparse.csr_array:
    """The same as a product of sparse matrices, in each set."""
    parts = []
    for own, values in zip(*(np.split(part, n_sets, axis=1) for part in (index, z)), strict=True):
        b, r = own.shape
        Z = sparse.csr_array((values.ravel(), own.ravel(), np.arange(0, b * r + 1, r)), shape=(b, s))
        parts.append(sparse.csr_array(sparse.triu(Z.T @ Z, format="csr")))
    return reduce(operator.add, parts)
