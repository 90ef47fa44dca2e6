"""Many leading eigenpairs of a large symmetric operator: block Lanczos with thick restarts.

ARPACK works on one vector at a time, so most of its time is memory traffic, and a single vector cannot find
all copies of an eigenvalue that several parts of a graph share. With blocks, nearly all work is matrix
products. Once the pairs have converged, new random vectors look for any that the block has missed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from .._threads import blas_for
from .._typing import Array
from .eigensolvers import FINE

Operator = Callable[[Array], Array]

# Vectors in a block.
_BLOCK = 16
# Size of the subspace in multiples of the wanted pairs, and the least number of extra blocks.
_SUBSPACE, _LEAST_BLOCKS = 2.0, 8
# Fraction of the unwanted part of the subspace that a restart keeps.
_KEEP = 0.4
# Size of the subspace, in multiples of the wanted pairs, at the first check of the residuals; blocks between
# two checks; and the largest number of checks, where there is another solver and where there is none.
_FIRST_LOOK, _LOOK_BLOCKS, _FEW_LOOKS, _MAX_LOOKS = 1.5, 4, 20, 300
# Vectors with a relative norm below this are treated as zero.
_NOTHING = 1e-11
# Rows of the basis that a restart rotates at a time.
_ROWS = 8192


def leading_by_lanczos(
    apply: Operator,
    size: int,
    count: int,
    tolerance: float = FINE,
    floor: float = -np.inf,
    patient: bool = True,
) -> tuple[Array, Array] | None:
    """The largest eigenvalues (count,), descending, of a symmetric operator, and their vectors (size, count).

    `apply` maps columns (size, b) to their images. `size` should be at least a few hundred and `count` at
    most a third of it: use dense solvers otherwise. `tolerance` limits the norm of A v - λ v relative to the
    largest eigenvalue. Returns None if a wanted eigenvalue seems to be below `floor`. If the pairs are slow
    to converge, a `patient` solver goes on and warns in the end; otherwise it returns None.
    """
    with blas_for(size):
        return _Subspace(apply, size, count).solve(tolerance, floor, patient)


class _Subspace:
    """A basis V, the operator VᵀAV on it, and a block (the last of V) that A has not been applied to.

    Each image is orthogonalised against all of V, so A V = V (VᵀAV) except for the last block applied: the
    residual of a Ritz vector is R times its entries in that block.
    """

    def __init__(self, apply: Operator, size: int, count: int) -> None:
        self.apply, self.count = apply, count
        self.limit = min(size, int(_SUBSPACE * count) + _LEAST_BLOCKS * _BLOCK)
        self.V = np.empty((size, self.limit + 4 * _BLOCK), order="F")
        self.T = np.zeros((self.V.shape[1], self.V.shape[1]))
        self.R: Array = np.empty((0, 0))
        self.used = 0  # columns of V
        self.pending = 0  # the last of them, still to be applied
        self.rng = np.random.default_rng(0)

    def solve(self, tolerance: float, floor: float, patient: bool) -> tuple[Array, Array] | None:
        """Expand and restart until the eigenvalues no longer change."""
        self._append_random(_BLOCK)
        found: Array | None = None  # converged values, to be confirmed
        before = int(_FIRST_LOOK * self.count) // (_LOOK_BLOCKS * _BLOCK)
        for _ in range(before + (_MAX_LOOKS if patient else _FEW_LOOKS)):
            for _ in range(_LOOK_BLOCKS):
                self._expand()
            known = self.used - self.pending
            if found is None and known < _FIRST_LOOK * self.count:
                continue
            values, rotation = linalg.eigh(self.T[:known, :known], driver="evd", check_finite=False)
            values, rotation = values[::-1], rotation[:, ::-1]
            leading, scale = values[: self.count], np.abs(values).max()
            residual = self.R @ rotation[-self.R.shape[1] :, : self.count]
            worst = np.linalg.norm(residual, axis=0).max() / scale
            full = self.used + _LOOK_BLOCKS * self.pending > self.limit
            if leading[-1] < floor and (full or worst < tolerance):
                return None
            if worst < tolerance:
                if found is not None and np.abs(leading - found).max() < tolerance * scale:
                    break
                found = leading
                self._restart(values, rotation, self.count, fresh=_BLOCK)
            elif full:
                self._restart(values, rotation, self.count + int(_KEEP * (self.limit - self.count)))
        else:
            if not patient:
                return None
            warnings.warn(
                f"The {self.count} leading of {len(self.V)} eigenpairs are only accurate to {worst:.0e}.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return leading, self.V[:, :known] @ rotation[:, : self.count]

    def _expand(self) -> None:
        """Apply the operator to the pending block; the new directions of the image are the next block."""
        done = self.used - self.pending
        image = np.asfortranarray(self.apply(self.V[:, done : self.used]))
        inner = self._orthogonalize(image)
        self.T[: self.used, done : self.used] = inner
        self.T[done : self.used, : self.used] = inner.T
        block, self.R = _factored(image, _NOTHING * np.abs(inner).max())
        width, self.pending = self.pending, 0
        self._append(block)
        if self.pending < width:
            self._append_random(width - self.pending)

    def _orthogonalize(self, columns: Array) -> Array:
        """Remove from the columns, in place, their components in the subspace, and return these."""
        basis = self.V[:, : self.used]
        inner = basis.T @ columns
        columns -= basis @ inner
        again = basis.T @ columns  # Gram-Schmidt twice is as good as Householder
        columns -= basis @ again
        return inner + again

    def _append(self, columns: Array) -> None:
        stop = self.used + columns.shape[1]
        if stop > self.V.shape[1]:
            more = 2 * columns.shape[1]
            self.V = np.asfortranarray(np.pad(self.V, ((0, 0), (0, more))))
            self.T = np.pad(self.T, (0, more))
        self.V[:, self.used : stop] = columns
        self.used, self.pending = stop, self.pending + columns.shape[1]

    def _append_random(self, width: int) -> None:
        columns = self.rng.standard_normal((len(self.V), width))
        for _ in range(2):
            self._orthogonalize(columns)
            columns = linalg.qr(columns, mode="economic", check_finite=False)[0]
        self._append(columns)

    def _restart(self, values: Array, rotation: Array, keep: int, fresh: int = 0) -> None:
        """Keep the leading Ritz vectors and the pending block, and add some random vectors."""
        known = self.used - self.pending
        keep = min(keep, known)
        pending = self.V[:, known : self.used].copy()
        for a in range(0, len(self.V), _ROWS):
            self.V[a : a + _ROWS, :keep] = self.V[a : a + _ROWS, :known] @ rotation[:, :keep]
        self.T[:] = 0.0
        np.fill_diagonal(self.T[:keep, :keep], values[:keep])
        self.used, self.pending = keep, 0
        self._append(pending)
        if fresh:
            self._append_random(fresh)


def _factored(columns: Array, nothing: float) -> tuple[Array, Array]:
    """Q (n, r) and R (r, b) with Q R = columns (n, b), where the rank r may be less than b."""
    block, R = columns, np.eye(columns.shape[1])
    try:
        for _ in range(2):  # Cholesky twice is as good as Householder unless columns are nearly dependent
            step = linalg.cholesky(block.T @ block, check_finite=False)
            if np.diag(step).min() < max(1e-6 * np.diag(step).max(), nothing):
                raise linalg.LinAlgError
            block = block @ linalg.lapack.dtrtri(step)[0]
            R = step @ R
        return block, R
    except linalg.LinAlgError:
        Q, pivoted, order = linalg.qr(columns, mode="economic", pivoting=True, check_finite=False)
        keep = np.abs(np.diag(pivoted)) > nothing
        R = np.empty((np.count_nonzero(keep), columns.shape[1]))
        R[:, order] = pivoted[keep]
        return Q[:, keep], R
