"""Completion of volumes."""

from __future__ import annotations

import nibabel as nib
import numpy as np
import pytest

from flgp import FLGPRegressor
from flgp.neuro import ImageError, VolumeReconstructor

from .conftest import AFFINE, SHAPE, SMALL


def test_holes_are_filled_and_the_rest_is_kept(brain, holes, mask):
    result = VolumeReconstructor(mask=mask, random_state=0).fit_reconstruct(holes)
    given, truth = np.asarray(holes.dataobj), np.asarray(brain.dataobj)
    mean, std = np.asarray(result.mean.dataobj), np.asarray(result.std.dataobj)
    missing = np.isnan(given)
    np.testing.assert_array_equal(mean[~missing], given[~missing])
    np.testing.assert_array_equal(std[~missing], 0)
    assert (std[missing] > 0).all()
    assert np.mean((mean[missing] - truth[missing]) ** 2) < 0.01 * truth[missing].var()
    assert result.scores is None
    for image in (result.mean, result.std):
        assert image.shape == SHAPE
        assert image.get_data_dtype() == np.float32
        np.testing.assert_array_equal(image.affine, AFFINE)
        assert image.header.get_xyzt_units() == ("mm", "sec")


def test_paths_images_and_arrays_agree(holes, mask, tmp_path):
    holes.to_filename(tmp_path / "map.nii.gz")
    mask.to_filename(tmp_path / "mask.nii.gz")
    by_image = VolumeReconstructor(SMALL, mask=mask).fit_reconstruct(holes)
    by_path = VolumeReconstructor(SMALL, mask=tmp_path / "mask.nii.gz").fit_reconstruct(
        tmp_path / "map.nii.gz"
    )
    by_array = VolumeReconstructor(SMALL, mask=np.asarray(mask.dataobj)).fit_reconstruct(
        np.asarray(holes.dataobj), affine=AFFINE
    )
    for other in (by_path, by_array):
        np.testing.assert_array_equal(np.asarray(other.mean.dataobj), np.asarray(by_image.mean.dataobj))


def test_a_mask_of_missing_voxels_belongs_to_the_map(brain):
    lost = np.zeros(SHAPE)
    lost[8:10, 9:12, 3:5] = 1
    spoiled = np.asarray(brain.dataobj).copy()
    spoiled[lost > 0] = 0  # without the second mask they would be background
    tool = VolumeReconstructor(SMALL)
    result = tool.fit_reconstruct(nib.Nifti1Image(spoiled, AFFINE), missing=lost)
    truth = np.asarray(brain.dataobj)[lost > 0]
    assert tool.mask_[lost > 0].all()
    assert not tool.labeled_[lost[tool.mask_] > 0].any()
    np.testing.assert_allclose(np.asarray(result.mean.dataobj)[lost > 0], truth, atol=0.25)


def test_held_out_voxels_are_scored(brain):
    tool = VolumeReconstructor(SMALL, labeled_ratio=0.3, random_state=0)
    scores = tool.fit_reconstruct(brain).scores
    n = len(tool.values_)
    assert scores.n_labeled == round(0.3 * n)
    assert scores.n_labeled + scores.n_held_out == n
    assert scores.trimmed_mse <= scores.mse < 0.05 * tool.values_.var()
    assert scores.coverage > 0.85


def test_smoothing_touches_observed_voxels(brain):
    noisy = np.asarray(brain.dataobj).copy()
    inside = noisy != 0
    noisy[inside] += 0.3 * np.random.default_rng(1).standard_normal(int(inside.sum()))
    result = VolumeReconstructor(SMALL, smooth=True).fit_reconstruct(nib.Nifti1Image(noisy, AFFINE))
    smooth, truth = np.asarray(result.mean.dataobj)[inside], np.asarray(brain.dataobj)[inside]
    assert np.mean((smooth - truth) ** 2) < 0.3 * np.mean((noisy[inside] - truth) ** 2)


def test_distances_are_millimetres_not_voxels():
    """Thick slices: a label one slice away must count less than one a voxel away within the slice."""
    affine = np.diag([1.0, 1.0, 8.0, 1.0])
    tool = VolumeReconstructor(SMALL, labeled_ratio=0.5, random_state=0)
    data = 2 + np.random.default_rng(0).standard_normal((14, 14, 6))
    tool.fit(data, affine=affine)
    spread = np.ptp(tool.coordinates_, axis=0)
    np.testing.assert_allclose(spread, [13, 13, 40])


def test_refusals(brain, mask):
    with pytest.raises(ImageError, match="nothing to reconstruct"):
        VolumeReconstructor().fit(brain)
    with pytest.raises(ImageError, match="n_anchors=5000, but the mask holds only"):
        VolumeReconstructor(FLGPRegressor(n_anchors=5000), labeled_ratio=0.5).fit(brain)
    with pytest.raises(ImageError, match="between 0 and 1"):
        VolumeReconstructor(labeled_ratio=1.5).fit(brain)
    with pytest.raises(ImageError, match="no finite, non-zero voxel"):
        VolumeReconstructor(labeled_ratio=0.5).fit(np.zeros(SHAPE), affine=AFFINE)
    with pytest.raises(ImageError, match="no observed voxel"):
        VolumeReconstructor(mask=mask).fit(np.full(SHAPE, np.nan), affine=AFFINE)
