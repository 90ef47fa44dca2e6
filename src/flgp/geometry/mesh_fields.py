"""Gradients, curls and harmonic fields on a triangle mesh, as vectors at its vertices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import splu

from .._typing import Array, IntArray
from .cotangent import mesh_parts

# Triangles are taken to be at least this large, in mean areas, where a gradient is divided by the area.
_THINNEST = 1e-10
# Vectors whose mean square is below this share of what it should be are treated as zero.
_NOTHING = 1e-12


def oriented(faces: IntArray) -> IntArray:
    """The same faces (F, 3), all of a part with their corners in the same sense of rotation.

    Raises ValueError if that is impossible: on a one-sided surface, or where three faces share an edge.
    """
    start, end = faces[:, [0, 1, 2]].ravel(), faces[:, [1, 2, 0]].ravel()
    face = np.repeat(np.arange(len(faces)), 3)
    low, high, forward = np.minimum(start, end), np.maximum(start, end), start < end
    order = np.lexsort((high, low))
    same = (low[order][1:] == low[order][:-1]) & (high[order][1:] == high[order][:-1])
    if (same[1:] & same[:-1]).any():
        raise ValueError(
            "An edge of the mesh belongs to more than two faces, so that fields have no side there. Remove "
            "the extra faces."
        )
    one, two = order[:-1][same], order[1:][same]
    # Neighbours go along their common edge in opposite directions.
    turn = np.where(forward[one] == forward[two], -1, 1)
    a, b = face[one], face[two]
    joined = sparse.csr_array((np.ones(len(a)), (a, b)), shape=(len(faces), len(faces)))
    relative = {(i, j): k for i, j, k in zip(a.tolist(), b.tolist(), turn.tolist(), strict=True)}
    sign = np.zeros(len(faces), dtype=np.int64)
    _, part = connected_components(joined, directed=False)
    for root in np.unique(part, return_index=True)[1]:
        sign[root] = 1
        found, before = breadth_first_order(joined, root, directed=False)
        for i in found[1:].tolist():
            j = int(before[i])
            sign[i] = sign[j] * (relative[i, j] if (i, j) in relative else relative[j, i])
    if (sign[a] * sign[b] != turn).any():
        raise ValueError("The mesh is one-sided, like a Möbius strip: a field on it has no curl.")
    return np.where(sign[:, None] > 0, faces, faces[:, ::-1])


class MeshFields:
    """Turns functions on the vertices of an oriented mesh into tangential vectors there.

    The gradient of a function that is linear on triangles is constant on each of them. A vertex gets the mean
    over its triangles, weighted by area, which keeps small and degenerate ones harmless, without the part
    along the vertex normal.
    """

    def __init__(self, vertices: Array, faces: IntArray) -> None:
        self.faces = faces
        corner = vertices[faces]
        # edge[:, i] is opposite to corner i
        edge = corner[:, [2, 0, 1]] - corner[:, [1, 2, 0]]
        normal = np.cross(edge[:, 0], edge[:, 1])
        length = np.linalg.norm(normal, axis=1)
        self.area = 0.5 * length
        self.normal = normal / np.where(length > 0, length, 1.0)[:, None]  # of faces
        # Area times the gradient of each corner's barycentric coordinate, (F, 3 corners, 3)
        self._slopes = 0.5 * np.cross(self.normal[:, None], edge)
        self._mean = self._averaging(len(vertices))
        normals = (self._mean @ self.normal.ravel()).reshape(-1, 3)
        size = np.linalg.norm(normals, axis=1, keepdims=True)
        self._vertex_normal = normals / np.where(size > 0, size, 1.0)

    def gradients(self, functions: Array) -> Array:
        """Gradients (V, 3, M) of functions (V, M)."""
        thin = np.maximum(self.area, _THINNEST * self.area.mean())
        slopes = self._operator(self.faces, self._slopes / thin[:, None, None], len(functions))
        return self.at_vertices((self._mean @ slopes) @ functions)

    def turned(self, fields: Array) -> Array:
        """Fields (V, 3, M) turned by a right angle: a gradient becomes a curl."""
        return np.cross(self._vertex_normal[:, :, None], fields, axis=1)

    def at_vertices(self, vectors: Array) -> Array:
        """Vectors (3V, M) at vertices as (V, 3, M), their parts along the normals taken away."""
        vectors = vectors.reshape(-1, 3, vectors.shape[1])
        along = np.einsum("vk,vkm->vm", self._vertex_normal, vectors)
        return vectors - self._vertex_normal[:, :, None] * along[:, None, :]

    def harmonic(self, n_vertices: int) -> list[Array]:
        """Fields (V, 3, k) without divergence and curl, k = 2 · genus for each closed part that has holes.

        A field that is constant on triangles is the gradient of a continuous function, plus the turned
        gradient of one that is continuous at the middles of edges, plus a harmonic field, all orthogonal
        (Polthier & Preuss 2003, "Identifying vector field singularities using a discrete Hodge
        decomposition"). What is left of random fields is the last part.
        """
        part = mesh_parts(self.faces, n_vertices)
        return [
            self._harmonic_of(part, which, count, n_vertices)
            for which, count in enumerate(self._holes(part))
            if count > 0
        ]

    def _holes(self, part: IntArray) -> list[int]:
        """Twice the genus of each part, 2 - (V - E + F); 0 for parts with an open edge."""
        of_face = part[self.faces[:, 0]]
        edges, faces_of = np.unique(self._edges(), axis=0, return_counts=True)
        n_parts = int(part.max()) + 1
        V, F, E = (np.bincount(of, minlength=n_parts) for of in (part, of_face, part[edges[:, 0]]))
        is_open = np.bincount(part[edges[faces_of == 1][:, 0]], minlength=n_parts) > 0
        return np.where(is_open, 0, 2 - (V - E + F)).tolist()

    def _harmonic_of(self, part: IntArray, which: int, count: int, n_vertices: int) -> Array:
        """Those of one part, orthogonal over its area."""
        own = np.flatnonzero(part[self.faces[:, 0]] == which)
        thin = np.maximum(self.area, _THINNEST * self.area.mean())[own]
        vertex, edge = (
            np.unique(ids, return_inverse=True)[1].reshape(-1, 3)
            for ids in (self.faces[own], self._edge_numbers()[own])
        )
        weight = np.repeat(np.sqrt(thin), 3)[:, None]
        slopes = self._slopes[own] / thin[:, None, None]
        turned = np.cross(self.normal[own][:, None], -2.0 * slopes)
        removed = [
            _projection(weight * self._operator(nodes, values, int(nodes.max()) + 1).tocsc())
            for nodes, values in ((vertex, slopes), (edge, turned))
        ]
        fields = np.random.default_rng(0).standard_normal((len(own), 3, count))
        along = np.einsum("fk,fkm->fm", self.normal[own], fields)
        fields = weight * (fields - self.normal[own][:, :, None] * along[:, None]).reshape(-1, count)
        for _ in range(2):  # twice, because little of a random field is harmonic
            for project in removed:
                fields = fields - project(fields)
            fields = np.linalg.qr(fields)[0]
        whole = np.zeros((len(self.faces), 3, count))
        whole[own] = (fields / weight).reshape(-1, 3, count)
        return self.at_vertices(self._mean @ whole.reshape(-1, count))

    def _edges(self) -> IntArray:
        """The edge opposite to each corner of each face, (3F, 2), smaller vertex first."""
        return np.sort(np.stack([self.faces[:, [1, 2, 0]], self.faces[:, [2, 0, 1]]], -1).reshape(-1, 2))

    def _edge_numbers(self) -> IntArray:
        return np.unique(self._edges(), axis=0, return_inverse=True)[1].reshape(-1, 3)

    def _averaging(self, n_vertices: int) -> sparse.csr_array:
        """From vectors on faces (3F) to their means at vertices (3V)."""
        total = np.bincount(self.faces.ravel(), np.repeat(self.area, 3), n_vertices)
        share = np.repeat(self.area, 3) / np.where(total > 0, total, 1.0)[self.faces.ravel()]
        face = np.repeat(np.arange(len(self.faces)), 3)
        mean = sparse.csr_array((share, (self.faces.ravel(), face)), shape=(n_vertices, len(self.faces)))
        return sparse.csr_array(sparse.kron(mean, sparse.eye_array(3)))

    def _operator(self, nodes: IntArray, values: Array, n_nodes: int) -> sparse.csr_array:
        """Vectors on faces (3F) from numbers at three nodes of each, with vectors (F, 3 nodes, 3)."""
        row = 3 * np.arange(len(nodes))[:, None, None] + np.arange(3)
        row, column, value = np.broadcast_arrays(row, nodes[:, :, None], values)
        shape = (3 * len(nodes), n_nodes)
        return sparse.csr_array((value.ravel(), (row.ravel(), column.ravel())), shape=shape)


def _projection(columns: sparse.csc_array) -> Callable[[Array], Array]:
    """Orthogonal projection onto the columns, of which one is the negative sum of the others."""
    columns = sparse.csc_array(columns)[:, 1:]
    factors = splu(sparse.csc_array(columns.T @ columns), permc_spec="MMD_AT_PLUS_A")
    return lambda fields: columns @ factors.solve(columns.T @ fields)


def scaled(fields: Array, mass: Array, mean_square: Array) -> Array:
    """Fields (V, 3, M) with this mean of |v|² (M,) over the area; what is nearly zero stays zero."""
    own = np.einsum("v,vkm,vkm->m", mass / mass.sum(), fields, fields)
    size = np.sqrt(np.divide(mean_square, own, out=np.zeros_like(own), where=own > _NOTHING * own.max()))
    return fields * size
