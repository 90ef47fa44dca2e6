"""Seed maps: prior correlation of every voxel with a seed voxel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from .errors import ImageError
from .prior import prior_correlation
from .volume import VolumeReconstructor

# With finitely many eigenfunctions, correlations that should be tiny come out near 0 or negative.
SMALLEST_CORRELATION = 1e-4


@dataclass(frozen=True)
class SeedMap:
    """Log prior correlation with a seed, and straight distance to it, as NIfTI images without NaN."""

    log_correlation: Any  # at most 0 and at least log(1e-4)
    distance: Any  # millimetres
    mask: Any
    at: Array  # (3,) centre of the seed voxel in millimetres


def find_voxel(coordinates: Array, at: Any, *, voxel_size: float, nearest: bool = False) -> int:
    """Position of the voxel at a point in millimetres.

    A point further than `voxel_size` from every voxel centre is outside the mask, which is an error unless
    the `nearest` voxel is asked for.
    """
    point = np.asarray(at, dtype=float)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise ImageError(f"the seed {at!r} must be three coordinates in millimetres.")
    distance = np.linalg.norm(coordinates - point, axis=1)
    best = int(distance.argmin())
    if distance[best] > voxel_size and not nearest:
        x, y, z = coordinates[best]
        raise ImageError(
            f"the seed ({point[0]:g}, {point[1]:g}, {point[2]:g}) is outside the mask. The nearest voxel is "
            f"at ({x:g}, {y:g}, {z:g}), {distance[best]:.1f} mm away: use --at {x:g} {y:g} {z:g} or "
            "--nearest."
        )
    return best


def seed_map(reconstructor: VolumeReconstructor, at: Any, *, nearest: bool = False) -> SeedMap:
    """Log prior correlation with the voxel at `at` (mm), and the straight distance to it.

    Parameters
    ----------
    reconstructor : fitted VolumeReconstructor
    at : three numbers
        Millimetres, in the space of the map.
    nearest : bool
        Take the nearest voxel of the mask if the point is outside.

    Returns
    -------
    SeedMap
    """
    X, mask, volume = reconstructor.coordinates_, reconstructor.mask_, reconstructor._volume_
    half_diagonal = 0.5 * float(np.sqrt((volume.affine[:3, :3] ** 2).sum()))
    seed = X[find_voxel(X, at, voxel_size=half_diagonal, nearest=nearest)]
    correlation = np.maximum(prior_correlation(reconstructor.model_, X, seed), SMALLEST_CORRELATION)

    def image(values: Array) -> Any:
        data = np.zeros(mask.shape)
        data[mask] = values
        return volume.image(data, keep_range=False)

    return SeedMap(
        image(np.log(correlation)), image(np.linalg.norm(X - seed, axis=1)), image(np.ones(len(X))), seed
    )
