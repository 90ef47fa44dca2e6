"""Solvers for the leading eigenpairs of a sparse symmetric matrix with spectrum in [0, 1]."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, eigsh
from sklearn.exceptions import ConvergenceWarning

from .._threads import blas_for, thread_map
from .._typing import Array

# Dense `eigh` up to this size, or when more than this fraction of the spectrum is wanted. Measured against
# the filter with Lanczos (s = 3000): at 0.2 it takes 2.4 times as long, at 0.3 1.3 times, at 0.4 0.9 times.
_DENSE_SIZE, _DENSE_SHARE = 1000, 0.35
# Above this size a dense matrix is too large (1 GB), unless most of the spectrum is wanted.
_LARGE_SIZE, _LARGE_SHARE = 12_000, 0.5
# Up to this size all eigenpairs are computed, even if few are wanted.
_WHOLE_SIZE = 500
# Dense solver up to this size if iteration is slow.
DENSE_REFUGE = 6000
# Entries per row from which products dominate the cost: Lanczos, which needs the fewest, is then tried first;
# and the gap below 1 that shows that the graph does not nearly fall into parts. (For 100 pairs of a graph of
# 70,000 points with 200 entries per row, Lanczos takes half a minute, filtered subspaces several.)
HEAVY_ROW, _CLEAR_GAP = 100, 1e-3
# Filtered subspaces: fraction of extra vectors, columns and rows per batch; then the tolerances.
_EXTRA, _COLUMNS, _ROWS = 0.1, 64, 2048
FINE, ROUGH = 1e-8, 1e-4
# Vectors with a relative squared norm below this are treated as zero.
_NOTHING = 1e-12
# Rounds after which a block that has not converged is doubled; its largest size in entries (0.8 GB); and the
# round at which a block that may not grow is accepted.
_PATIENCE, _LARGEST_BLOCK, _LAST_ROUND = 8, 10**8, 32
# Degrees of the polynomial, and how far (in logarithms) it should separate the wanted pairs from the rest.
_FIRST_DEGREE, _MAX_DEGREE, _GROWTH = 16, 80, 7.0


def is_dense(size: int, wanted: int) -> bool:
    """Whether to use the dense solver for `wanted` eigenpairs."""
    share = _DENSE_SHARE if size <= _LARGE_SIZE else _LARGE_SHARE
    return size <= _DENSE_SIZE or min(wanted, size) > share * size


def by_arpack(matrix: sparse.csr_array, count: int, tolerance: float) -> tuple[Array, Array] | None:
    """As `filtered_subspace`, by one vector at a time; None if it may have missed some."""
    first = np.random.default_rng(0).standard_normal(matrix.shape[0])
    try:
        values, vectors = eigsh(matrix, k=count, which="LA", v0=first, tol=tolerance)
    except ArpackError:  # no convergence, or an unsuitable start
        return None
    order = np.argsort(-values)
    if tolerance <= FINE and count > 1 and values[order[1]] > 1.0 - _CLEAR_GAP:
        return None  # a rough result is accepted, since many bandwidths are only compared
    return values[order], vectors[:, order]


def dense_eigenpairs(matrix: Array | sparse.csr_array, count: int) -> tuple[Array, Array]:
    """As `filtered_subspace`, for any symmetric matrix, by LAPACK."""
    table, size = matrix if isinstance(matrix, np.ndarray) else matrix.toarray(), matrix.shape[0]
    whole = size <= _WHOLE_SIZE or count > size // 2  # all pairs are then faster than some
    with blas_for(size):
        if not whole:
            values, vectors = linalg.eigh(table, subset_by_index=(size - count, size - 1), check_finite=False)
            # LAPACK's solver for partial spectra can lose some of many eigenvalues that nearly agree.
            whole = len(values) < count
        if whole:
            values, vectors = linalg.eigh(table, driver="evd", check_finite=False)
    return values[::-1][:count].copy(), vectors[:, ::-1][:, :count].copy()


def with_fixed_signs(vectors: Array) -> Array:
    """The columns (size, k), with signs that do not depend on the solver: the largest entry is positive."""
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1.0, signs)


def filtered_subspace(
    matrix: sparse.csr_array, count: int, start: Array, tolerance: float = FINE
) -> tuple[Array, Array]:
    """Subspace iteration with a Chebyshev filter (Zhou, Saad, Tiago & Chelikowsky 2006).

    The largest eigenvalues (count,), descending, and their vectors (size, count), of a symmetric matrix with
    eigenvalues in [0, 1]. `start` (size,) or (size, k) has vectors near the leading ones, or near their span;
    `tolerance` is the largest norm of A v - λ v, and eigenvalues are accurate to its square.

    Each round multiplies a block by a polynomial that is small on the unwanted part [0, b] of the spectrum
    and grows fast beyond, and solves the problem projected on the block. All heavy work is matrix-matrix
    products, O(size·count²) per round, for a few rounds. Lanczos needs matrix-vector products, and a single
    vector cannot find all copies of an eigenvalue that several nearly separate parts of a graph share.
    """
    size = matrix.shape[0]
    width = min(size, count + max(20, int(_EXTRA * count)))
    rng = np.random.default_rng(0)
    block: Array = rng.standard_normal((size, width))
    known = start.reshape(size, -1)[:, :width]
    # A vector of a similar graph may vanish on this part.
    sizes = (known**2).sum(axis=0)
    known = known[:, sizes > _NOTHING * sizes.sum()]
    block[:, : known.shape[1]] = known
    if known.shape[1] < count:
        # A first guess of the edge; if too high, it only slows down the first round.
        block = _filtered(matrix, block, 1.0 - count / size, _FIRST_DEGREE)
    for n_rounds in itertools.count(1):
        block = _orthonormal(block)
        image = _by_columns(lambda columns: matrix @ columns, block)
        projected = _inner(block, image)
        with blas_for(len(projected)):
            values, rotation = linalg.eigh(projected, check_finite=False)
        values, rotation = values[::-1], rotation[:, ::-1]
        block, image = (_times(rows, rotation) for rows in (block, image))
        worst = np.sqrt(np.max(np.sum((image[:, :count] - block[:, :count] * values[:count]) ** 2, axis=0)))
        if worst < tolerance or block.shape[1] == size:
            break
        edge = float(np.clip(values[-1], 1e-3, 1.0 - 1e-6))
        rate = np.arccosh(max(2.0 * values[count - 1] / edge - 1.0, 1.0 + 1e-9))
        degree = int(np.clip(_GROWTH / rate, _FIRST_DEGREE, _MAX_DEGREE))
        if n_rounds % _PATIENCE == 0:
            # No gap beyond the block, as in a graph of many nearly separate parts: go dense, or widen it.
            if size <= DENSE_REFUGE:
                return dense_eigenpairs(matrix, count)
            more = min(block.shape[1], size - block.shape[1], _LARGEST_BLOCK // size - block.shape[1])
            if more > 0:
                block = np.column_stack([block, rng.standard_normal((size, more))])
            elif n_rounds >= _LAST_ROUND:
                if tolerance <= FINE:  # rough bases are only compared, so they need no warning
                    _warn_of_parts(count, size, worst)
                break
        block = _filtered(matrix, block, edge, degree)
    return values[:count], block[:, :count].copy()


def _warn_of_parts(count: int, size: int, worst: float) -> None:
    warnings.warn(
        f"The {count} leading of {size} eigenpairs are only accurate to {worst:.0e}: the graph nearly falls "
        f"into more than {count} parts. Use a wider bandwidth or more neighbours to connect them.",
        ConvergenceWarning,
        stacklevel=3,
    )


def _orthonormal(block: Array) -> Array:
    """An orthonormal basis of the columns: Cholesky twice, or Householder where they are nearly dependent."""
    block = block / np.sqrt((block**2).sum(axis=0))
    for _ in range(2):
        gram = _inner(block, block)
        with blas_for(len(gram)):
            try:
                inverse, _ = linalg.lapack.dtrtri(linalg.cholesky(gram, check_finite=False))
            except linalg.LinAlgError:
                return linalg.qr(block, mode="economic", check_finite=False)[0]
        block = _times(block, inverse)
    return block


def _filtered(matrix: sparse.csr_array, block: Array, edge: float, degree: int) -> Array:
    """T_k((2A - b)/b) applied to the block, scaled so that the leading eigenvalue 1 keeps its size."""
    half = 0.5 * edge
    shifted = sparse.csr_array((matrix - half * sparse.eye_array(len(block))) / half)

    def filter_columns(columns: Array) -> Array:
        # The three-term recurrence, each step divided by its growth at 1 so that nothing overflows.
        at_one = (1.0 - half) / half
        ratio = 1.0 / at_one
        before, now = columns.copy(), shifted @ columns
        now *= ratio
        for _ in range(degree - 1):
            following = 1.0 / (2.0 * at_one - ratio)
            after = shifted @ now
            after *= 2.0 * following
            before *= ratio * following
            after -= before
            before, now, ratio = now, after, following
        return now

    return _by_columns(filter_columns, block)


def _by_columns(function: Callable[[Array], Array], block: Array) -> Array:
    """Apply a function of columns to pieces of a block that fit in the cache, in threads."""
    starts = range(0, block.shape[1], _COLUMNS)
    pieces = [np.ascontiguousarray(block[:, a : a + _COLUMNS]) for a in starts]
    return np.concatenate(list(thread_map(function, pieces)), axis=1)


def _times(block: Array, matrix: Array) -> Array:
    """Block × matrix, by pieces of the rows in threads."""
    pieces = [block[a : a + _ROWS] for a in range(0, len(block), _ROWS)]
    return np.concatenate(list(thread_map(lambda rows: rows @ matrix, pieces)))


def _inner(one: Array, two: Array) -> Array:
    """Oneᵀ two, summed over pieces of the rows."""
    pieces = [(one[a : a + _ROWS], two[a : a + _ROWS]) for a in range(0, len(one), _ROWS)]
    return np.sum(list(thread_map(lambda pair: pair[0].T @ pair[1], pieces)), axis=0)
