"""Completion of a brain map: observed voxels in, all voxels of a mask out, with uncertainty."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from .completion import Scores, complete, learn
from .errors import ImageError
from .volumes import Volume, read_mask, read_volume


@dataclass(frozen=True)
class Reconstruction:
    """A completed map and its uncertainty, as NIfTI images on the grid of the map."""

    mean: Any
    std: Any
    scores: Scores | None  # if voxels were held out


@dataclass(eq=False, repr=False)
class VolumeReconstructor(BaseEstimator):
    """Fills the missing voxels of a brain map by a Gaussian process on the shape of the mask.

    Voxels are points in millimetres, so anisotropic voxels and oblique slices are handled correctly.

    Parameters
    ----------
    estimator : FLGPRegressor, optional
        The model. None: `FLGPRegressor(scaling=None)`, heat kernel and local residual. The model of the paper
        is `FLGPRegressor(n_anchors=1500, n_neighbors=3, n_eigenpairs=500, residual=None)`.
    mask : path, image, array or nilearn masker, optional
        Voxels that belong to the map. None: finite and non-zero ones (and those that `missing` names).
    index : int, optional
        Which volume of a 4-D image.
    resample : bool
        Resample masks on another grid to that of the map; otherwise they are an error.
    labeled_ratio : float in (0, 1), optional
        Keep this fraction of the observed voxels, chosen at random, and score on the rest.
    smooth : bool
        Return the posterior mean everywhere. Otherwise observed values are kept.
    random_state : int, RandomState or None
        Seed of the held-out voxels, and of the model if it has none.

    Attributes
    ----------
    model_ : FLGPRegressor
    mask_ : bool array of shape (nx, ny, nz)
    coordinates_ : array of shape (n, 3)
        Voxel centres in millimetres.
    values_ : array of shape (n,)
        As given; NaN where missing.
    labeled_ : bool array of shape (n,)
        Voxels that the model saw.

    Examples
    --------
    >>> import numpy as np
    >>> from flgp.neuro import VolumeReconstructor
    >>> x, y, z = np.indices((12, 12, 6))
    >>> data = 1 + np.sin(x / 3) * np.cos(y / 4)
    >>> data[4:6, 4:6, 2:4] = np.nan
    >>> mask = np.ones(data.shape)
    >>> result = VolumeReconstructor(mask=mask, random_state=0).fit_reconstruct(data, affine=np.eye(4))
    >>> bool(np.isfinite(result.mean.get_fdata()).all())
    True
    """

    estimator: Any = None
    _: KW_ONLY
    mask: Any = None
    index: int | None = None
    resample: bool = False
    labeled_ratio: float | None = None
    smooth: bool = False
    random_state: Any = None

    def fit(self, image: Any, y: Any = None, *, affine: Any = None, missing: Any = None) -> Self:
        """Learn from the observed voxels.

        Parameters
        ----------
        image : path, nibabel image, or array with `affine`
            NaN inside the mask is missing.
        y : ignored
        affine : array of shape (4, 4), optional
        missing : path, image or array, optional
            Non-zero where a voxel is missing, whatever its value in the map.

        Returns
        -------
        self
        """
        volume = read_volume(image, affine=affine, index=self.index)
        observed = np.isfinite(volume.data)
        if self.mask is None:
            inside = observed & (volume.data != 0)
        else:
            inside = read_mask(self.mask, volume, resample=self.resample)
        if missing is not None:
            lost = read_mask(missing, volume, resample=self.resample, what="the mask of missing voxels")
            inside = inside | lost if self.mask is None else inside
            observed = observed & ~lost
        values = np.where(observed, volume.data, np.nan)[inside]
        self._check_enough(volume, values)
        check_anchors(self.estimator, len(values), "voxels")
        self.coordinates_ = volume.coordinates(inside)
        self.model_, labeled = learn(
            self.estimator, self.coordinates_, values, self.labeled_ratio, self.random_state
        )
        self.mask_, self.values_, self.labeled_, self._volume_ = inside, values, labeled, volume
        return self

    def _check_enough(self, volume: Volume, values: Array) -> None:
        if len(values) == 0:
            raise ImageError(f"{volume.name} has no finite, non-zero voxel. Pass a mask, or another map.")
        known = int((~np.isnan(values)).sum())
        if known == 0:
            raise ImageError(f"{volume.name} has no observed voxel inside the mask.")
        if known == len(values) and self.labeled_ratio is None and not self.smooth:
            raise ImageError(
                f"nothing to reconstruct: all {known:,} voxels of the mask are observed. Mark missing ones "
                "with NaN inside a mask (--mask) or with --missing, hold some out with --labeled-ratio, or "
                "smooth with --smooth."
            )

    def predict(self) -> tuple[Array, Array]:
        """Predictive mean and standard deviation (n,) of the value of every voxel of the mask."""
        check_is_fitted(self)
        return self.model_.predict(self.coordinates_, return_std=True)

    def reconstruct(self) -> Reconstruction:
        """The completed map.

        Returns
        -------
        Reconstruction
            Outside the mask the mean is the original map and the standard deviation is 0. Where an observed
            value is kept, the standard deviation is 0; with `smooth` it is that of the posterior of f, and
            otherwise that of the value, noise included.
        """
        check_is_fitted(self)
        mean, std, scores = complete(self.model_, self.coordinates_, self.values_, self.labeled_, self.smooth)
        volume: Volume = self._volume_
        completed, spread = volume.data.copy(), np.zeros(volume.data.shape)
        completed[self.mask_], spread[self.mask_] = mean, std
        return Reconstruction(volume.image(completed), volume.image(spread, keep_range=False), scores)

    def fit_reconstruct(self, image: Any, *, affine: Any = None, missing: Any = None) -> Reconstruction:
        """`fit`, then `reconstruct`."""
        return self.fit(image, affine=affine, missing=missing).reconstruct()


def check_anchors(model: Any, n: int, what: str) -> None:
    """Refuse more anchors than points, which is surely a mistake."""
    count = getattr(model, "n_anchors", "auto")
    if isinstance(count, int | np.integer) and count > n:
        raise ImageError(
            f"n_anchors={count}, but the mask holds only {n:,} {what}. Lower --n-anchors or leave it at auto."
        )
