"""Rows that are not in memory: files and clusters, read in blocks and checked as they are read."""

from __future__ import annotations

import threading
import zlib
from functools import partial
from importlib import import_module
from mmap import ALLOCATIONGRANULARITY
from typing import Any

import numpy as np

from .._typing import Array, RowLike
from .blocks import BLOCK_ROWS, StackedRows

# Attributes that mark data in memory: NumPy, pandas, polars, SciPy and torch objects have one of them.
_IN_MEMORY = ("__array_interface__", "__dlpack__", "__dataframe__", "iloc", "toarray")


def as_source(X: Any) -> Any:
    """`X` as rows to be read in blocks, or None if it is in memory (or not a table)."""
    package = type(X).__module__.partition(".")[0]
    if isinstance(X, StreamedRows):
        return X
    if package in ("dask", "dask_expr"):
        # Checked by name: Dask is optional, and is already imported if X is a Dask object.
        return import_module("flgp.rows.dask").dask_rows(X)
    if package == "pyarrow":
        return StreamedRows(import_module("flgp.rows.arrow").ArrowTable(X))
    if isinstance(X, np.memmap) and getattr(X, "_mmap", None) is not None:
        return StreamedRows(X)
    if isinstance(X, np.ndarray) or any(hasattr(X, name) for name in _IN_MEMORY):
        return None
    if all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__")):
        return StreamedRows(X)
    return None


def is_streamed(X: RowLike) -> bool:
    """Whether rows are read from a file on demand."""
    return getattr(X, "streamed", False)


def is_distributed(X: RowLike) -> bool:
    """Whether rows are on a cluster; results computed from them then stay there too."""
    return getattr(X, "distributed", False)


def in_memory(X: RowLike) -> bool:
    """Whether rows are neither in a file nor on a cluster."""
    return not is_streamed(X) and not is_distributed(X)


def stack_rows(top: RowLike, bottom: RowLike) -> RowLike:
    """All rows of both, without a copy; on the cluster if either is there."""
    for part in (top, bottom):
        if hasattr(part, "stacked"):
            return part.stacked(top, bottom)
    return StackedRows(top, bottom)


def local_labels(y: Any, unlabeled: Any) -> Any:
    """`y` in a form that NumPy can read; from a cluster only the labelled entries are transferred."""
    if type(y).__module__.partition(".")[0] in ("dask", "dask_expr"):
        return import_module("flgp.rows.dask").gather_labels(y, unlabeled)
    return y


class StreamedRows:
    """Anything with a shape (n, p), a dtype, and slices by rows, one block in memory at a time.

    Every block is checked each time it is read: it must have the requested number of rows, be numeric and
    finite, and be the same as on earlier reads. So the checks need no extra pass, and errors name the rows.
    """

    streamed = True

    def __init__(self, data: Any) -> None:
        shape = tuple(int(size) for size in data.shape)
        if len(shape) != 2:
            raise ValueError(f"Expected 2D array, got {len(shape)}D array instead: X has shape {shape}.")
        if 0 in shape:
            raise ValueError(f"X has shape {shape}, but at least one row and one column are needed.")
        self.shape = shape
        self.dtype = working_dtype(data.dtype)
        # An empty table with the column names, where there are any.
        self.like = getattr(data, "like", np.empty((0, shape[1])))
        self._data = data
        self._read = _reader(data)
        self._seen: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)

    def __getitem__(self, rows: Any) -> Array:
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            return self._block(start, stop)[::step]
        rows = np.asarray(rows)
        return self._take(np.flatnonzero(rows) if rows.dtype == bool else rows)

    def _block(self, start: int, stop: int) -> Array:
        where = f"rows {start:,} to {stop - 1:,} of X"
        block = np.asarray(self._read(start, stop))
        if block.shape != (stop - start, self.shape[1]):
            raise ValueError(
                f"{where} have shape {block.shape} instead of {(stop - start, self.shape[1])}: the file "
                "is truncated, or changed while it was read."
            )
        mark = fingerprint(block)
        if self._seen.setdefault((start, stop), mark) != mark:
            raise ValueError(f"{where} changed between two passes. Do not write to X while it is in use.")
        return checked_block(block, self.dtype, where, start)

    def _take(self, rows: Any) -> Array:
        """The given rows, in that order, read in one forward pass over the blocks that hold them."""
        if isinstance(self._data, np.memmap):
            self._read(0, 0)  # check that the file is still complete
            return checked_block(np.asarray(self._data[rows]), self.dtype, "the rows drawn from X", None)
        result = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        block = rows // _TAKE_ROWS
        for number in np.unique(block):
            start = int(number) * _TAKE_ROWS
            chosen = block == number
            result[chosen] = self._block(start, min(start + _TAKE_ROWS, len(self)))[rows[chosen] - start]
        return result


