"""Random crops of images, streamed to principal components that are kept on disk."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from math import log
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .._typing import Array, IntArray
from .cache import cached_rows
from .streaming_pca import fit_pca

_LOG = logging.getLogger(__name__)
_BLOCK = 5_000  # images; a block and its interpolation weights take 50 MB


def crop_boxes(
    n: int,
    *,
    size: int = 28,
    scale: tuple[float, float] = (0.8, 1.0),
    aspect_ratio: tuple[float, float] = (3 / 4, 4 / 3),
    random_state: int | np.random.Generator = 0,
) -> IntArray:
    """Draw random crops of a square image.

    Parameters
    ----------
    n : int
        Number of crops.
    size : int
        Side of the image in pixels.
    scale : tuple of float
        Range of the fraction of the image area in the crop, uniform.
    aspect_ratio : tuple of float
        Range of width / height, log-uniform; (1, 1): squares. Crops that do not fit are drawn again.
    random_state : int or Generator
        Seed.

    Returns
    -------
    ndarray of int, shape (n, 4)
        Top, left, height and width in whole pixels.
    """
    if not 0 < scale[0] <= scale[1] <= 1:
        raise ValueError(f"scale={scale} must be an increasing pair within (0, 1].")
    if not 0 < aspect_ratio[0] <= 1 <= aspect_ratio[1]:
        raise ValueError(f"aspect_ratio={aspect_ratio} must be a range of positive numbers that contains 1.")
    rng = np.random.default_rng(random_state)
    sides = np.zeros((n, 2), dtype=np.int64)
    todo = np.arange(n)
    while len(todo):
        area = size**2 * rng.uniform(*scale, size=len(todo))
        ratio = np.exp(rng.uniform(log(aspect_ratio[0]), log(aspect_ratio[1]), size=len(todo)))
        sides[todo] = np.rint(np.sqrt(np.column_stack([area / ratio, area * ratio])))
        todo = todo[(sides[todo] > size).any(axis=1) | (sides[todo] < 1).any(axis=1)]
    return np.column_stack([rng.integers(0, size - sides + 1), sides])


def crop_and_resize(images: npt.NDArray[np.uint8], boxes: IntArray) -> Array:
    """Crop each image to its box and resize it to the original size, bilinearly.

    Parameters
    ----------
    images : ndarray of uint8, shape (b, size, size)
        Images.
    boxes : ndarray of int, shape (b, 4)
        See `crop_boxes`.

    Returns
    -------
    ndarray of float32, shape (b, size, size)
        Pixels between 0 and 1.
    """
    size = images.shape[1]
    down = _interpolation(boxes[:, 0], boxes[:, 2], size)
    across = _interpolation(boxes[:, 1], boxes[:, 3], size)
    pixels = images * np.float32(1 / 255)
    return np.asarray(down @ pixels @ across.transpose(0, 2, 1))


def augmented_features(
    images: npt.NDArray[np.uint8],
    *,
    n_components: int = 100,
    n_crops: int = 9,
    scale: tuple[float, float] = (0.8, 1.0),
    aspect_ratio: tuple[float, float] = (3 / 4, 4 / 3),
    random_state: int = 0,
    cache_dir: str | Path | None = None,
) -> Array:
    """Principal components of images and random crops of them, computed once and cached.

    Parameters
    ----------
    images : ndarray of uint8, shape (n, size, size)
        Images.
    n_components : int
        Components kept.
    n_crops : int
        Crops per image, in addition to the image itself.
    scale, aspect_ratio : tuple of float
        See `crop_boxes`.
    random_state : int
        Seed of the crops.
    cache_dir : str or Path, optional
        Default: the environment variable ``FLGP_CACHE_DIR``, else the user's cache directory.

    Returns
    -------
    ndarray of float32, shape (n·(n_crops + 1), n_components)
        Memory-mapped and read only. Row c·n + i is crop c of image i, crop 0 the image itself.

    Notes
    -----
    The components are fitted to all rows, crops included. The crops are made again in each of two passes, so
    that only one block is in memory at a time.
    """
    if n_crops < 1:
        raise ValueError(f"n_crops={n_crops} must be at least 1.")
    if not isinstance(random_state, int | np.integer):
        raise ValueError("random_state must be an integer: it names the file in the cache.")
    n, size = len(images), images.shape[1]
    boxes = crop_boxes(
        n * n_crops, size=size, scale=scale, aspect_ratio=aspect_ratio, random_state=int(random_state)
    ).reshape(n_crops, n, 4)

    def blocks() -> Iterator[Array]:
        whole = np.tile([0, 0, size, size], (n, 1))
        for copy, where in enumerate([whole, *boxes]):
            _LOG.info("augmentation: copy %d of %d", copy, n_crops)
            for i in range(0, n, _BLOCK):
                rows = slice(i, i + _BLOCK)
                yield crop_and_resize(images[rows], where[rows]).reshape(-1, size**2)

    def features() -> Iterator[Array]:
        pca = fit_pca(blocks, n_components)
        return (pca.transform(block) for block in blocks())

    # The name depends on all that determines the numbers: images, boxes (hence the seed) and components.
    digest = hashlib.sha256(images.tobytes())
    digest.update(repr((images.shape, n_components)).encode())
    digest.update(boxes.tobytes())
    shape = (n * (n_crops + 1), n_components)
    return cached_rows(f"augmented-{digest.hexdigest()[:20]}", features, shape, cache_dir)


def _interpolation(start: IntArray, length: IntArray, size: int) -> Array:
    """Bilinear weights (b, size, size) from `length` pixels at `start` to `size` pixels."""
    pixel = np.arange(size, dtype=np.float32)
    stretch = (length / size).astype(np.float32)[:, None]
    source = (pixel + 0.5) * stretch - 0.5
    # Beyond the outermost pixel centres the edge is repeated, as if the image were cropped first.
    source = np.clip(source, 0, length[:, None] - 1).astype(np.float32) + start[:, None].astype(np.float32)
    return np.maximum(1 - np.abs(source[:, :, None] - pixel), 0)
