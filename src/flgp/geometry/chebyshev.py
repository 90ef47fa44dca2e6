"""Many leading eigenpairs of a large sparse matrix with spectrum in [0, 1]: Lanczos with a Chebyshev filter.

A product with the matrix is cheap compared with the orthogonalisation of its result. So Lanczos runs on a
polynomial of the matrix that is small on the unwanted part of the spectrum and grows fast beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from .._threads import blas_for, current_threads, thread_map
from .._typing import Array
from .eigensolvers import (
    DENSE_REFUGE,
    FINE,
    HEAVY_ROW,
    by_arpack,
    dense_eigenpairs,
    filtered_subspace,
    is_dense,
)
from .krylov import leading_by_lanczos

# Least relative amount by which a wanted value of the filter exceeds the value at the edge.
_NEARLY = 1e-3
# Spectral density: degree, number of random vectors, and where to cut it, in multiples of the wanted count.
_DENSITY_DEGREE, _DENSITY_VECTORS, _CUTS = 160, 8, (1.6, 6.0, 24.0)
# The filter grows by this factor (in logarithms) from the edge to 1, if its degree is within limits: a larger
# one would hide errors of eigenvectors near the edge behind those of the first.
_GROWTH, _LEAST_DEGREE, _MOST_DEGREE = 9.0, 3, 20
# If all wanted eigenvalues are this close to 1, no filter separates them.
_NO_GAP = 1e-3
# Tolerance from which on the filter works in single precision.
_SINGLE = 1e-5


def leading_by_filter(
    matrix: sparse.csr_array,
    count: int,
    start: Array | None = None,
    tolerance: float = FINE,
) -> tuple[Array, Array]:
    """The largest eigenvalues (count,), descending, and their vectors (size, count); `start` is not used."""
    found = _by_filter(matrix, count, tolerance, patient=True)
    assert found is not None
    return found


def _by_filter(
    matrix: sparse.csr_array, count: int, tolerance: float, patient: bool
) -> tuple[Array, Array] | None:
    size = matrix.shape[0]
    count = min(count, size)
    if is_dense(size, count):
        return dense_eigenpairs(matrix, count)
    # Products with the matrix are faster if neighbours are close in memory.
    order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
    matrix = matrix[order][:, order]
    guesses = _edges(matrix, count)
    if not patient and tolerance < _SINGLE and guesses[0] > 1.0 - _NO_GAP:
        return None
    # Products are bound by memory: single precision is enough for a rough result.
    precision = np.float64 if tolerance < _SINGLE else np.float32
    for edge in guesses:
        half = 0.5 * edge
        rate = np.arccosh((1.0 - half) / half)
        degree = int(np.clip(_GROWTH / rate, _LEAST_DEGREE, _MOST_DEGREE))
        growth = np.cosh(degree * rate)
        shifted = sparse.csr_array((matrix - half * sparse.eye_array(size)) / half).astype(precision)
        apply = partial(_by_columns, partial(_chebyshev, shifted, degree, growth))
        # The filter is 1 / growth at the edge: if a wanted value is not larger, the edge was too high.
        floor = -np.inf if edge == guesses[-1] else (1.0 + _NEARLY) / growth
        found = leading_by_lanczos(apply, size, count, tolerance, floor, patient)
        if found is not None:
            break
    if found is None:
        return None
    vectors = np.empty_like(found[1])
    with blas_for(size):
        image = _by_columns(lambda part: matrix @ part, found[1])
        values, rotation = linalg.eigh(found[1].T @ image, check_finite=False)
        vectors[order] = found[1] @ rotation[:, ::-1]
    return values[::-1], vectors


def quickest_eigenpairs(
    matrix: sparse.csr_array, count: int, start: Array, tolerance: float = FINE
) -> tuple[Array, Array]:
    """The same by whichever solver is quickest; `start` as in `filtered_subspace`.

    Measured for 100 to 1,000 pairs of graphs with 4,000 to 10,000 anchors: the filter with Lanczos takes a
    third of the time of the filter with subspace iteration, and half of it if that starts from the vectors
    of a similar graph. Where a graph nearly falls into more parts than pairs are wanted, it is the other way
    round.
    """
    size = matrix.shape[0]
    count = min(count, size)
    if is_dense(size, count):
        return dense_eigenpairs(matrix, count)
    if matrix.nnz > HEAVY_ROW * size:
        found = by_arpack(matrix, count, tolerance)
    else:
        found = _by_filter(matrix, count, tolerance, patient=False)
        if found is None and size <= DENSE_REFUGE:
            return dense_eigenpairs(matrix, count)
    return filtered_subspace(matrix, count, start, tolerance) if found is None else found


def _edges(matrix: sparse.csr_array, count: int) -> list[float]:
    """Guesses, descending, of the smallest wanted eigenvalue, from the spectral density.

    The kernel polynomial method smears the density, so where eigenvalues are dense the first guess may be too
    high. The last guess is below all wanted eigenvalues.
    """
    size = matrix.shape[0]
    centred = sparse.csr_array(2.0 * matrix - sparse.eye_array(size)).astype(np.float32)
    probe = np.random.default_rng(0).choice([-1.0, 1.0], size=(size, _DENSITY_VECTORS)).astype(np.float32)
    # T_2j = 2 T_j² - 1 and T_2j+1 = 2 T_j T_j+1 - x: two moments per product
    half = _DENSITY_DEGREE // 2
    moments = np.empty(_DENSITY_DEGREE)
    before, now = probe, centred @ probe
    moments[0], moments[1] = probe.size, np.vdot(probe, now)
    for k in range(1, half):
        moments[2 * k] = 2.0 * np.vdot(now, now) - moments[0]
        before, now = now, 2.0 * (centred @ now) - before
        moments[2 * k + 1] = 2.0 * np.vdot(before, now) - moments[1]
    moments /= _DENSITY_VECTORS
    j, n = np.arange(_DENSITY_DEGREE, dtype=float), _DENSITY_DEGREE + 1
    jackson = ((n - j) * np.cos(np.pi * j / n) + np.sin(np.pi * j / n) / np.tan(np.pi / n)) / n
    angle = np.linspace(0.0, np.pi, 20 * _DENSITY_DEGREE)[1:]
    waves = np.sin(np.outer(angle, j[1:])) / j[1:]
    above = (moments[0] * angle + 2.0 * waves @ (jackson * moments)[1:]) / np.pi
    cuts = np.searchsorted(np.maximum.accumulate(above), np.array(_CUTS) * count)
    guesses = 0.5 * (1.0 + np.cos(angle[np.minimum(cuts, len(angle) - 1)]))
    return [*np.clip(guesses, 0.02, 1.0 - 1e-5).tolist(), 0.02]


def _chebyshev(matrix: sparse.csr_array, degree: int, growth: float, columns: Array) -> Array:
    """T_degree(matrix) columns / growth, by the three-term recurrence."""
    before = columns.astype(matrix.dtype, copy=False)
    now = matrix @ before
    for _ in range(degree - 1):
        after = matrix @ now
        after *= 2.0
        after -= before
        before, now = now, after
    now /= growth
    return now.astype(columns.dtype, copy=False)


def _by_columns(function: Callable[[Array], Array], columns: Array) -> Array:
    pieces = np.array_split(columns, max(min(current_threads(), columns.shape[1] // 4), 1), axis=1)
    parts = thread_map(function, [np.ascontiguousarray(piece) for piece in pieces])
    return np.concatenate(list(parts), axis=1)
