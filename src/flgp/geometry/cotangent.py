"""The Laplacian of a triangle mesh, and its eigenpairs."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from .._threads import blas_for
from .._typing import Array, IntArray
from .eigensolvers import with_fixed_signs
from .krylov import leading_by_lanczos
from .spectrum import variance_caps

# Triangle inequalities hold with this margin, in mean edge lengths, after mollification.
_MARGIN = 1e-5
# Dense solver up to this size, or if at least this fraction of the spectrum is wanted.
_DENSE_SIZE, _DENSE_SHARE = 600, 0.25


def stiffness_and_mass(vertices: Array, faces: IntArray) -> tuple[sparse.csr_array, Array]:
    """The cotangent Laplacian (V, V), positive semi-definite, and the area (V,) of each vertex.

    Both depend on the edge lengths alone. If triangles are degenerate, the same small number is added to all
    lengths so that every triangle inequality holds with a margin (Sharp & Crane 2020, "A Laplacian for
    nonmanifold triangle meshes"): then no cotangent is infinite, and good meshes hardly change.
    """
    corner = vertices[faces]  # (F, 3, 3)
    # length[:, i] is opposite to corner i
    length = np.linalg.norm(corner[:, [2, 0, 1]] - corner[:, [1, 2, 0]], axis=2)
    slack = length.sum(axis=1, keepdims=True) - 2.0 * length
    length = length + max(0.0, float((_MARGIN * length.mean() - slack).max()))
    area = _areas(length)
    squared = length**2
    cotangent = (squared.sum(axis=1, keepdims=True) - 2.0 * squared) / (4.0 * area[:, None])

    i, j = faces[:, [1, 2, 0]].ravel(), faces[:, [2, 0, 1]].ravel()
    size = len(vertices)
    half = 0.5 * cotangent.ravel()
    off = sparse.csr_array((np.tile(half, 2), (np.r_[i, j], np.r_[j, i])), shape=(size, size))
    stiffness = sparse.csr_array(sparse.diags_array(off.sum(axis=1)) - off)
    mass = np.bincount(faces.ravel(), weights=np.repeat(area / 3.0, 3), minlength=size)
    return stiffness, mass.astype(float)


def _areas(length: Array) -> Array:
    """Areas (F,) from edge lengths (F, 3): Heron's formula in Kahan's stable form."""
    c, b, a = np.sort(length, axis=1).T
    product = (a + (b + c)) * (c - (a - b)) * (c + (a - b)) * (a + (b - c))
    return 0.25 * np.sqrt(product)


def mesh_parts(faces: IntArray, size: int) -> IntArray:
    """The connected part of each vertex, (V,)."""
    i, j = faces[:, [0, 1]].ravel(), faces[:, [1, 2]].ravel()
    joined = sparse.csr_array((np.ones(len(i)), (i, j)), shape=(size, size))
    return connected_components(joined, directed=False)[1].astype(np.int64)


def mesh_eigenpairs(
    stiffness: sparse.csr_array, mass: Array, part: IntArray, count: int
) -> tuple[Array, Array, int]:
    """The smallest λ (M,) of L u = λ A u, functions (V, M), and the number of parts with limited variance.

    Functions have mass-weighted mean square 1. Each connected part is solved separately, so that no function
    mixes two parts; at least the constant function of each part is kept.
    """
    n_parts = int(part.max()) + 1
    count = max(count, n_parts)
    pieces = []
    for k in range(n_parts):
        members = np.flatnonzero(part == k) if n_parts > 1 else slice(None)
        block = stiffness[members][:, members] if n_parts > 1 else stiffness
        pieces.append((members, *_of_part(block, mass[members], count - n_parts + 1)))

    values = np.concatenate([found for _, found, _ in pieces])
    owner = np.repeat(np.arange(n_parts), [len(found) for _, found, _ in pieces])
    column = np.concatenate([np.arange(len(found)) for _, found, _ in pieces])
    keep = np.lexsort((owner, values, column > 0))[:count]
    keep = keep[np.lexsort((owner[keep], values[keep]))]
    cap, n_capped = variance_caps(mass, part, n_parts, mass.sum())
    functions = np.zeros((len(mass), len(keep)))
    for position, pair in enumerate(keep):
        members, _, vectors = pieces[owner[pair]]
        functions[members, position] = vectors[:, column[pair]] * np.sqrt(cap[owner[pair]] * mass.sum())
    return values[keep], functions, n_capped


def _of_part(stiffness: sparse.csr_array, mass: Array, count: int) -> tuple[Array, Array]:
    """The smallest eigenvalues of one part, ascending, and functions with Σ mass φ² = 1."""
    size = len(mass)
    count = min(count, size)
    root = 1.0 / np.sqrt(mass)
    # With u = A^(-1/2) v the problem is an ordinary one.
    matrix = sparse.csc_array(sparse.diags_array(root) @ stiffness @ sparse.diags_array(root))
    values: Array
    vectors: Array
    if count == 1:
        values, vectors = np.zeros(1), np.empty((size, 1))
    elif size <= _DENSE_SIZE or count > _DENSE_SHARE * size:
        with blas_for(size):
            values, vectors = linalg.eigh(matrix.toarray(), subset_by_index=(0, count - 1))
    else:
        values, vectors = _by_inverse(matrix, count, 1.0 / mass.sum())
    # The first pair is known: 0 and a constant.
    values[0], vectors[:, 0] = 0.0, np.sqrt(mass / mass.sum())
    return np.maximum(values, 0.0), with_fixed_signs(vectors) * root[:, None]


def _by_inverse(matrix: sparse.csc_array, count: int, shift: float) -> tuple[Array, Array]:
    """The smallest eigenpairs, as the leading ones of (matrix + shift)⁻¹.

    A shift of 1 / area is of the order of the second eigenvalue (4π / area by Weyl's law): small compared
    with the wanted ones, large enough for a stable factorisation.
    """
    size = matrix.shape[0]
    factors = splu(
        sparse.csc_array(matrix + shift * sparse.eye_array(size)),
        permc_spec="MMD_AT_PLUS_A",  # made for symmetric matrices, as is the diagonal pivoting
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    found = leading_by_lanczos(factors.solve, size, count, 1e-9)
    assert found is not None
    inverse, vectors = found
    return 1.0 / inverse - shift, vectors
