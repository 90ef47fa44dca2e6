"""The leading eigenpairs of a sparse symmetric matrix with spectrum in [0, 1], small or large."""

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

# Dense `eigh` up to this size, or when so much of the spectrum is wanted: iteration solves a problem of the
# wanted size in every round. Measured: equal at a fifth, at 0.3 dense is 1.7 times (s = 4000) as fast.
_DENSE_SIZE, _DENSE_SHARE = 1500, 0.25
# Where a dense matrix is too large (1 GB), only when most of the spectrum is wanted.
_LARGE_SIZE, _LARGE_SHARE = 12_000, 0.5
# Up to this size all eigenpairs, though few are wanted.
_WHOLE_SIZE = 500
# Dense up to this size also where iteration is slow.
_DENSE_REFUGE = 6000
# Entries in a row from which products are what costs: Lanczos, which needs the fewest, is then tried first.
# And the gap below 1 that says that the graph does not nearly fall into parts. (100 pairs of a graph of
# 70,000 points with 200 entries each take it half a minute, filtered subspaces several.)
_HEAVY_ROW, _CLEAR_GAP = 100, 1e-3
# Filtered subspaces: extra vectors, columns and rows taken at a time, when to stop.
_EXTRA, _COLUMNS, _ROWS = 0.1, 64, 2048
FINE, ROUGH = 1e-8, 1e-4
# Share of all known vectors' size below which one of them is none.
_NOTHING = 1e-12
# Rounds after which a block that has not converged is doubled, while it has at most so many numbers (0.8 GB);
# and the round after which a block that may not grow will have to do.
_PATIENCE, _LARGEST_BLOCK, _LAST_ROUND = 8, 10**8, 32
# Degrees of the polynomial, and by how much (in logarithms) it should part the wanted from the rest.
_FIRST_DEGREE, _MAX_DEGREE, _GROWTH = 16, 80, 7.0


def is_dense(size: int, wanted: int) -> bool:
    """Whether the dense solver is the one for so many eigenpairs."""
    share = _DENSE_SHARE if size <= _LARGE_SIZE else _LARGE_SHARE
    return size <= _DENSE_SIZE or min(wanted, size) > share * size


def leading_eigenpairs(
    matrix: sparse.csr_array, count: int, start: Array, tolerance: float = FINE
) -> tuple[Array, Array]:
    """The largest eigenvalues (count,), descending, and their vectors (size, count).

    Parameters
    ----------
    matrix : sparse array of shape (size, size)
        Symmetric, eigenvalues in [0, 1].
    count : int
    start : array of shape (size,) or (size, k)
        Vectors near the leading ones, or near their span.
    tolerance : float
        Norm of A v - λ v that will do; eigenvalues are right to its square.
    """
    size = matrix.shape[0]
    count = min(count, size)
    if is_dense(size, count):
        return _dense(matrix, count)
    if matrix.nnz > _HEAVY_ROW * size:
        found = _lanczos(matrix, count, tolerance)
        if found is not None:
            return found
    return filtered_subspace(matrix, count, start, tolerance)


def _lanczos(matrix: sparse.csr_array, count: int, tolerance: float) -> tuple[Array, Array] | None:
    """The same by ARPACK, or None where it may have missed some: see `filtered_subspace`."""
    first = np.random.default_rng(0).standard_normal(matrix.shape[0])
    try:
        values, vectors = eigsh(matrix, k=count, which="LA", v0=first, tol=tolerance)
    except ArpackError:  # no convergence, or a start that is no good
        return None
    order = np.argsort(-values)
    if tolerance <= FINE and count > 1 and values[order[1]] > 1.0 - _CLEAR_GAP:
        return None  # roughly, it will do: of such bandwidths, many are compared
    return values[order], vectors[:, order]


def _dense(matrix: sparse.csr_array, count: int) -> tuple[Array, Array]:
    with blas_for(matrix.shape[0]):
        return dense_eigenpairs(matrix.toarray(), count)


