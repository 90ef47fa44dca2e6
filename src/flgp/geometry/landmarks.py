"""The geometry of the GLGP (Dunson, Wu and Wu): every point joined to all landmarks or to the near ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from .._progress import stage
from .._stored import REBUILT, stored
from .._threads import blas_for
from .._typing import Array, IntArray, RowLike
from ..rows.blocks import Blocks, row_blocks
from ..rows.sources import is_streamed
from .base import MatrixRows, closeness_of
from .bases import Quantities
from .eigensolvers import ROUGH
from .landmark_walk import (
    BLOCK_ENTRIES,
    TOLERANCE,
    Matrix,
    dense_spectrum,
    joined_pairs,
    sparse_spectrum,
    walk_rows,
)
from .point_cloud.anchors import choose_anchors
from .point_cloud.cloud import BANDWIDTH_GRID
from .point_cloud.defaults import auto_eigenpairs
from .point_cloud.neighbors import NeighborSearch
from .spectrum import SpectrumBasis

# The paper's grid if all pairs are joined, in units of their mean squared distance. If only near pairs are
# joined, that unit is small, as for FLGP, and the grid is that of FLGP.
ALL_PAIRS_BANDWIDTHS = np.geomspace(0.001, 1.0, 20)
# Points farther off, in radii of the landmarks, see them all in one direction.
_FAR_OFF = 1e6


@dataclass(frozen=True)
class LandmarkPlaces:
    """Squared distances of points to all landmarks, or (sparse) to those they are joined to."""

    pairs: Matrix
    nearest: IntArray  # (b,) landmarks
    closeness: Array  # (b,)


@stored("basis on landmarks")
@dataclass(frozen=True)
class LandmarkBasis(SpectrumBasis):
    """Eigenfunctions of the GLGP, at landmarks and elsewhere."""

    bandwidth: float  # ε
    log_ratio: Array  # (s,) -log q_j

    def part_of(self, places: LandmarkPlaces) -> IntArray:
        return self.spectrum.components[places.nearest]

    def rows(self, places: LandmarkPlaces) -> MatrixRows:
        """Row-normalised cross kernel, divided by the column sums of the landmarks."""
        return MatrixRows(walk_rows(places.pairs, self.log_ratio, 4.0 * self.bandwidth**2))


@stored("landmark geometry")
@dataclass(frozen=True)
class Landmarks(Quantities):
    """A point cloud seen from landmarks; see `flgp.baselines` for the parameters."""

    n_landmarks: int | None = None  # s; None: all points
    landmarks: str = "kmeans"
    n_neighbors: int | None = None  # None: all pairs are joined
    bandwidth: float | None = None

    def columns(self, n_columns: int) -> int:
        return n_columns

    def fit(self, rows: RowLike, rng: np.random.Generator) -> FittedLandmarks:
        """The graph of all rows (n, p) with the landmarks."""
        n = rows.shape[0]
        count = n if self.n_landmarks is None else int(self.n_landmarks)
        with stage(f"graph of {min(count, n):,} landmarks"):
            landmarks = choose_anchors(rows, count, self.landmarks, rng)
            return join_to_landmarks(rows, landmarks, self.n_neighbors, self.bandwidth)


@stored("landmarks")
@dataclass(frozen=True)
class FittedLandmarks:
    """Every point joined to all landmarks, or (sparse) to those near it.

    Sparse: x and u_j are joined if either is among the r nearest of the other. `reach` (s,) is the squared
    distance from each landmark to its r-th neighbour, so the rows of the landmarks are symmetric, and the row
    of a new point follows the same rule.
    """

    anchors: Array  # (s, p) the landmarks
    n_neighbors: int  # r
    radius: float  # largest distance of a fitted point from its nearest landmark
    mean_sqdist: float  # over the joined pairs of landmarks, which bandwidths are relative to
    reach: Array | None = None
    given_bandwidth: float | None = None
    # During a fit: squared distances (s, s), and the fitted rows.
    among_landmarks: Matrix = field(default=None, metadata=REBUILT, repr=False)
    blocks: Blocks[Array] | None = field(default=None, metadata=REBUILT, repr=False)
    search: Any = field(default=None, metadata=REBUILT, repr=False)

    def __post_init__(self) -> None:
        if self.search is None:
            object.__setattr__(self, "search", NeighborSearch(self.anchors))

    def locate(self, X: Array) -> LandmarkPlaces:
        """Distances of points (b, p) to the landmarks."""
        X = np.asarray(X, dtype=np.float64)
        index, sqdist = self.search(X, 1)
        pairs = joined_pairs(self._not_too_far(X), self.anchors, self.n_neighbors, self.reach)
        return LandmarkPlaces(pairs, index[:, 0], closeness_of(np.sqrt(sqdist[:, 0]) / self.radius))

    def _not_too_far(self, X: Array) -> Array:
        """Points (b, p), moved closer if their squares would overflow: from afar all landmarks look alike."""
        center = self.anchors.mean(axis=0)
        farthest = _FAR_OFF * (float(np.abs(self.anchors - center).max()) + self.radius)
        away = X - center
        size = np.abs(away).max(axis=1, keepdims=True)
        far = np.flatnonzero(size[:, 0] > farthest)
        if len(far):
            X = X.copy()
            X[far] = center + away[far] / size[far] * farthest
        return X

    def fitted_places(self) -> Blocks[LandmarkPlaces] | None:
        """Places of the fitted rows, recomputed block by block; None if the rows are in a file."""
        return None if self.blocks is None else self.blocks.map(self.locate, keep=False)

    def distance(self, X: Array) -> Array:
        """Distance to the nearest landmark, relative to the largest one of fitted points, (b,)."""
        return np.sqrt(self.search(X, 1)[1][:, 0]) / self.radius

    def coordinates(self, X: Array) -> Array:
        return np.asarray(X, dtype=np.float64)

    def n_eigenpairs(self, n_labeled: int) -> int:
        return auto_eigenpairs(len(self.anchors), n_labeled)

    @property
    def bandwidths(self) -> Array | None:
        """ε on the paper's grid; None if ε is given."""
        if self.given_bandwidth is not None:
            return None
        grid = ALL_PAIRS_BANDWIDTHS if self.reach is None else BANDWIDTH_GRID
        return np.sqrt(grid * self.mean_sqdist) / 2.0

    @property
    def typical_bandwidth(self) -> float:
        return self.given_bandwidth or float(np.sqrt(self.mean_sqdist)) / 2

    def basis(
        self,
        n_eigenpairs: int,
        bandwidth: float | None = None,
        near: LandmarkBasis | None = None,
        rough: bool = False,
    ) -> LandmarkBasis:
        """Eigenfunctions at one bandwidth. They depend on the landmarks alone, so `rough` has no effect.

        `near` is the basis at another bandwidth, during a search: the solver starts from it and stops early.
        """
        epsilon = bandwidth or self.given_bandwidth
        assert epsilon is not None
        pairs, scale = self.among_landmarks, 4.0 * epsilon**2
        with blas_for(pairs.shape[0]):
            if sparse.issparse(pairs):
                start = None if near is None else near.spectrum
                q, spectrum = sparse_spectrum(pairs, scale, n_eigenpairs, start)
            else:
                tolerance = TOLERANCE if near is None else ROUGH
                q, spectrum = dense_spectrum(pairs, scale, n_eigenpairs, tolerance)
        return LandmarkBasis(spectrum, epsilon, -np.log(q))

    def frozen(self) -> Self:
        return replace(self, blocks=None, among_landmarks=None)


