"""The idx reader on files made here, and the whole MNIST where it is at hand."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets

from conftest import MNIST_FILES, as_idx, save_mnist
from flgp.datasets import load_mnist, mnist_pca, read_idx


@pytest.fixture
def digits(tmp_path):
    """A directory of eight "digits": six to train, two to test, half of the files zipped."""
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (8, 28, 28)), np.arange(8)
    save_mnist(tmp_path, images, labels, 6)
    return tmp_path, images, labels


def find_mnist():
    given = os.environ.get("FLGP_MNIST_DIR")
    beside = Path(__file__).parents[2].parent / "shared" / "data" / "mnist"
    directory = Path(given) if given else beside
    if not directory.is_dir():
        pytest.skip("MNIST is not at hand: set FLGP_MNIST_DIR to a directory with its four idx files")
    return directory


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("zipped", [False, True])
def test_idx_round_trip(tmp_path, shape, zipped):
    array = np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)
    path = tmp_path / "some-idx"
    path.write_bytes(gzip.compress(as_idx(array)) if zipped else as_idx(array))
    np.testing.assert_array_equal(read_idx(path), array)


GOOD = as_idx(np.arange(6).reshape(2, 3))
# Without the time of day, which would name the tests differently in each process.
PACKED = gzip.compress(GOOD, mtime=0)


@pytest.mark.parametrize(
    ("content", "how"),
    [
        (b"", "does not start"),
        (b"<html>not found</html>", "does not start"),
        (GOOD[:3], "does not start"),
        (GOOD[:7], "within its header"),
        (GOOD[:-1], "holds 5 values"),
        (GOOD + b"x", "holds 7 values"),
        (as_idx([1, 2], kind=0x0D), "type 0x0d"),
        (bytes([0, 0, 8, 0]), "0 axes"),
        (PACKED[: len(PACKED) // 2], "cannot be unpacked"),
        (PACKED[:-8] + bytes(8), "cannot be unpacked"),
        (PACKED[:10] + b"\xff" * 20, "cannot be unpacked"),
    ],
)
def test_damaged_files_are_named(tmp_path, content, how):
    path = tmp_path / "bad-idx.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=how) as caught:
        read_idx(path)
    assert str(path) in str(caught.value)


def test_load_from_argument_and_variable(digits, monkeypatch):
    directory, images, labels = digits
    monkeypatch.delenv("FLGP_MNIST_DIR", raising=False)
    mnist = load_mnist(directory)
    np.testing.assert_array_equal(mnist.images, images)
    np.testing.assert_array_equal(mnist.y, labels)
    monkeypatch.setenv("FLGP_MNIST_DIR", str(directory))
    np.testing.assert_array_equal(load_mnist().y, labels)


def test_names_with_a_dot(digits):
    directory, _, labels = digits
    (directory / MNIST_FILES[0]).rename(directory / "train-images.idx3-ubyte")
    (directory / f"{MNIST_FILES[1]}.gz").rename(directory / "train-labels.idx1-ubyte.gz")
    np.testing.assert_array_equal(load_mnist(directory).y, labels)


def test_missing_files_say_where_and_how(digits):
    directory, _, _ = digits
    (directory / MNIST_FILES[2]).unlink()
    with pytest.raises(FileNotFoundError) as caught:
        load_mnist(directory)
    message = str(caught.value)
    assert MNIST_FILES[2] in message
    assert MNIST_FILES[0] not in message
    assert str(directory) in message
    assert "FLGP_MNIST_DIR" in message
    assert "OpenML" in message
    with pytest.raises(FileNotFoundError, match=MNIST_FILES[0]):
        load_mnist(directory / "no such place")


def test_files_that_are_not_mnist_are_named(digits):
    directory, images, _ = digits
    path = directory / f"{MNIST_FILES[1]}.gz"
    for labels, how in [(np.arange(5), "6 images, but"), (np.full(6, 10), "digits 0 to 9")]:
        path.write_bytes(as_idx(labels))
        with pytest.raises(ValueError, match=how) as caught:
            load_mnist(directory)
        assert str(path) in str(caught.value)
    (directory / MNIST_FILES[0]).write_bytes(as_idx(images[:6, :20]))
    with pytest.raises(ValueError, match="shape") as caught:
        load_mnist(directory)
    assert MNIST_FILES[0] in str(caught.value)


def test_openml_is_the_last_resort(digits, monkeypatch):
    _, images, labels = digits
    monkeypatch.delenv("FLGP_MNIST_DIR", raising=False)
    asked = []

    def fetch(name, **options):
        asked.append(name)
        return sklearn.utils.Bunch(
            data=images.reshape(8, 784).astype(np.int64), target=labels.astype(str).astype(object)
        )

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    mnist = load_mnist()
    assert asked == ["mnist_784"]
    np.testing.assert_array_equal(mnist.images, images)
    np.testing.assert_array_equal(mnist.y, labels)

    def offline(name, **options):
        raise ConnectionError("no network here")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)
    with pytest.raises(FileNotFoundError, match=r"no network here.*train-images-idx3-ubyte"):
        load_mnist()


def test_pca_of_subsets_and_multiples(digits, tmp_path):
    directory, images, labels = digits
    whole = mnist_pca(3, data_dir=directory)
    assert whole.X.shape == (8, 3)
    pixels = images.reshape(8, -1) / 255
    centred = pixels - pixels.mean(axis=0)
    singular = np.linalg.svd(centred, compute_uv=False)[:3]
    np.testing.assert_allclose(np.linalg.norm(whole.X, axis=0), singular, rtol=1e-5)

    part = mnist_pca(3, 5, data_dir=directory, random_state=1)
    np.testing.assert_array_equal(part.X, whole.X[part.y])  # here the label is the row
    assert len(set(part.y)) == 5
    np.testing.assert_array_equal(part.y, mnist_pca(3, 5, data_dir=directory, random_state=1).y)

    large = mnist_pca(3, 24, data_dir=directory, cache_dir=tmp_path / "cache")
    assert large.X.shape == (24, 3)
    np.testing.assert_array_equal(large.y, np.tile(labels, 3))
    for n in (0, 9, -8):
        with pytest.raises(ValueError, match="multiple"):
            mnist_pca(3, n, data_dir=directory)


def test_mnist_itself():
    directory = find_mnist()
    mnist = load_mnist(directory)
    assert mnist.images.shape == (70_000, 28, 28)
    np.testing.assert_array_equal(
        np.bincount(mnist.y), [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]
    )
    features = mnist_pca(data_dir=directory, n=7000)
    assert features.X.shape == (7000, 100)
    assert features.X.dtype == np.float32
    # The hundred components keep about 91.5 % of the variance of MNIST's pixels.
    kept = mnist_pca(data_dir=directory).X.var(axis=0).sum()
    total = sum((mnist.images[:, row] / np.float32(255)).var(axis=0).sum() for row in range(28))
    assert kept / total == pytest.approx(0.915, abs=0.003)
