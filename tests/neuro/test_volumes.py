"""Reading and writing volumes: units, shapes, grids, broken files."""

from __future__ import annotations

import nibabel as nib
import numpy as np
import pytest

from flgp.neuro import ImageError
from flgp.neuro.volumes import on_grid_of, read_mask, read_volume

from .conftest import AFFINE, SHAPE


def test_coordinates_are_the_affine_of_the_voxel_index(brain):
    volume = read_volume(brain)
    mask = volume.data != 0
    index = np.argwhere(mask)
    by_hand = index @ AFFINE[:3, :3].T + AFFINE[:3, 3]
    np.testing.assert_allclose(volume.coordinates(mask), by_hand)
    # A step along the third axis is 4 mm, along the others 2: not 1 voxel.
    steps = [np.linalg.norm(volume.at(np.eye(3)[k]) - volume.at(np.zeros(3))) for k in range(3)]
    np.testing.assert_allclose(steps, [np.hypot(2, 0.125), np.hypot(2, 0.125), 4])


def test_image_keeps_affine_header_and_values(brain, tmp_path):
    volume = read_volume(brain)
    path = tmp_path / "copy.nii.gz"
    volume.image(volume.data).to_filename(path)
    copy = nib.load(path)
    assert copy.shape == SHAPE
    assert copy.get_data_dtype() == np.float32
    np.testing.assert_array_equal(copy.affine, brain.affine)
    np.testing.assert_array_equal(np.asarray(copy.dataobj), np.asarray(brain.dataobj))
    assert copy.header.get_xyzt_units() == ("mm", "sec")
    assert copy.header["descrip"] == brain.header["descrip"]


@pytest.mark.parametrize("dtype", [np.int16, np.uint8])
def test_integer_maps_do_not_make_integer_results(dtype):
    volume = read_volume(nib.Nifti1Image(np.full(SHAPE, 3, dtype=dtype), AFFINE))
    image = volume.image(volume.data + 0.25)
    again = nib.Nifti1Image.from_bytes(image.to_bytes())
    np.testing.assert_array_equal(np.asarray(again.dataobj), np.full(SHAPE, 3.25))


def test_scaled_integers_are_read_as_what_they_mean(tmp_path):
    image = nib.Nifti1Image(np.full(SHAPE, 4.0), AFFINE)
    image.header.set_data_dtype(np.int16)
    image.to_filename(tmp_path / "scaled.nii")
    volume = read_volume(tmp_path / "scaled.nii")
    np.testing.assert_allclose(volume.data, 4.0, rtol=1e-3)
    again = nib.Nifti1Image.from_bytes(volume.image(volume.data / 7).to_bytes())
    np.testing.assert_allclose(np.asarray(again.dataobj), 4 / 7, rtol=1e-3)


def test_four_dimensions():
    data = np.stack([np.zeros(SHAPE), np.ones(SHAPE)], axis=3)
    image = nib.Nifti1Image(data, AFFINE)
    with pytest.raises(ImageError, match=r"4-D with 2 volumes.*--index"):
        read_volume(image)
    with pytest.raises(ImageError, match="--index 2 must be from 0 to 1"):
        read_volume(image, index=2)
    assert read_volume(image, index=1).data.all()
    single = read_volume(nib.Nifti1Image(data[..., :1], AFFINE))
    assert single.data.shape == SHAPE
    assert single.image(single.data).shape == (*SHAPE, 1)


def test_arrays_need_an_affine():
    with pytest.raises(ImageError, match="array with its affine"):
        read_volume(np.zeros(SHAPE))
    with pytest.raises(ImageError, match="no usable affine"):
        read_volume(np.zeros(SHAPE), affine=np.zeros((4, 4)))
    with pytest.raises(ImageError, match=r"has shape \(3, 4\)"):
        read_volume(np.zeros((3, 4)), affine=AFFINE)


def test_other_grids_are_refused_with_both_or_resampled(brain):
    volume = read_volume(brain)
    shifted = AFFINE.copy()
    shifted[0, 3] += 2.0
    other = read_volume(np.ones(SHAPE), affine=shifted, what="the atlas")
    with pytest.raises(ImageError, match=r"different grids.*\(18, 20, 8\).*-2 0.125 0 22.*-2 0.125 0 20"):
        on_grid_of(other, volume, resample=False)
    # One voxel along the first axis: all but its last plane, and the sheared rims, are covered.
    moved = on_grid_of(other, volume, resample=True)
    assert moved.data.shape == SHAPE
    assert moved.data[:-1, 1:-1].all()
    assert not moved.data[-1].any()


def test_masks(brain, mask):
    volume = read_volume(brain)
    inside = np.asarray(mask.dataobj) > 0
    np.testing.assert_array_equal(read_mask(mask, volume), inside)
    np.testing.assert_array_equal(read_mask(inside, volume), inside)
    with pytest.raises(ImageError, match="is empty"):
        read_mask(np.zeros(SHAPE), volume)


def test_nilearn_masker(brain, mask):
    from nilearn.maskers import NiftiMasker

    masker = NiftiMasker(mask_img=mask, standardize=None).fit()
    np.testing.assert_array_equal(read_mask(masker, read_volume(brain)), np.asarray(mask.dataobj) > 0)
    with pytest.raises(ImageError, match="masker without a mask"):
        read_mask(NiftiMasker(standardize=None), read_volume(brain))


@pytest.mark.parametrize("keep", [0, 20, 400, 0.5, 0.98])
def test_truncated_files(brain, tmp_path, keep):
    path = tmp_path / "map.nii.gz"
    brain.to_filename(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: keep if keep >= 1 or keep == 0 else int(keep * len(whole))])
    with pytest.raises(ImageError, match=r"map\.nii\.gz (cannot be read|is truncated)"):
        read_volume(path)


def test_files_that_are_no_images(tmp_path):
    (tmp_path / "text.nii.gz").write_text("not an image")
    with pytest.raises(ImageError, match="cannot be read as an image"):
        read_volume(tmp_path / "text.nii.gz")
    with pytest.raises(ImageError, match="there is no file"):
        read_volume(tmp_path / "absent.nii")
