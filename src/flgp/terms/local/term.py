"""The short-range part u(x) as a term: a Euclidean Gaussian process by nearest neighbours (Vecchia).

The one term without features: it changes the linear algebra of the posterior and has separate parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..._linalg import distinct_rows
from ..._stored import stored
from ..._typing import Array
from ...geometry.point_cloud.neighbors import NeighborSearch
from ...priors import HalfNormal, LogNormal, Prior
from .euclidean import KERNEL_NAMES, LocalModel, has_shape

LENGTH_SCALE, VARIANCE, SHAPE = "residual_length_scale", "residual_variance", "residual_shape"
KERNEL_CHOICES = ("auto", *KERNEL_NAMES)
_SHAPE_BOUNDS = (0.02, 50.0)


@stored("local term")
@dataclass(frozen=True)
class Local:
    """u ~ GP(0, a_u² ρ(r/ℓ)) of the distance r, with what the labelled points show of distances to expect."""

    kernel: str
    spacing: float  # typical distance between neighbouring labels
    extent: float  # size of the whole set

    name = "local"

    @classmethod
    def among(cls, points: Array, kernel: str) -> Local:
        """For labelled points (m, q)."""
        return cls(kernel, *distances_among(points))

    @property
    def parameters(self) -> tuple[str, ...]:
        """Length scale and variance, and the shape of a kernel that has one."""
        names = (LENGTH_SCALE, VARIANCE)
        return (*names, SHAPE) if has_shape(self.kernel) else names

    def model(self, values: Mapping[str, float], noise_variance: float = 0.0) -> LocalModel:
        """The process at hyperparameters given by name."""
        shape = values[SHAPE] if has_shape(self.kernel) else 1.0
        return LocalModel(self.kernel, values[LENGTH_SCALE], values[VARIANCE], noise_variance, shape)

    def bounds(self, scale: float) -> dict[str, tuple[float, float]]:
        return {
            LENGTH_SCALE: (0.1 * self.spacing, 10.0 * self.extent),
            VARIANCE: (1e-8 * scale**2, 1e4 * scale**2),
            SHAPE: _SHAPE_BOUNDS,
        }

    def priors(self, scale: float) -> dict[str, Prior]:
        """The variance's is that of the manifold's part."""
        return {
            LENGTH_SCALE: LogNormal(3.0 * self.spacing, 2.0),
            VARIANCE: HalfNormal(3.0 * scale),
            SHAPE: LogNormal(1.0, 2.0),
        }


def distances_among(points: Array) -> tuple[float, float]:
    """Typical distance between neighbours in different places, and the extent of the whole set."""
    extent = float(np.linalg.norm(np.ptp(points, axis=0)))
    if extent == 0.0:
        return 1.0, 1.0  # all in one place: any length scale will do
    places = distinct_rows(points)
    nearest = np.sqrt(NeighborSearch(places)(places, 2)[1][:, -1])
    return float(np.median(nearest[nearest > 0])) if (nearest > 0).any() else extent, extent
