"""A triangle mesh: the cotangent Laplacian of a surface.

We compute the Laplacian ourselves rather than with `robust_laplacian`: it takes thirty lines and no compiled
dependency. A test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._stored import REBUILT, stored
from .._typing import Array, IntArray, RowLike
from .base import SparseRows, closeness_of
from .bases import (
    Known,
    NodeBasis,
    NodePlaces,
    at_nodes,
    check_rows,
    finite,
    no_columns,
    node_eigenpairs,
    node_numbers,
    refuse,
    scan,
    time_unit,
)
from .closest_point import TriangleSearch
from .cotangent import mesh_eigenpairs, mesh_parts, stiffness_and_mass

# Points within this distance, in mean edge lengths, always count as on the mesh.
_THICKNESS = 0.01
# Fitted rows beyond this distance, in diagonals of the bounding box, are an error.
_FAR = 0.1
# Relative distance beyond which the closeness is 0, so that the exact place does not matter.
_NOWHERE = 40.0
# The accepted columns, for error messages.
_TAKES = "3 columns (points) or 1 (vertex numbers)"


@stored("mesh")
@dataclass(frozen=True, eq=False, repr=False)
class Mesh:
    """A surface of triangles, open or closed, in one part or several.

    Rows are points in space (3 columns), which are moved to the closest point of the mesh, or vertex numbers
    (1 column). Eigenfunctions are those of the surface, linear on each triangle; at an open edge heat is
    reflected. Bad triangles do no harm.

    Parameters
    ----------
    vertices : array of shape (V, 3)
    faces : array of shape (F, 3)
        The vertices of each triangle, numbered from 0.
    """

    vertices: Array
    faces: IntArray

    def __post_init__(self) -> None:
        vertices, faces = _checked(self.vertices, self.faces)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", faces)

    def __repr__(self) -> str:
        return f"Mesh({len(self.vertices):,} vertices, {len(self.faces):,} faces)"

    def columns(self, n_columns: int) -> int:
        if n_columns not in (1, 3):
            raise no_columns("Mesh", _TAKES, n_columns)
        return n_columns

    def identifiers(self, n_columns: int) -> tuple[int, ...]:
        return (0,) if n_columns == 1 else ()

    def fit(self, rows: RowLike, rng: np.random.Generator) -> FittedMesh:
        """Find how far from the mesh rows (n, 1 or 3) are."""
        fitted = FittedMesh(self.vertices, self.faces, self.columns(rows.shape[1]), 1.0)
        if fitted.n_columns == 1:
            n = len(self.vertices)
            check_rows(rows, lambda block, start: node_numbers(block, n, "vertex", start))
            return fitted
        far = _FAR * float(np.linalg.norm(np.ptp(self.vertices, axis=0)))

        def largest(block: Array, start: int) -> float:
            distance = fitted.search(finite(block, start), far)[2]
            refuse(
                distance > far,
                start,
                "The distance from the mesh is more than a tenth of its size in {rows}. Check that points "
                "and vertices have the same units and origin, or drop these rows.",
            )
            return float(distance.max(initial=0.0))

        corner = self.vertices[self.faces]
        edge = float(np.linalg.norm(corner - corner[:, [1, 2, 0]], axis=2).mean())
        radius = max(scan(rows, largest, max), _THICKNESS * edge)
        return FittedMesh(self.vertices, self.faces, 3, radius)


def _checked(vertices: Any, faces: Any) -> tuple[Array, IntArray]:
    """Vertices and faces as arrays; raises ValueError if they do not form a mesh."""
    vertices, faces = np.array(vertices, dtype=float), np.asarray(faces)
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise ValueError(f"vertices has shape {vertices.shape}. It needs 3 coordinates per vertex, (V, 3).")
    if not np.isfinite(vertices).all():
        raise ValueError("vertices has NaN or infinite coordinates. Remove those vertices and their faces.")
    if faces.ndim != 2 or faces.shape[1] != 3 or len(faces) == 0:
        raise ValueError(
            f"faces has shape {faces.shape}. It needs 3 vertex numbers per triangle, (F, 3), and F ≥ 1."
        )
    if not np.array_equal(faces, faces.astype(np.int64)):
        raise ValueError("faces has numbers that are not integers. Vertices are numbered 0, 1, 2, ...")
    faces = faces.astype(np.int64)
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise ValueError(
            f"faces has vertex numbers from {faces.min()} to {faces.max()}, but there are {len(vertices)} "
            "vertices. Numbers start at 0: subtract 1 if yours start at 1."
        )
    repeated = (faces == faces[:, [1, 2, 0]]).any(axis=1)
    if repeated.any():
        raise ValueError(
            f"{np.count_nonzero(repeated)} faces have the same vertex twice, the first is face "
            f"{int(repeated.argmax())}. Remove these faces."
        )
    unused = len(vertices) - len(np.unique(faces))
    if unused:
        raise ValueError(
            f"{unused} vertices belong to no face. Drop them: used, faces = np.unique(faces, "
            "return_inverse=True); vertices, faces = vertices[used], faces.reshape(-1, 3)."
        )
    if not np.ptp(vertices, axis=0).any():
        raise ValueError("All vertices are the same point. Check the coordinates.")
    return vertices, faces


@stored("fitted mesh")
@dataclass(frozen=True, eq=False)
class FittedMesh(Known):
    """A mesh, and how far the fitted rows are from it."""

    vertices: Array  # (V, 3)
    faces: IntArray  # (F, 3)
    n_columns: int
    radius: float
    search: Any = field(default=None, metadata=REBUILT, repr=False)

    def __post_init__(self) -> None:
        if self.n_columns == 3:
            object.__setattr__(self, "search", TriangleSearch(self.vertices, self.faces))

    def locate(self, X: Array) -> NodePlaces:
        """Weights over the corners of the closest triangle, or the vertex itself."""
        if self.n_columns == 1:
            return at_nodes(node_numbers(X, len(self.vertices), "vertex"))
        face, weights, distance = self.search(finite(X, 0), _NOWHERE * self.radius)
        return NodePlaces(SparseRows(self.faces[face], weights), closeness_of(distance / self.radius))

    def distance(self, X: Array) -> Array:
        """Distance (b,) from the mesh, in units of the largest of fitted rows, or a hundredth of an edge."""
        if self.n_columns == 1:
            return np.zeros(len(X))
        return self.search(finite(X, 0))[2] / self.radius

    def coordinates(self, X: Array) -> Array:
        if self.n_columns == 1:
            return self.vertices[node_numbers(X, len(self.vertices), "vertex")]
        return np.asarray(X, dtype=float)

    def n_eigenpairs(self, n_labeled: int) -> int:
        """A tenth of the labels, between 200 and 1000, and at most half of the vertices."""
        return node_eigenpairs(n_labeled, len(self.vertices))

    def eigenpairs(self, count: int) -> NodeBasis:
        """The smallest eigenvalues in units of 1 / length², at least one for each part."""
        stiffness, mass = stiffness_and_mass(self.vertices, self.faces)
        part = mesh_parts(self.faces, len(mass))
        values, functions, n_capped = mesh_eigenpairs(stiffness, mass, part, min(count, len(mass)))
        return NodeBasis(values, functions, part, n_capped, time_unit(values))
