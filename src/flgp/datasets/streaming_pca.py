"""Principal components of data in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from .._threads import single_threaded_blas
from .._typing import Array


@dataclass(frozen=True)
class Pca:
    """A centred projection."""

    mean: Array  # (p,)
    components: Array  # (p, n_components), orthonormal columns, largest variance first

    def transform(self, block: Array) -> Array:
        """Components of (b, p) rows, shape (b, n_components), float32."""
        return np.asarray((block - self.mean) @ self.components, dtype=np.float32)


def fit_pca(blocks: Callable[[], Iterable[Array]], n_components: int) -> Pca:
    """Fit principal components in one pass over float32 blocks (b, p); each call of `blocks` starts anew.

    The largest loading of each component is positive, so that the signs are reproducible.
    """
    count, shift, total, scatter = 0, None, np.zeros(0), np.zeros((0, 0))
    for block in blocks():
        if shift is None:
            # Centre at the mean of the first block, so that a large mean does not cost float32 accuracy.
            shift = block.mean(axis=0)
            total, scatter = np.zeros(len(shift)), np.zeros((len(shift), len(shift)))
        centred = block - shift
        count += len(block)
        total += centred.sum(axis=0, dtype=np.float64)
        scatter += centred.T @ centred  # products of blocks in float32, their sum in float64
    if shift is None or not 1 <= n_components <= len(shift):
        width = 0 if shift is None else len(shift)
        raise ValueError(
            f"n_components={n_components} must be between 1 and the {width} columns of the data."
        )
    offset = total / count
    with single_threaded_blas():  # for a few hundred columns more threads are slower
        _, vectors = np.linalg.eigh(scatter / count - np.outer(offset, offset))
    components = vectors[:, ::-1][:, :n_components]
    largest = np.abs(components).argmax(axis=0)
    components = components * np.sign(components[largest, np.arange(n_components)])
    return Pca((shift + offset).astype(np.float32), np.ascontiguousarray(components, dtype=np.float32))
