"""MNIST: the digits, and their principal components for 7,000 to 700,000 points."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .._typing import Array, IntArray
from .augmentation import augmented_features
from .idx import read_idx
from .streaming_pca import fit_pca

MNIST_VARIABLE = "FLGP_MNIST_DIR"
_FILES = {
    "train images": "train-images-idx3-ubyte",
    "train labels": "train-labels-idx1-ubyte",
    "test images": "t10k-images-idx3-ubyte",
    "test labels": "t10k-labels-idx1-ubyte",
}
_BLOCK = 10_000


@dataclass(frozen=True)
class Mnist:
    """The digits; the 60,000 of the training files come first."""

    images: npt.NDArray[np.uint8]  # (n, 28, 28)
    y: IntArray  # (n,) 0 to 9


@dataclass(frozen=True)
class MnistFeatures:
    """Principal components of the digits."""

    X: Array  # (n, n_components) float32; memory-mapped, read only, for more points than images
    y: IntArray  # (n,) 0 to 9


def load_mnist(data_dir: str | Path | None = None) -> Mnist:
    """Load all 70,000 digits.

    Parameters
    ----------
    data_dir : str or Path, optional
        Directory with the four canonical idx files, each with or without ``.gz``. Default: the environment
        variable ``FLGP_MNIST_DIR``; if that is not set either, scikit-learn's ``fetch_openml("mnist_784")``,
        which downloads once and keeps a copy.

    Returns
    -------
    Mnist

    Raises
    ------
    FileNotFoundError
        If the files are missing or OpenML cannot be reached; says where it looked and what to do.
    ValueError
        If a file is damaged; names it.
    """
    data_dir = data_dir if data_dir is not None else os.environ.get(MNIST_VARIABLE) or None
    return _from_openml() if data_dir is None else _from_directory(Path(data_dir))


def mnist_pca(
    n_components: int = 100,
    n: int | None = None,
    *,
    data_dir: str | Path | None = None,
    cache_dir: str | Path | None = None,
    random_state: int = 0,
) -> MnistFeatures:
    """Principal components of the digits, as in the paper's experiments.

    Parameters
    ----------
    n_components : int
        Components kept (100 in the paper).
    n : int, optional
        Number of points. Default: all images. Fewer: a random subset of them. A multiple k of the number of
        images: each image and k - 1 random crops of it (700,000: nine), by `augmented_features`.
    data_dir : str or Path, optional
        See `load_mnist`.
    cache_dir : str or Path, optional
        Where the features of augmented data are kept; see `augmented_features`.
    random_state : int
        Seed of the subset or of the crops.

    Returns
    -------
    MnistFeatures
        For augmented data row c·70,000 + i is crop c of image i, crop 0 the image itself.

    Notes
    -----
    Pixels are divided by 255 and centred. As in the paper's scripts, the components are fitted to the whole
    data set (all images, or all images and all crops) without labels; a subset is taken afterwards.
    """
    mnist = load_mnist(data_dir)
    total = len(mnist.y)
    n = total if n is None else n
    if n < 1 or (n > total and n % total):
        raise ValueError(f"n={n} must be at most {total}, the number of images, or a multiple of it.")
    if n > total:
        X = augmented_features(
            mnist.images,
            n_components=n_components,
            n_crops=n // total - 1,
            random_state=random_state,
            cache_dir=cache_dir,
        )
        return MnistFeatures(X, np.tile(mnist.y, n // total))

    def blocks() -> Iterator[Array]:
        starts = range(0, total, _BLOCK)
        return (mnist.images[i : i + _BLOCK].reshape(-1, 784) / np.float32(255) for i in starts)

    pca = fit_pca(blocks, n_components)
    X = np.concatenate([pca.transform(block) for block in blocks()])
    if n == total:
        return MnistFeatures(X, mnist.y)
    rows = np.random.default_rng(random_state).choice(total, size=n, replace=False)
    return MnistFeatures(X[rows], mnist.y[rows])


def _from_directory(directory: Path) -> Mnist:
    paths = {part: _find(directory, name) for part, name in _FILES.items()}
    missing = [_FILES[part] for part, path in paths.items() if path is None]
    if missing:
        raise FileNotFoundError(
            f"No {', '.join(missing)} (with or without .gz) in {directory.absolute()}. Put the four "
            f"MNIST files there, set data_dir (--data-dir) or the environment variable {MNIST_VARIABLE} to "
            "their directory, or set neither to fetch mnist_784 from OpenML."
        )
    found = {part: path for part, path in paths.items() if path is not None}
    halves = [_read_half(found[f"{half} images"], found[f"{half} labels"]) for half in ("train", "test")]
    images, labels = (np.concatenate(arrays) for arrays in zip(*halves, strict=True))
    return Mnist(images, labels.astype(np.int64))


def _find(directory: Path, name: str) -> Path | None:
    # Some mirrors use a dot instead of the hyphen before "idx".
    names = (name, f"{name}.gz", name.replace("-idx", ".idx"), f"{name.replace('-idx', '.idx')}.gz")
    return next((directory / each for each in names if (directory / each).is_file()), None)


def _read_half(images_path: Path, labels_path: Path) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    images, labels = read_idx(images_path), read_idx(labels_path)
    if images.ndim != 3 or images.shape[1:] != (28, 28):
        raise ValueError(f"{images_path} is not MNIST: its shape is {images.shape}, not (n, 28, 28).")
    if labels.ndim != 1 or (labels > 9).any():
        raise ValueError(f"{labels_path} is not MNIST: it must be one column of digits 0 to 9.")
    if len(images) != len(labels):
        raise ValueError(
            f"{images_path} has {len(images)} images, but {labels_path} has {len(labels)} labels."
        )
    return images, labels


def _from_openml() -> Mnist:
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml("mnist_784", version=1, as_frame=False, parser="liac-arff")
    except (OSError, ValueError) as error:  # network and HTTP errors; those of OpenML are ValueErrors
        raise FileNotFoundError(
            f"MNIST could not be fetched from OpenML ({error}). Set data_dir (--data-dir) or the environment "
            f"variable {MNIST_VARIABLE} to a directory with the four idx files "
            f"{', '.join(_FILES.values())} (with or without .gz)."
        ) from error
    return Mnist(bunch.data.astype(np.uint8).reshape(-1, 28, 28), bunch.target.astype(np.int64))
