"""Volumes: read with nibabel as plain arrays with an affine, and written back to NIfTI."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np

from .._typing import Array, BoolArray, IntArray
from .errors import ImageError

# Affines are stored in single precision; grids within a thousandth of a millimetre are the same.
_GRID_TOLERANCE = 1e-3
UNREADABLE = (OSError, EOFError, ValueError, zlib.error, nib.filebasedimages.ImageFileError)


@dataclass(frozen=True)
class Volume:
    """One three-dimensional map."""

    data: Array  # (nx, ny, nz) double precision
    affine: Array  # (4, 4) voxel indices to millimetres
    name: str
    shape: tuple[int, ...]  # of the image as given: (nx, ny, nz) or (nx, ny, nz, 1)
    header: Any = None  # NIfTI header, or None

    def coordinates(self, mask: BoolArray) -> Array:
        """Voxel centres in millimetres, shape (n, 3), in the order of `data[mask]`."""
        return nib.affines.apply_affine(self.affine, np.argwhere(mask))

    def at(self, index: IntArray) -> Array:
        """Centre (3,) in millimetres of one voxel, index (3,)."""
        return nib.affines.apply_affine(self.affine, index)

    def image(self, data: Array, *, keep_range: bool = True) -> Any:
        """A NIfTI image of data (nx, ny, nz), in single precision on this grid, with this header.

        `keep_range` says whether the display range of the header (cal_min, cal_max) still applies.
        """
        values = np.asarray(data, dtype=np.float32).reshape(self.shape)
        kind: Any = nib.Nifti2Image if isinstance(self.header, nib.Nifti2Header) else nib.Nifti1Image
        image = kind(values, self.affine, self.header)
        image.set_data_dtype(np.float32)
        image.header.set_slope_inter(1.0, 0.0)
        if not keep_range:
            image.header["cal_min"] = image.header["cal_max"] = 0.0
        return image


def stem(path: str | Path) -> str:
    """The file name without .nii.gz, .func.gii and the like."""
    name = Path(path).name
    for ending in (".gz", ".nii", ".gii", ".func", ".shape", ".img", ".hdr", ".mgh", ".mgz"):
        name = name.removesuffix(ending)
    return name


def read_volume(image: Any, *, affine: Any = None, index: int | None = None, what: str = "the map") -> Volume:
    """Read a map from a path, an image, or an array (nx, ny, nz) or (nx, ny, nz, k) with its affine (4, 4).

    `index` is the volume of a four-dimensional image, from 0; `what` names the map in error messages.
    """
    if isinstance(image, str | Path):
        return _from_image(_open(Path(image), what), index, f"{what} {Path(image).name}")
    if isinstance(image, nib.spatialimages.SpatialImage):
        if affine is not None:
            raise ImageError(f"{what} is an image and already has an affine: leave out affine.")
        return _from_image(image, index, what)
    if affine is None:
        raise ImageError(
            f"{what} is {type(image).__name__}. Pass a path, a nibabel image, or an array with its affine."
        )
    try:
        data = np.asarray(image, dtype=float)
    except (TypeError, ValueError) as error:
        raise ImageError(f"{what} is not an array of numbers.") from error
    return _volume(data, np.asarray(affine, dtype=float), index, what, None)


def _open(path: Path, what: str) -> Any:
    if not path.is_file():
        raise ImageError(f"{what}: there is no file {path}.")
    try:
        image = nib.load(path)
    except UNREADABLE as error:
        raise ImageError(f"{what} {path.name} cannot be read as an image: {error}") from error
    if not isinstance(image, nib.spatialimages.SpatialImage):
        raise ImageError(
            f"{what} {path.name} is not a volume. Use flgp.neuro.SurfaceReconstructor for surfaces."
        )
    return image


def _from_image(image: Any, index: int | None, what: str) -> Volume:
    if np.iscomplexobj(np.zeros(0, image.get_data_dtype())):
        raise ImageError(f"{what} holds complex numbers. Pass its magnitude, or its real or imaginary part.")
    try:
        data = np.asarray(image.dataobj, dtype=float)
    except (*UNREADABLE, TypeError) as error:
        raise ImageError(f"{what} is truncated or corrupt: {error}") from error
    header = image.header if isinstance(image.header, nib.Nifti1Header) else None
    return _volume(data, np.asarray(image.affine, dtype=float), index, what, header)


def _volume(data: Array, affine: Array, index: int | None, what: str, header: Any) -> Volume:
    if affine.shape != (4, 4) or not np.isfinite(affine).all() or abs(np.linalg.det(affine[:3, :3])) < 1e-12:
        raise ImageError(f"{what} has no usable affine (4×4, invertible): {affine.tolist()}.")
    while data.ndim > 4 and data.shape[-1] == 1:
        data = data[..., 0]
    if data.ndim not in (3, 4) or 0 in data.shape:
        raise ImageError(f"{what} has shape {data.shape}, but must be one volume (x, y, z).")
    shape = data.shape
    if data.ndim == 4:
        data = data[..., checked_index(index, shape[3], f"{what} is 4-D with", "volumes")]
        shape = data.shape if shape[3] > 1 else shape
    return Volume(data, affine, what, shape, header)


def checked_index(index: int | None, count: int, what: str, parts: str) -> int:
    """Which of several volumes or columns is meant; None means the only one."""
    if index is None and count > 1:
        raise ImageError(f"{what} {count} {parts}. Choose one with --index (0 to {count - 1}).")
    if not 0 <= (index or 0) < count:
        raise ImageError(f"{what} {count} {parts}: --index {index} must be from 0 to {count - 1}.")
    return index or 0


def on_grid_of(volume: Volume, like: Volume, *, resample: bool, nearest: bool = True) -> Volume:
    """`volume` on the grid of `like`; an error if the grids differ and `resample` is False."""
    same = np.allclose(volume.affine, like.affine, rtol=0, atol=_GRID_TOLERANCE)
    if same and volume.data.shape == like.data.shape:
        return volume
    if not resample:
        raise ImageError(
            f"{volume.name} and {like.name} are on different grids. {volume.name}: shape "
            f"{volume.data.shape}, affine {_rows(volume.affine)}; {like.name}: shape {like.data.shape}, "
            f"affine {_rows(like.affine)}. Resample one of them, or use --resample (resample=True)."
        )
    from nilearn.image import resample_img

    moved = resample_img(
        nib.Nifti1Image(volume.data.astype(np.float32), volume.affine),
        target_affine=like.affine,
        target_shape=like.data.shape,
        interpolation="nearest" if nearest else "continuous",
        force_resample=True,
        copy_header=True,
    )
    return Volume(np.asarray(moved.dataobj, dtype=float), like.affine, volume.name, like.data.shape)


def _rows(affine: Array) -> str:
    return "[" + "; ".join(" ".join(f"{value:g}" for value in row) for row in affine[:3]) + "]"


def read_mask(mask: Any, like: Volume, *, resample: bool = False, what: str = "the mask") -> BoolArray:
    """A mask (nx, ny, nz) on the grid of a map: non-zero, finite voxels.

    `mask` is a path, an image, an array on the grid of the map, or a nilearn masker.
    """
    if hasattr(mask, "mask_img_") or hasattr(mask, "mask_img"):  # a nilearn masker
        mask = getattr(mask, "mask_img_", None) or getattr(mask, "mask_img", None)
        if mask is None:
            raise ImageError(f"{what} is a masker without a mask. Fit it first, or set its mask_img.")
    affine = like.affine if isinstance(mask, np.ndarray) else None
    volume = on_grid_of(read_volume(mask, affine=affine, what=what), like, resample=resample)
    inside = np.isfinite(volume.data) & (volume.data != 0)
    if not inside.any():
        raise ImageError(f"{volume.name} is empty: no voxel is non-zero{' on this grid' * resample}.")
    return inside
