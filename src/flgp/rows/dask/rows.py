"""Dask arrays and data frames as rows for the estimators."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import Delayed

from ..._progress import logger
from ..._typing import Array, RowLike
from ..sources import working_dtype
from .blocks import DaskBlocks
from .tasks import apply_rows, check_chunk, pick_rows, shared_object, split_chunk, task
from .waiting import compute


def dask_rows(X: Any) -> DaskRows:
    """A Dask array (n, p) or data frame as rows for the estimators."""
    if hasattr(X, "to_dask_array"):
        return DaskRows(X.to_dask_array(), X._meta, measured_quietly=True)
    if not isinstance(X, da.Array):
        raise ValueError(f"X is a {type(X).__name__}. Pass a Dask array or data frame.")
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: X has shape {X.shape}.")
    return DaskRows(X, np.empty((0, X.shape[1])))


class DaskRows:
    """Rows in chunks on workers; every chunk is checked whenever a worker reads it.

    The Dask `array` (n, p) may have any chunks; unknown lengths are measured when they are needed, with a
    warning unless `measured_quietly`, because those of a data frame are always unknown. `like` is an empty
    table with the column names, if there are any.
    """

    distributed = True

    def __init__(self, array: Any, like: Any, measured_quietly: bool = False) -> None:
        if len(array.chunks[1]) > 1:
            warnings.warn(
                f"X is chunked along its columns ({len(array.chunks[1])} chunks): rechunked to whole rows. "
                "Call X.rechunk({1: -1}) once to avoid this.",
                UserWarning,
                stacklevel=5,
            )
            array = array.rechunk({1: -1})
        self.like = like
        self.dtype = working_dtype(array.dtype)
        self._array = array
        self._columns = int(array.shape[1])
        self._quiet = measured_quietly
        self._marks: list[int] | None = None
        if not np.isnan(array.shape[0]) and 0 in array.shape:
            raise ValueError(f"X has shape {array.shape}, but at least one row and one column are needed.")

    @property
    def array(self) -> Any:
        """The Dask array, with known lengths."""
        if np.isnan(self._array.shape[0]):
            sizes = [int(size) for size in compute(*[task(len, part) for part in self._parts()])]
            if self._quiet:
                logger.info("X: measured the lengths of %d partitions", len(sizes))
            else:
                warnings.warn(
                    f"The chunks of X have unknown lengths: measured in a pass over {len(sizes)} chunks. "
                    "Call X.compute_chunk_sizes() once to avoid this.",
                    UserWarning,
                    stacklevel=5,
                )
            old = self._array
            self._array = da.Array(
                old.dask, old.name, (tuple(sizes), old.chunks[1]), dtype=old.dtype, meta=old._meta
            )
            if self._array.shape[0] == 0:
                raise ValueError("X has no rows.")
        return self._array

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p); measures unknown lengths."""
        n, p = self.array.shape
        return int(n), int(p)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)

    def _parts(self) -> list[Delayed]:
        return list(self._array.to_delayed().ravel())

    def _bounds(self) -> list[int]:
        return [0, *np.cumsum(self.array.chunks[0]).tolist()]

    def _checked(self) -> list[Delayed]:
        """Every chunk as a checked array."""
        marks: list[Any] = self._marks or [None] * (len(self._bounds()) - 1)
        return [
            task(check_chunk, part, self.dtype, number, self._columns, start, stop - start, mark)
            for number, (part, (start, stop), mark) in enumerate(
                zip(self._parts(), pairwise(self._bounds()), marks, strict=True)
            )
        ]

    def __getitem__(self, rows: Any) -> Array:
        """Some rows, brought to the client in the order given."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        rows = np.asarray(rows)
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        bounds = np.array(self._bounds())
        owner = np.searchsorted(bounds, rows, side="right") - 1
        first = self._marks is None  # then take the fingerprints of all chunks
        picks, wanted = [], []
        for number, part in enumerate(self._checked()):
            chosen = np.flatnonzero(owner == number)
            if first or len(chosen):
                picks.append(task(pick_rows, part, rows[chosen] - bounds[number], first))
                wanted.append(chosen)
        found = compute(*picks)
        if first:
            self._marks = [mark for _, mark in found]
        result = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        for chosen, (values, _) in zip(wanted, found, strict=True):
            result[chosen] = values
        return result

    def row_blocks(self) -> DaskBlocks:
        """The chunks as `Blocks`, processed by the threads of the workers."""
        return DaskBlocks([task(split_chunk, part) for part in self._checked()], self._bounds()[:-1])

    def stacked(self, top: RowLike, bottom: RowLike) -> DaskRows:
        """Rows of `top`, then of `bottom`, either of which may be an array in memory."""
        parts = [
            part.array if isinstance(part, DaskRows) else da.from_array(np.asarray(part), chunks=-1)
            for part in (top, bottom)
        ]
        return DaskRows(da.concatenate(parts), self.like)

    def map_rows(self, function: Callable[[Array], Any]) -> Any:
        """`function` of every chunk: lazy arrays with the chunks of the rows."""
        trial = function(np.zeros((1, self._array.shape[1]), dtype=self.dtype))
        single = not isinstance(trial, tuple)
        columns = (trial,) if single else trial
        shared = shared_object(function)
        start, computed = 0, []
        for number, (part, rows) in enumerate(zip(self._parts(), self._array.chunks[0], strict=True)):
            known = not np.isnan(rows)
            span = (start, rows) if known else (None, None)
            block = task(check_chunk, part, self.dtype, number, self._columns, *span, None)
            computed.append(task(apply_rows, shared, block))
            start += int(rows) if known else 0
        results = tuple(
            da.concatenate(
                [
                    da.from_delayed(
                        value if single else task(operator.getitem, value, position),
                        (rows, *column.shape[1:]),
                        dtype=column.dtype,
                    )
                    for value, rows in zip(computed, self._array.chunks[0], strict=True)
                ],
                allow_unknown_chunksizes=True,
            )
            for position, column in enumerate(columns)
        )
        return results[0] if single else results