def join_to_landmarks(
    rows: RowLike, landmarks: Array, n_neighbors: int | None, bandwidth: float | None = None
) -> FittedLandmarks:
    """The graph of all rows (n, p) with the landmarks (s, p).

    The distances of rows to landmarks are n·s numbers: they are computed block by block, on demand.
    """
    s = len(landmarks)
    search = NeighborSearch(landmarks)
    r = s if n_neighbors is None else min(int(n_neighbors), s)
    # Rounding must not break a tie one way for a landmark and the other way for its neighbour.
    reach = None if n_neighbors is None else search(landmarks, r)[1][:, -1] * (1 + 1e-9)
    among = joined_pairs(landmarks, landmarks, r, reach)
    mean_sqdist = float(among.sum()) / (among.nnz if sparse.issparse(among) else among.size)
    blocks = row_blocks(rows, max(64, BLOCK_ENTRIES // s))
    farthest = blocks.reduce(lambda X: float(search(X, 1)[1].max()), max)
    # If every point is a landmark this is 0, but points within a step of the graph are not far off either.
    step = float(search(landmarks, min(4, s))[1][:, -1].mean())
    return FittedLandmarks(
        anchors=landmarks,
        n_neighbors=r,
        radius=float(np.sqrt(max(farthest, step)) + np.finfo(float).tiny),
        mean_sqdist=mean_sqdist if mean_sqdist > 0 else 1.0,
        reach=reach,
        given_bandwidth=bandwidth,
        among_landmarks=among,
        blocks=None if is_streamed(rows) else blocks,
        search=search,
    )