def dense_eigenpairs(matrix: Array, count: int) -> tuple[Array, Array]:
    """The largest eigenvalues (count,), descending, of a symmetric array, and their vectors (size, count)."""
    size = len(matrix)
    whole = size <= _WHOLE_SIZE or count > size // 2  # a small spectrum is found sooner than a part of it
    if not whole:
        values, vectors = linalg.eigh(matrix, subset_by_index=(size - count, size - 1), check_finite=False)
        # LAPACK's solver for parts can lose some of many eigenvalues that nearly agree.
        whole = len(values) < count
    if whole:
        values, vectors = linalg.eigh(matrix, driver="evd", check_finite=False)
    return values[::-1][:count].copy(), vectors[:, ::-1][:, :count].copy()


def filtered_subspace(
    matrix: sparse.csr_array, count: int, start: Array, tolerance: float = FINE
) -> tuple[Array, Array]:
    """Subspace iteration with a Chebyshev filter (Zhou, Saad, Tiago & Chelikowsky 2006).

    Each round multiplies a block by a polynomial that is small on the unwanted part [0, b] of the spectrum
    and grows fast beyond, and solves the problem projected on the block. All heavy work is matrix-matrix
    products, O(size·count²) for each of a few rounds. Lanczos needs matrix-vector products, and one vector
    does not see all of an eigenvalue that several nearly separate parts of a graph share.
    """
    size = matrix.shape[0]
    width = min(size, count + max(20, int(_EXTRA * count)))
    rng = np.random.default_rng(0)
    block: Array = rng.standard_normal((size, width))
    known = start.reshape(size, -1)[:, :width]
    # A vector of a similar graph may be nothing on this part of it.
    sizes = (known**2).sum(axis=0)
    known = known[:, sizes > _NOTHING * sizes.sum()]
    block[:, : known.shape[1]] = known
    if known.shape[1] < count:
        # A first guess of the edge; too high only slows the first round down.
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
            # No gap behind the block, as in a graph of many nearly separate parts: take all, or look further.
            if size <= _DENSE_REFUGE:
                return _dense(matrix, count)
            more = min(block.shape[1], size - block.shape[1], _LARGEST_BLOCK // size - block.shape[1])
            if more > 0:
                block = np.column_stack([block, rng.standard_normal((size, more))])
            elif n_rounds >= _LAST_ROUND:
                if tolerance <= FINE:  # otherwise it is one of many bandwidths that are only looked at
                    _warn_of_parts(count, size, worst)
                break
        block = _filtered(matrix, block, edge, degree)
    return values[:count], block[:, :count].copy()


def _warn_of_parts(count: int, size: int, worst: float) -> None:
    warnings.warn(
        f"The {count} leading of {size} eigenpairs were found to {worst:.0e} only: the graph nearly falls "
        "into more parts than that. A wider bandwidth or more neighbours would hold it together.",
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
    """A function of columns on pieces of a block that fit into the cache, in threads."""
    starts = range(0, block.shape[1], _COLUMNS)
    pieces = [np.ascontiguousarray(block[:, a : a + _COLUMNS]) for a in starts]
    return np.concatenate(list(thread_map(function, pieces)), axis=1)


def _times(block: Array, matrix: Array) -> Array:
    """Block × matrix, pieces of the rows in threads."""
    pieces = [block[a : a + _ROWS] for a in range(0, len(block), _ROWS)]
    return np.concatenate(list(thread_map(lambda rows: rows @ matrix, pieces)))


def _inner(one: Array, two: Array) -> Array:
    """Oneᵀ two, summed over pieces of the rows."""
    pieces = [(one[a : a + _ROWS], two[a : a + _ROWS]) for a in range(0, len(one), _ROWS)]
    return np.sum(list(thread_map(lambda pair: pair[0].T @ pair[1], pieces)), axis=0)
