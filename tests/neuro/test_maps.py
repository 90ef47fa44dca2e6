"""Activation regions, seed maps, networks: against definitions and the dense kernel."""

from __future__ import annotations

from xml.etree import ElementTree

import nibabel as nib
import numpy as np
import pytest

from flgp import FLGPRegressor
from flgp.neuro import ImageError, VolumeReconstructor, activation_regions, coactivation_network, seed_map
from flgp.neuro.groups import read_groups
from flgp.neuro.network import write_graphml

from .conftest import AFFINE, SHAPE


def subjects(k=4):
    rng = np.random.default_rng(3)
    return [nib.Nifti1Image(1.5 * rng.standard_normal(SHAPE), AFFINE) for _ in range(k)]


@pytest.fixture
def fitted(brain):
    model = FLGPRegressor(n_anchors=150, n_eigenpairs=60, residual=None, random_state=0)
    return VolumeReconstructor(model, smooth=True).fit(brain)


def test_activation_regions_follow_the_definition():
    maps = subjects()
    z = np.stack([image.get_fdata() for image in maps])
    found = activation_regions(maps, min_voxels=1)
    effective = (np.abs(z) > 1.645).sum(axis=0) >= 2
    np.testing.assert_array_equal(found.effective, effective)
    np.testing.assert_array_equal(found.regions, effective & (np.abs(z) > 0.674))
    np.testing.assert_array_equal(found.counts, found.regions.sum(axis=0))
    np.testing.assert_array_equal(found.common, found.regions.all(axis=0))
    best = tuple(found.peak())
    assert found.common[best]
    assert z.mean(axis=0)[best] == z.mean(axis=0)[found.common].max()


def test_small_regions_are_left_out():
    maps = subjects()
    quiet = nib.Nifti1Image(0.01 * maps[0].get_fdata(), AFFINE)
    found = activation_regions([*maps, quiet], min_voxels=100)
    np.testing.assert_array_equal(found.kept, [True] * 4 + [False])
    with pytest.raises(ImageError, match="no subject has 5,000 voxels"):
        activation_regions(maps)


def test_a_region_of_ones_own_needs_no_threshold(mask):
    found = activation_regions(subjects(), region=mask, min_voxels=1)
    for own in found.regions:
        np.testing.assert_array_equal(own, np.asarray(mask.dataobj) > 0)


def test_seed_map_is_the_log_of_the_dense_correlation(fitted):
    at = fitted.coordinates_[700]
    result = seed_map(fitted, at)
    X = fitted.coordinates_
    seed = X[700:701]
    covariance = fitted.model_.covariance(X, seed, term="manifold")[:, 0]
    variance = np.array([fitted.model_.covariance(row[None], term="manifold")[0, 0] for row in X[::50]])
    dense = covariance[::50] / np.sqrt(variance * fitted.model_.covariance(seed, term="manifold")[0, 0])
    log = np.asarray(result.log_correlation.dataobj)[fitted.mask_]
    np.testing.assert_allclose(log[::50], np.log(np.maximum(dense, 1e-4)), atol=1e-5)
    assert log[700] == pytest.approx(0, abs=1e-6)
    distance = np.asarray(result.distance.dataobj)[fitted.mask_]
    np.testing.assert_allclose(distance, np.linalg.norm(X - seed, axis=1), rtol=1e-6)


def test_a_seed_outside_names_the_nearest_voxel(fitted):
    outside = fitted.coordinates_.min(axis=0) - 30
    gap = np.linalg.norm(fitted.coordinates_ - outside, axis=1).min()
    with pytest.raises(ImageError, match=f"outside the mask.*{gap:.1f} mm away"):
        seed_map(fitted, outside)
    assert np.isfinite(seed_map(fitted, outside, nearest=True).at).all()
    with pytest.raises(ImageError, match="three coordinates"):
        seed_map(fitted, (1, np.nan, 2))


