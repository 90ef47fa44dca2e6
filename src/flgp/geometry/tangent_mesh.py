"""Tangential vector fields on a surface: gradients and curls of the eigenfunctions of a mesh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._stored import stored
from .._typing import Array, RowLike
from ..rows.columns import select
from .base import SparseRows
from .bases import Known, NodeBasis, NodePlaces, check_rows, finite, no_columns, refuse, time_unit
from .cotangent import mesh_eigenpairs, mesh_parts, stiffness_and_mass
from .mesh import FittedMesh, Mesh
from .mesh_fields import MeshFields, oriented, scaled
from .tangent import SHARES, checked_share

_TAKES = "6 columns (point, direction) or 4 (vertex number, direction)"


@stored("tangential fields on a mesh")
@dataclass(frozen=True, eq=False)
class TangentMesh:
    """Tangential vector fields on a surface of triangles, seen through their components.

    A row is a point in space and a direction (6 columns), or a vertex number and a direction (4 columns): f
    is the component of the field in that direction, whose length does not matter. A field that was measured
    whole has two rows for each place, or three along the axes of space. It is a gradient plus a curl of
    functions on the surface (Helmholtz and Hodge): eigenfunctions are ∇u/√λ and n×∇u/√λ for those of the
    mesh, with their eigenvalue λ, and with eigenvalue 0 the harmonic fields that run round the holes of a
    closed surface, such as a torus.

    Parameters
    ----------
    mesh : Mesh
        Two-sided; the order of the corners of its faces does not matter.
    divergent : float between 0 and 1, optional
        Prior share of the gradient part in the variance. None: that of 0.5, 0.2 and 0.05 with the highest
        evidence.
    """

    mesh: Mesh
    divergent: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.mesh, Mesh):
            raise ValueError(f"TangentMesh takes a Mesh, but got {type(self.mesh).__name__}.")
        checked_share(self.divergent)
        oriented(self.mesh.faces)

    def candidates(self, rows: RowLike) -> list[TangentMesh]:
        """Fields with a given share, to be compared where none is given."""
        return [TangentMesh(self.mesh, share) for share in SHARES] if self.divergent is None else [self]

    def columns(self, n_columns: int) -> int:
        if n_columns not in (4, 6):
            raise no_columns("TangentMesh", _TAKES, n_columns)
        return n_columns

    def identifiers(self, n_columns: int) -> tuple[int, ...]:
        return (0,) if n_columns == 4 else ()

    def fit(self, rows: RowLike, rng: np.random.Generator) -> FittedTangentMesh:
        """Check directions, and find how far from the mesh rows (n, 4 or 6) are."""
        width = self.columns(rows.shape[1]) - 3
        check_rows(rows, _directions)
        surface = self.mesh.fit(select(rows, np.arange(width)), rng)
        return FittedTangentMesh(surface, SHARES[0] if self.divergent is None else float(self.divergent))


@stored("fitted tangential fields on a mesh")
@dataclass(frozen=True, eq=False)
class FittedTangentMesh(Known):
    """The surface, and the share of the gradients; without coordinates, as `FittedTangentSphere`."""

    surface: FittedMesh
    divergent: float

    def locate(self, X: Array) -> NodePlaces:
        """Weights over the three components at the corners of the closest triangle."""
        direction = _directions(X, 0)
        places = self.surface.locate(np.asarray(X, dtype=float)[:, :-3])
        index = 3 * places.rows.index[:, :, None] + np.arange(3)
        z = places.rows.z[:, :, None] * direction[:, None, :]
        return NodePlaces(SparseRows(index.reshape(len(z), -1), z.reshape(len(z), -1)), places.closeness)

    def distance(self, X: Array) -> Array:
        return self.surface.distance(np.asarray(X, dtype=float)[:, :-3])

    def n_eigenpairs(self, n_labeled: int) -> int:
        """Two for each function on the surface."""
        return 2 * self.surface.n_eigenpairs(n_labeled)

    def eigenpairs(self, count: int) -> NodeBasis:
        """Harmonic fields, then a curl and a gradient for each of the smallest eigenvalues that are not 0.

        The mean square over all places and directions is 1 for both together, shared as `divergent` says.
        """
        vertices, faces = self.surface.vertices, oriented(self.surface.faces)
        stiffness, mass = stiffness_and_mass(vertices, faces)
        part = mesh_parts(faces, len(mass))
        n_parts = int(part.max()) + 1
        count = min(n_parts + max(count // 2, 1), len(mass))
        values, functions, n_capped = mesh_eigenpairs(stiffness, mass, part, count)
        values, functions = values[n_parts:], functions[:, n_parts:]
        on_mesh = MeshFields(vertices, faces)
        gradient = scaled(on_mesh.gradients(functions), mass, 4.0 * (mass / mass.sum()) @ functions**2)
        both = np.sqrt(1.0 - self.divergent) * on_mesh.turned(gradient), np.sqrt(self.divergent) * gradient
        harmonic = [scaled(h, mass, np.full(h.shape[2], 2.0)) for h in on_mesh.harmonic(len(mass))]
        pairs = np.stack(both, axis=-1).reshape(len(mass), 3, -1)
        fields = np.concatenate([*harmonic, pairs], axis=2)
        eigenvalues = np.repeat(values, 2)
        eigenvalues = np.concatenate([np.zeros(fields.shape[2] - len(eigenvalues)), eigenvalues])
        lift = fields.reshape(3 * len(mass), -1)
        return NodeBasis(eigenvalues, lift, np.repeat(part, 3), n_capped, time_unit(eigenvalues))


def _directions(X: Array, start: int) -> Array:
    """Unit vectors (b, 3) along the last three columns; `start` is the number of the first row."""
    direction = finite(X, start)[:, -3:]
    size = np.abs(direction).max(axis=1, initial=0.0)
    refuse(size == 0, start, "The direction, the last three columns, is zero in {rows}.")
    direction = direction / size[:, None]
    return np.asarray(direction / np.linalg.norm(direction, axis=1, keepdims=True))
