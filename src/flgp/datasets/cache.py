"""Large computed arrays, kept on disk and memory-mapped."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from .._files import replacing
from .._typing import Array

CACHE_VARIABLE = "FLGP_CACHE_DIR"
_LOG = logging.getLogger(__name__)


def cache_directory(cache_dir: str | Path | None = None) -> Path:
    """The given directory, else the environment variable ``FLGP_CACHE_DIR``, else the user's cache."""
    chosen = cache_dir if cache_dir is not None else os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "flgp"
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    return Path(os.environ.get(variable) or Path.home() / ".cache") / "flgp"


def cached_rows(
    name: str,
    make: Callable[[], Iterable[Array]],
    shape: tuple[int, int],
    cache_dir: str | Path | None = None,
) -> Array:
    """Memory-map the float32 array ``name.npy``; make it first if it is missing or incomplete.

    The name must determine the content. `make` returns the blocks of rows in order, `shape` is that of the
    whole array.
    """
    path = cache_directory(cache_dir) / f"{name}.npy"
    ready = _open(path, shape)
    if ready is not None:
        return ready
    _LOG.info("making %s", path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        n_rows = 0
        for block in make():
            n_rows += len(block)
            file.write(np.ascontiguousarray(block, dtype="<f4").tobytes())
        if n_rows != shape[0]:
            raise ValueError(f"{name} has {n_rows} rows instead of {shape[0]}.")
    made = _open(path, shape)
    if made is None:
        raise OSError(f"{path} was written but cannot be read back. Is the disk full or shared?")
    return made


def _open(path: Path, shape: tuple[int, int]) -> Array | None:
    """The array, or None if the file is missing or not as expected."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return array if array.shape == shape and array.dtype == np.float32 else None
