"""Random crops, their principal components, and the cache."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from flgp.datasets import augmented_features, crop_and_resize, crop_boxes
from flgp.datasets.cache import cache_directory, cached_rows
from flgp.datasets.streaming_pca import fit_pca


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (40, 12, 12)).astype(np.uint8)


def test_boxes_fit_and_have_the_stated_area():
    boxes = crop_boxes(5000, random_state=0)
    top, left, height, width = boxes.T
    assert (boxes >= 0).all()
    assert (top + height <= 28).all()
    assert (left + width <= 28).all()
    share = height * width / 784
    # Whole pixels move the area by at most half a row and half a column.
    assert share.min() > 0.8 - 28 / 784
    assert share.max() <= 1
    assert 0.85 < share.mean() < 0.95
    assert np.abs(np.log(width / height)).max() > 0.15
    squares = crop_boxes(500, aspect_ratio=(1, 1), random_state=0)
    np.testing.assert_array_equal(squares[:, 2], squares[:, 3])
    np.testing.assert_array_equal(boxes, crop_boxes(5000, random_state=0))


@pytest.mark.parametrize("scale", [(0, 1), (0.9, 0.8), (0.5, 1.1)])
def test_bad_scale(scale):
    with pytest.raises(ValueError, match="scale"):
        crop_boxes(3, scale=scale)


def test_bad_aspect_ratio():
    with pytest.raises(ValueError, match="aspect_ratio"):
        crop_boxes(3, aspect_ratio=(2, 3))


def test_the_whole_image_is_unchanged(images):
    whole = np.tile([0, 0, 12, 12], (40, 1))
    np.testing.assert_allclose(crop_and_resize(images, whole), images / 255, atol=1e-6)


def test_resize_against_pixel_by_pixel_interpolation(images):
    boxes = crop_boxes(40, size=12, scale=(0.4, 1.0), random_state=1)
    result = crop_and_resize(images, boxes)
    for image, (top, left, height, width), got in zip(images[:5], boxes[:5], result[:5], strict=True):
        crop = image[top : top + height, left : left + width] / 255
        rows = np.clip((np.arange(12) + 0.5) * height / 12 - 0.5, 0, height - 1)
        columns = np.clip((np.arange(12) + 0.5) * width / 12 - 0.5, 0, width - 1)
        down = np.array([np.interp(rows, np.arange(height), column) for column in crop.T]).T
        expected = np.array([np.interp(columns, np.arange(width), row) for row in down])
        np.testing.assert_allclose(got, expected, atol=1e-5)


def test_streaming_pca_agrees_with_scikit_learn():
    X = np.random.default_rng(2).normal(size=(300, 9)) * np.arange(1, 10) + 100
    X = X.astype(np.float32)
    pca = fit_pca(lambda: np.array_split(X, 7), 4)
    reference = PCA(4, svd_solver="full").fit(X.astype(float))
    expected = reference.transform(X.astype(float))
    got = pca.transform(X)
    sign = np.sign((got * expected).sum(axis=0))
    np.testing.assert_allclose(got * sign, expected, atol=2e-3)
    largest = pca.components[np.abs(pca.components).argmax(axis=0), np.arange(4)]
    assert (largest > 0).all()
    for n_components in (0, 10):
        with pytest.raises(ValueError, match="n_components"):
            fit_pca(lambda: [X], n_components)


def test_features_are_those_of_all_crops(images, tmp_path):
    X = augmented_features(images, n_components=5, n_crops=2, random_state=3, cache_dir=tmp_path)
    assert isinstance(X, np.memmap)
    assert X.shape == (120, 5)
    assert X.dtype == np.float32
    assert not X.flags.writeable
    boxes = crop_boxes(80, size=12, random_state=3)
    pixels = np.concatenate(
        [images / 255, crop_and_resize(images, boxes[:40]), crop_and_resize(images, boxes[40:])]
    ).reshape(120, -1)
    expected = PCA(5, svd_solver="full").fit_transform(pixels)
    sign = np.sign((X * expected).sum(axis=0))
    np.testing.assert_allclose(X * sign, expected, atol=1e-3)


def test_cache_is_used_and_keyed(images, tmp_path):
    def make(**changed):
        options = {"n_components": 5, "n_crops": 2, "random_state": 3, "cache_dir": tmp_path, **changed}
        return np.array(augmented_features(images, **options))

    first = make()
    (file,) = tmp_path.iterdir()
    written = file.stat().st_mtime_ns
    np.testing.assert_array_equal(make(), first)
    assert file.stat().st_mtime_ns == written
    assert not np.array_equal(make(random_state=4), first)
    make(n_components=4)
    make(scale=(0.5, 1.0))
    assert len(list(tmp_path.iterdir())) == 4
    # A file cut short is made again.
    file.write_bytes(file.read_bytes()[:-10])
    np.testing.assert_array_equal(make(), first)


def test_augmentation_refuses_what_it_cannot_do(images, tmp_path):
    with pytest.raises(ValueError, match="n_crops"):
        augmented_features(images, n_crops=0, cache_dir=tmp_path)
    with pytest.raises(ValueError, match="integer"):
        augmented_features(images, random_state=np.random.default_rng(0), cache_dir=tmp_path)


def test_an_interrupted_run_leaves_nothing(tmp_path):
    def broken():
        yield np.zeros((3, 2), dtype=np.float32)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_rows("rows", broken, (6, 2), tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="3 rows instead of 6"):
        cached_rows("rows", lambda: [np.zeros((3, 2))], (6, 2), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_cache_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("FLGP_CACHE_DIR", str(tmp_path / "variable"))
    assert cache_directory(tmp_path) == tmp_path
    assert cache_directory() == tmp_path / "variable"
    monkeypatch.delenv("FLGP_CACHE_DIR")
    for platform, variable in [("linux", "XDG_CACHE_HOME"), ("win32", "LOCALAPPDATA")]:
        monkeypatch.setattr("sys.platform", platform)
        monkeypatch.setenv(variable, str(tmp_path / platform))
        assert cache_directory() == tmp_path / platform / "flgp"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_directory().parts[-2:] == ("Caches", "flgp")
