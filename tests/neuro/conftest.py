"""Small synthetic volumes."""

from __future__ import annotations

import numpy as np
import pytest

from flgp import FLGPRegressor

nib = pytest.importorskip("nibabel")
pytest.importorskip("nilearn")

# Oblique on purpose: anisotropic voxels, left and right swapped, off-centre.
AFFINE = np.array([[-2.0, 0.125, 0, 20], [0.125, 2.0, 0, -25], [0, 0, 4.0, -10], [0, 0, 0, 1.0]])
SHAPE = (18, 20, 8)
# The paper's model, small: the residual has tests of its own and takes its time.
SMALL = FLGPRegressor(n_anchors=250, n_eigenpairs=100, residual=None, random_state=0)


def smooth_map(shape=SHAPE, affine=AFFINE):
    """A smooth function of millimetres, never 0."""
    mm = nib.affines.apply_affine(affine, np.moveaxis(np.indices(shape), 0, -1))
    return 3 + np.sin(mm[..., 0] / 9) * np.cos(mm[..., 1] / 8) + 0.02 * mm[..., 2]


@pytest.fixture
def brain():
    """A NIfTI image of single precision with units and a description, zero outside an ellipsoid."""
    data = smooth_map()
    centre = (np.array(SHAPE) - 1) / 2
    radius = (((np.moveaxis(np.indices(SHAPE), 0, -1) - centre) / centre) ** 2).sum(axis=-1)
    image = nib.Nifti1Image(np.where(radius < 1, data, 0).astype(np.float32), AFFINE)
    image.header.set_xyzt_units("mm", "sec")
    image.header["descrip"] = b"synthetic"
    return image


@pytest.fixture
def mask(brain):
    return nib.Nifti1Image((np.asarray(brain.dataobj) != 0).astype(np.uint8), AFFINE)


@pytest.fixture
def holes(brain):
    """The same map with NaN at some voxels of the mask."""
    data = np.asarray(brain.dataobj).copy()
    rng = np.random.default_rng(0)
    data[(data != 0) & (rng.random(SHAPE) < 0.3)] = np.nan
    return nib.Nifti1Image(data, AFFINE, brain.header)