# New points may be 1e9 times as far away as the fitted ones, and squared distances are multiplied.
LARGEST = 1e70
# Means of clusters are sums of many rows in the rows' own precision.
_LARGEST_SINGLE = 1e30
# Rows read at once when selecting some of them.
_TAKE_ROWS = 262_144


def working_dtype(dtype: Any) -> np.dtype[Any]:
    """The precision that rows of this type are used in."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "biuf":
        raise ValueError(f"X has dtype {dtype}, but must be numeric. Convert or drop those columns.")
    return dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)


def fingerprint(block: Array) -> int:
    """A number that changes when the block does; cheap compared with using the block."""
    return zlib.crc32(np.ascontiguousarray(block).view(np.uint8).data) if block.size else 0


def checked_block(block: Array, dtype: Any, where: str, start: int | None) -> Array:
    """The block as `dtype`; raises a ValueError that says where it is not finite."""
    block = block.astype(dtype, copy=False)
    if not _largest(block) <= LARGEST:
        bad = ~np.isfinite(block).all(axis=1)
        if bad.any():
            first = "" if start is None else f" (first in row {start + int(bad.argmax()):,})"
            raise ValueError(f"{where}: Input X contains NaN or infinity{first}. Remove or fill those rows.")
        refuse_overflow(block, where)
    return block


def refuse_overflow(values: Array, name: str = "X") -> None:
    """Raise a ValueError for coordinates whose squared distances would overflow."""
    largest = _largest(values)
    if largest > (_LARGEST_SINGLE if values.dtype == np.float32 else LARGEST):
        raise ValueError(
            f"{name} has values up to {largest:.1e}, too large for squared distances in {values.dtype}. "
            "Scale the columns, for example with sklearn.preprocessing.StandardScaler."
        )


def _largest(values: Array) -> float:
    """The largest absolute value; NaN if any value is NaN."""
    return float(max(values.max(), -values.min())) if values.size else 0.0


def _reader(data: Any) -> Any:
    if isinstance(data, np.memmap):
        return _MemmapReader(data)
    bounds = getattr(data, "bounds", None)  # row groups
    chunks = getattr(data, "chunks", None)  # HDF5 and Zarr
    if bounds is None and isinstance(chunks, tuple) and isinstance(chunks[0], int):
        bounds = np.append(np.arange(0, data.shape[0], chunks[0]), data.shape[0])
    if bounds is None:
        return partial(_sliced, data)
    merged = [0]
    for bound in bounds[1:]:  # many small chunks are read together
        if bound - merged[-1] >= BLOCK_ROWS or bound == bounds[-1]:
            merged.append(int(bound))
    return _ChunkReader(data, np.array(merged))


def _sliced(data: Any, start: int, stop: int) -> Any:
    return data[start:stop]


class _MemmapReader:
    """Slices of a mapped file, after a check that the file is still as long as when it was mapped.

    Touching a page beyond the end of a truncated file kills the process.
    """

    def __init__(self, data: np.memmap[Any, Any]) -> None:
        self.data = data
        self.mmap: Any = data._mmap  # type: ignore[attr-defined]
        offset = int(data.offset)
        self.needed = offset - offset % ALLOCATIONGRANULARITY + len(self.mmap)

    def __call__(self, start: int, stop: int) -> Any:
        if self.mmap.size() < self.needed:
            raise ValueError(
                f"the file behind X is truncated: it has {self.mmap.size():,} bytes, but {self.needed:,} are "
                "mapped. Write it again, then map it again."
            )
        return np.asarray(self.data[start:stop])


class _ChunkReader:
    """Slices of data stored in chunks: each chunk is decoded once per pass, not once per slice."""

    def __init__(self, data: Any, bounds: Array) -> None:
        self.data, self.bounds = data, bounds
        self._lock = threading.Lock()
        self._held: dict[int, Any] = {}

    def __call__(self, start: int, stop: int) -> Any:
        first = int(np.searchsorted(self.bounds, start, side="right")) - 1
        last = int(np.searchsorted(self.bounds, stop, side="left"))
        parts = []
        with self._lock:  # most file libraries are not thread-safe
            for number in range(first, last):
                low, high = int(self.bounds[number]), int(self.bounds[number + 1])
                chunk = self._chunk(number, low, high)
                parts.append(chunk[max(start - low, 0) : stop - low])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _chunk(self, number: int, low: int, high: int) -> Any:
        if number not in self._held:
            while len(self._held) > 1:  # keep this chunk and the one before: readers move forwards together
                del self._held[min(self._held)]
            self._held[number] = np.asarray(self.data[low:high])
        return self._held[number]
