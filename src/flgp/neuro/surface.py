"""Values on a cortical surface: the heat kernel of the mesh, and a local term that does not cross folds."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self
from xml.parsers.expat import ExpatError

import nibabel as nib
import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .. import geometry as geometries
from .._typing import Array, IntArray
from .completion import Scores, complete, learn
from .errors import ImageError
from .volumes import UNREADABLE, checked_index

_UNREADABLE = (*UNREADABLE, ExpatError, TypeError, IndexError)


@dataclass(frozen=True)
class Mesh:
    """A triangulated surface."""

    coordinates: Array  # (n, 3) mm
    faces: IntArray  # (f, 3)

    def face_normals(self) -> Array:
        """Normals of the faces, as long as twice their area, shape (f, 3)."""
        a, b, c = (self.coordinates[self.faces[:, k]] for k in range(3))
        return np.cross(b - a, c - a)

    def normals(self) -> Array:
        """Unit normals of the vertices, averaged over their faces by area, shape (n, 3)."""
        of_faces = self.face_normals()
        total = np.zeros_like(self.coordinates)
        for k in range(3):
            np.add.at(total, self.faces[:, k], of_faces)
        length = np.linalg.norm(total, axis=1, keepdims=True)
        return total / np.where(length > 0, length, 1.0)

    def points(self, normal_weight: float) -> Array:
        """Vertices as points (x, w·normal), shape (n, 6).

        In space alone the two banks of a sulcus touch. Their normals are opposite, so with a weight of w mm
        they are 2w further apart, while along the sheet the normal turns slowly.
        """
        return np.hstack([self.coordinates, normal_weight * self.normals()])

    def geodesic(self, vertex: int) -> Array:
        """Length of the shortest path along the edges from one vertex to all, shape (n,)."""
        n = len(self.coordinates)
        pairs = np.vstack([self.faces[:, [0, 1]], self.faces[:, [1, 2]], self.faces[:, [2, 0]]])
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        length = np.linalg.norm(self.coordinates[pairs[:, 0]] - self.coordinates[pairs[:, 1]], axis=1)
        graph = sparse.csr_array((length, (pairs[:, 0], pairs[:, 1])), shape=(n, n))
        return dijkstra(graph, directed=False, indices=vertex)


def read_mesh(mesh: Any) -> Mesh:
    """Read a mesh from a GIFTI path, a pair (coordinates, faces), or an object with these attributes."""
    if isinstance(mesh, Mesh):
        return mesh
    if isinstance(mesh, tuple | list) and len(mesh) == 2:
        coordinates, faces = np.asarray(mesh[0], dtype=float), np.asarray(mesh[1])
    else:
        from nilearn.surface import load_surf_mesh

        try:
            loaded = load_surf_mesh(str(mesh) if isinstance(mesh, Path) else mesh)
        except _UNREADABLE as error:
            raise ImageError(f"the mesh cannot be read: {error}") from error
        coordinates, faces = np.asarray(loaded.coordinates, dtype=float), np.asarray(loaded.faces)
    if coordinates.ndim != 2 or coordinates.shape[1] != 3 or not np.isfinite(coordinates).all():
        raise ImageError(
            f"the vertices of the mesh have shape {coordinates.shape}, but must be finite with shape (n, 3)."
        )
    whole = np.issubdtype(faces.dtype, np.integer)
    if (
        not whole
        or faces.ndim != 2
        or faces.shape[1] != 3
        or len(faces) == 0
        or faces.min() < 0
        or faces.max() >= len(coordinates)
    ):
        raise ImageError(f"the faces of the mesh must be triples of vertex numbers below {len(coordinates)}.")
    return Mesh(coordinates, faces)


def read_vertex_values(values: Any, n_vertices: int, index: int | None = None) -> Array:
    """Values (n,) on the vertices, from a GIFTI path or an array; NaN where missing."""
    if isinstance(values, str | Path):
        from nilearn.surface import load_surf_data

        if not Path(values).is_file():
            raise ImageError(f"the values: there is no file {values}.")
        try:
            values = load_surf_data(str(values))
        except _UNREADABLE as error:
            raise ImageError(f"the values {Path(values).name} cannot be read: {error}") from error
    data = np.asarray(values, dtype=float)
    if data.ndim == 2:
        data = data[:, checked_index(index, data.shape[1], "the values have", "columns")]
    if data.shape != (n_vertices,):
        raise ImageError(f"the values have shape {data.shape}, but the mesh has {n_vertices:,} vertices.")
    return np.where(np.isfinite(data), data, np.nan)


def vertex_image(values: Array) -> Any:
    """A GIFTI image of one value per vertex, in single precision."""
    array = nib.gifti.GiftiDataArray(
        np.asarray(values, dtype=np.float32), intent="NIFTI_INTENT_ESTIMATE", datatype="NIFTI_TYPE_FLOAT32"
    )
    return nib.gifti.GiftiImage(darrays=[array])


@dataclass(frozen=True)
class SurfaceReconstruction:
    """Completed values and their uncertainty, as GIFTI images."""

    mean: Any
    std: Any
    scores: Scores | None


@dataclass(eq=False, repr=False)
class SurfaceReconstructor(BaseEstimator):
    """Fills missing values on a triangulated surface.

    Parameters
    ----------
    estimator : FLGPRegressor, optional
        The model. None: `FLGPRegressor()`. Its geometry is the mesh, so anchors are not used and the
        diffusion time is in mm².
    normal_weight : float
        w, in mm: the local term uses the points (x, w·normal), so that distances do not cross folds.
    index : int, optional
        Which column of the values.
    labeled_ratio : float in (0, 1), optional
        Keep this fraction of the observed vertices, chosen at random, and score on the rest.
    smooth : bool
        Return the posterior mean everywhere. Otherwise observed values are kept.
    random_state : int, RandomState or None
        Seed of the held-out vertices, and of the model if it has none.

    Attributes
    ----------
    model_ : FLGPRegressor
    mesh_ : Mesh
    points_ : array of shape (n, 7)
        The rows of the model: vertex number, x, w·normal.
    values_ : array of shape (n,)
    labeled_ : bool array of shape (n,)
    """

    estimator: Any = None
    _: KW_ONLY
    normal_weight: float = 3.0
    index: int | None = None
    labeled_ratio: float | None = None
    smooth: bool = False
    random_state: Any = None

    def fit(self, mesh: Any, values: Any) -> Self:
        """Learn from the vertices whose value is not NaN.

        Parameters
        ----------
        mesh : path of a GIFTI mesh, Mesh, or pair (coordinates, faces)
        values : path of a GIFTI file, or array of shape (n,)

        Returns
        -------
        self
        """
        if not (np.isfinite(self.normal_weight) and self.normal_weight >= 0):
            raise ImageError(f"normal_weight={self.normal_weight!r} must be 0 or a positive number of mm.")
        surface = read_mesh(mesh)
        y = read_vertex_values(values, len(surface.coordinates), self.index)
        observed = ~np.isnan(y)
        if not observed.any():
            raise ImageError("no vertex has a finite value.")
        if observed.all() and self.labeled_ratio is None and not self.smooth:
            raise ImageError(
                "nothing to reconstruct: every vertex has a value. Mark missing ones with NaN, hold some out "
                "with --labeled-ratio, or smooth with --smooth."
            )
        try:
            geometry = geometries.Mesh(surface.coordinates, surface.faces)
        except ValueError as error:
            raise ImageError(f"the mesh cannot be used: {error}") from error
        parameters = {"geometry": geometry, "geometry_columns": [0], "residual_columns": [1, 2, 3, 4, 5, 6]}
        self.points_ = np.column_stack([np.arange(len(y)), surface.points(float(self.normal_weight))])
        self.model_, self.labeled_ = learn(
            self.estimator, self.points_, y, self.labeled_ratio, self.random_state, **parameters
        )
        self.mesh_, self.values_ = surface, y
        return self

    def reconstruct(self) -> SurfaceReconstruction:
        """The completed values; standard deviations as for volumes."""
        check_is_fitted(self)
        mean, std, scores = complete(self.model_, self.points_, self.values_, self.labeled_, self.smooth)
        return SurfaceReconstruction(vertex_image(mean), vertex_image(std), scores)

    def fit_reconstruct(self, mesh: Any, values: Any) -> SurfaceReconstruction:
        """`fit`, then `reconstruct`."""
        return self.fit(mesh, values).reconstruct()
