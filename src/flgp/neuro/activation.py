"""Activation regions across subjects, as the paper defines them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array, BoolArray, IntArray
from .errors import ImageError
from .volumes import Volume, on_grid_of, read_mask, read_volume


@dataclass(frozen=True)
class ActivationRegions:
    """The active voxels of each subject."""

    names: list[str]  # of the subjects
    effective: BoolArray  # (nx, ny, nz)
    regions: BoolArray  # (k, nx, ny, nz), one per subject
    kept: BoolArray  # (k,) subjects with enough voxels
    total: Array  # (nx, ny, nz) sum of the maps of the kept subjects
    grid: Volume  # the first map

    @property
    def sizes(self) -> IntArray:
        """Number of voxels in the region of each subject, shape (k,)."""
        return self.regions.reshape(len(self.regions), -1).sum(axis=1)

    @property
    def common(self) -> BoolArray:
        """Voxels in the region of every kept subject, shape (nx, ny, nz)."""
        return np.asarray(self.regions[self.kept].all(axis=0))

    @property
    def counts(self) -> IntArray:
        """Number of kept subjects whose region contains each voxel, shape (nx, ny, nz)."""
        return self.regions[self.kept].sum(axis=0)

    def peak(self) -> IntArray:
        """Index (3,) of the voxel with the highest average intensity in the common region."""
        if not self.common.any():
            raise ImageError("no voxel is in the region of every subject: set the seed with --at X Y Z.")
        flat = np.where(self.common, self.total, -np.inf).argmax()
        return np.array(np.unravel_index(flat, self.common.shape))


def activation_regions(
    maps: Sequence[Any],
    *,
    effective_threshold: float = 1.645,
    min_subjects: int = 2,
    threshold: float = 0.674,
    min_voxels: int = 5000,
    region: Any = None,
    index: int | None = None,
    resample: bool = False,
) -> ActivationRegions:
    """Effective voxels, the region of each subject, and the region common to all.

    The thresholds choose voxels by the response itself, held-out voxels included; pass `region` for one
    defined independently of it.

    Parameters
    ----------
    maps : sequence of paths or images
        One z map per subject.
    effective_threshold, min_subjects : float, int
        A voxel is effective if at least `min_subjects` subjects (all, if there are fewer) have `|z|` above
        the threshold there.
    threshold : float
        The region of a subject: effective voxels with `|z|` above this.
    min_voxels : int
        Subjects with a smaller region are left out.
    region : path, image or masker, optional
        The region of every subject, where the map is finite; thresholds are then not used.
    index : int, optional
        Which volume of 4-D images.
    resample : bool
        Move maps on other grids to that of the first.

    Returns
    -------
    ActivationRegions
    """
    if len(maps) == 0:
        raise ImageError("pass at least one map.")
    if min_subjects < 1 or min_voxels < 1 or min(effective_threshold, threshold) < 0:
        raise ImageError("thresholds must not be negative; min_subjects and min_voxels must be at least 1.")
    grid = read_volume(maps[0], index=index)

    def load(image: Any) -> Volume:
        return on_grid_of(read_volume(image, index=index), grid, resample=resample, nearest=False)

    names = []
    if region is not None:
        effective = read_mask(region, grid, resample=resample, what="the region")
        threshold = -1.0
        names = [load(image).name for image in maps]
    else:
        votes = np.zeros(grid.data.shape, dtype=np.int32)
        for image in maps:
            volume = load(image)
            names.append(volume.name)
            votes += np.abs(np.nan_to_num(volume.data)) > effective_threshold
        effective = votes >= min(min_subjects, len(maps))

    # Maps are read a second time rather than kept: a hundred of them do not fit in memory.
    regions = np.zeros((len(maps), *grid.data.shape), dtype=bool)
    kept = np.zeros(len(maps), dtype=bool)
    total = np.zeros(grid.data.shape)
    for i, image in enumerate(maps):
        data = load(image).data
        finite = np.isfinite(data)
        regions[i] = effective & finite & (np.abs(np.where(finite, data, 0.0)) > threshold)
        kept[i] = regions[i].sum() >= min_voxels
        if kept[i]:
            total += np.where(finite, data, 0.0)
    if not kept.any():
        largest = int(regions.reshape(len(maps), -1).sum(axis=1).max())
        raise ImageError(
            f"no subject has {min_voxels:,} voxels in its region; the largest has {largest:,}. "
            "Lower --min-voxels or the thresholds."
        )
    return ActivationRegions(names, effective, regions, kept, total, grid)
