"""The subjects of a brain study: their maps, the regions to reconstruct, and those that cannot be used."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..._typing import Array
from .experiment import Failure, Options

if TYPE_CHECKING:
    from ...neuro import ActivationRegions

ENDINGS = (".nii", ".nii.gz", ".mgz", ".mgh")
# The map bundled with nilearn has no meaningful name.
BUNDLED = 0


@dataclass(frozen=True)
class Study:
    """Usable maps by the subject's name, with their regions; and those left out, with the reason."""

    maps: dict[str | int, str]
    found: ActivationRegions  # regions, in the order of `maps`
    left_out: list[Failure]

    def data(self, subject: str | int) -> tuple[Array, Array]:
        """Coordinates in mm (n, 3) and intensities (n,) of the region of a subject."""
        from ...neuro.volumes import on_grid_of, read_volume

        volume = on_grid_of(read_volume(self.maps[subject]), self.found.grid, resample=False)
        mask = self.found.regions[list(self.maps).index(subject)]
        return volume.coordinates(mask), volume.data[mask]


def maps_in(folder: Path) -> tuple[str, ...]:
    """The maps of a folder, by name; a ValueError if there are none."""
    if not folder.is_dir():
        raise ValueError(f"--maps {folder} is not a folder. Name the maps after the experiment instead.")
    found = sorted(path for path in folder.iterdir() if path.name.endswith(ENDINGS))
    if not found:
        raise ValueError(f"No map in {folder}: none of its files ends in {', '.join(ENDINGS)}.")
    return tuple(map(str, found))


def seed_of(subject: str | int) -> int:
    """A number for the seeds of a subject, which does not depend on the other subjects."""
    return subject if isinstance(subject, int) else zlib.crc32(subject.encode())


def study_of(options: Options) -> Study:
    """The study of the user's maps, or of the one bundled with nilearn; read once per process."""
    return _study(options.maps, options.region, options.min_voxels)


@lru_cache(maxsize=1)
def _study(maps: tuple[str, ...], region: str | None, min_voxels: int) -> Study:
    from ...neuro import ImageError, activation_regions
    from ...neuro.volumes import on_grid_of, read_volume

    if not maps:
        path = _bundled()
        return Study({BUNDLED: path}, activation_regions([path], region=region, min_voxels=min_voxels), [])
    usable: dict[str | int, str] = {}
    left_out: list[Failure] = []
    grid = None
    for name, path in zip(_names(maps), maps, strict=True):
        try:
            volume = read_volume(path)
            grid = volume if grid is None else grid
            on_grid_of(volume, grid, resample=False)
        except ImageError as error:
            left_out.append(Failure({"subject": name}, str(error)))
        else:
            usable[name] = path
    if not usable:
        raise ImageError(f"None of the {len(maps)} maps can be read. The first: {left_out[0].reason}")
    found = activation_regions(list(usable.values()), region=region, min_voxels=min_voxels)
    for subject, size, kept in zip(usable, found.sizes, found.kept, strict=True):
        if not kept:
            reason = f"{size:,} voxels in its region, fewer than --min-voxels {min_voxels:,}"
            left_out.append(Failure({"subject": subject}, reason))
    return Study(usable, found, left_out)


def _names(maps: Sequence[str]) -> list[str]:
    """File names without ending, where these differ; otherwise with their folders."""
    names = [_stem(Path(path).name) for path in maps]
    return names if len(set(names)) == len(names) else [_stem(path) for path in maps]


def _stem(name: str) -> str:
    for ending in sorted(ENDINGS, key=len, reverse=True):
        name = name.removesuffix(ending)
    return name


def _bundled() -> str:
    try:
        from nilearn.datasets import load_sample_motor_activation_image
    except ImportError as error:
        raise ValueError("nilearn is missing. Install it: pip install 'flgp[neuro]'") from error
    return str(load_sample_motor_activation_image())