def blocks():
    """An atlas of eight corners, numbered 10 to 80."""
    i, j, k = (index >= size // 2 for index, size in zip(np.indices(SHAPE), SHAPE, strict=True))
    return (10 * (1 + i + 2 * j + 4 * k)).astype(float)


def test_network_is_the_correlation_of_region_means(fitted):
    found = coactivation_network(fitted, blocks(), threshold=0.5)
    codes = blocks()[fitted.mask_]
    member = (codes[None] == np.unique(codes)[:, None]).astype(float)
    member /= member.sum(axis=1, keepdims=True)
    X = fitted.coordinates_
    joint = member @ fitted.model_.covariance(X, X, term="manifold") @ member.T
    scale = np.sqrt(np.diag(joint))
    np.testing.assert_allclose(found.correlation, joint / np.outer(scale, scale), atol=1e-8)
    np.testing.assert_allclose(found.coordinates, member @ X)
    assert found.labels == [str(10 * k) for k in range(1, 9)]
    expected = {(i, j) for i in range(8) for j in range(i + 1, 8) if found.correlation[i, j] > 0.5}
    assert {(i, j) for i, j, _ in found.edges} == expected


def test_graphml_can_be_read_back(fitted, tmp_path):
    found = coactivation_network(fitted, blocks(), threshold=0.0)
    write_graphml(tmp_path / "net.graphml", found)
    space = "{http://graphml.graphdrawing.org/xmlns}"
    root = ElementTree.parse(tmp_path / "net.graphml").getroot()
    assert len(root.findall(f".//{space}node")) == 8
    assert len(root.findall(f".//{space}edge")) == len(found.edges)


NUMBERED = [f"{10 * k},{name}" for k, name in enumerate("ABCDEFGH", start=1)]


@pytest.mark.parametrize(
    "lines",
    [NUMBERED, ["index,name", *NUMBERED], [line.replace(",", " ") for line in NUMBERED], list("ABCDEFGH")],
)
def test_labels(fitted, tmp_path, lines):
    (tmp_path / "labels.txt").write_text("\n".join(lines) + "\n")
    assert coactivation_network(fitted, blocks(), tmp_path / "labels.txt").labels == list("ABCDEFGH")


def test_atlas_and_labels_that_do_not_fit(fitted, tmp_path):
    (tmp_path / "few.txt").write_text("A\nB\n")
    with pytest.raises(ImageError, match="2 lines, but the atlas has 8 regions"):
        coactivation_network(fitted, blocks(), tmp_path / "few.txt")
    (tmp_path / "gap.txt").write_text("10 A\n20 B\n")
    with pytest.raises(ImageError, match=r"no name for atlas region\(s\) \[30"):
        coactivation_network(fitted, blocks(), tmp_path / "gap.txt")
    with pytest.raises(ImageError, match="integers"):
        coactivation_network(fitted, blocks() + 0.5)
    with pytest.raises(ImageError, match="a network needs two"):
        coactivation_network(fitted, np.ones(SHAPE))
    with pytest.raises(ImageError, match="different grids"):
        coactivation_network(fitted, nib.Nifti1Image(blocks(), np.eye(4)))


def test_groups(tmp_path):
    table = tmp_path / "covariates.csv"
    table.write_text("subject,age,sex\na.nii.gz,20,F\nb,30,M\n")
    assert read_groups(table, "sex", ["a", "b"]) == {"a": "sex=F", "b": "sex=M"}
    with pytest.raises(ImageError, match="--group-by: age, sex"):
        read_groups(table, None, ["a", "b"])
    with pytest.raises(ImageError, match="no line for c"):
        read_groups(table, "age", ["a", "c"])
    rows = "".join(f"s{i},{i}\n" for i in range(9))
    table.write_text("subject,age\n" + rows)
    groups = read_groups(table, None, [f"s{i}" for i in range(9)])
    assert list(groups.values()) == ["age ≤ 4"] * 5 + ["age > 4"] * 4
