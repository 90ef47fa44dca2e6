"""Rows on a Dask cluster: the same stages, run where the chunks are.

`fit` and `predict` come here for Dask arrays and data frames. Neighbours and weights are made on the workers
and stay there; sums over the rows are tree-reduced; what travels to the client is of the anchors' size, and
predictions are lazy arrays with the chunks of the input.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed

from ._progress import logger
from ._threads import single_threaded_blas
from ._typing import Array, IntArray, RowLike
from .blocks import BLOCK_ROWS, Blocks, map_rows
from .estimators._validation import is_missing_label
from .sources import checked_block, fingerprint, working_dtype

# Partial sums combined by one task: few enough to overlap with the work, many enough to be a short tree.
_FAN_IN = 8


def dask_rows(X: Any) -> DaskRows:
    """A Dask array (n, p) or data frame as rows for the estimators."""
    if hasattr(X, "to_dask_array"):
        return DaskRows(X.to_dask_array(), X._meta, measured_quietly=True)
    if not isinstance(X, da.Array):
        raise ValueError(f"X is a {type(X).__name__}. Give a Dask array or data frame.")
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: X has shape {X.shape}.")
    return DaskRows(X, np.empty((0, X.shape[1])))


class DaskRows:
    """Rows in chunks on workers; every chunk is checked whenever a worker reads it.

    Parameters
    ----------
    array : dask.array.Array of shape (n, p)
        Of any chunks; unknown lengths are measured when they are needed.
    like : empty table
        With the names of the columns, where there are any.
    measured_quietly : bool
        Data frames never know their lengths, so measuring them needs no note.
    """

    distributed = True

    def __init__(self, array: Any, like: Any, measured_quietly: bool = False) -> None:
        if len(array.chunks[1]) > 1:
            warnings.warn(
                f"X is chunked along its columns ({len(array.chunks[1])} chunks): rechunked to whole rows. "
                "Call X.rechunk({1: -1}) once to save that.",
                UserWarning,
                stacklevel=5,
            )
            array = array.rechunk({1: -1})
        self.like = like
        self.dtype = working_dtype(array.dtype)
        self._array = array
        self._quiet = measured_quietly
        self._marks: list[int] | None = None
        if not np.isnan(array.shape[0]) and 0 in array.shape:
            raise ValueError(f"X has shape {array.shape}, but at least one row and one column are needed.")

    @property
    def array(self) -> Any:
        """The Dask array, with known lengths."""
        if np.isnan(self._array.shape[0]):
            sizes = [int(size) for size in dask.compute(*[_task(len, part) for part in self._parts()])]
            if self._quiet:
                logger.info("X: measured the lengths of %d partitions", len(sizes))
            else:
                warnings.warn(
                    f"The chunks of X have unknown lengths: measured by a pass over its {len(sizes)} chunks. "
                    "Call X.compute_chunk_sizes() once to save that.",
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
        """Every chunk as an array that was found to be right."""
        marks: list[Any] = self._marks or [None] * (len(self._bounds()) - 1)
        return [
            _task(_check, part, self.dtype, number, start, stop - start, mark)
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
        first = self._marks is None  # then look at all chunks, to know them again
        picks, wanted = [], []
        for number, part in enumerate(self._checked()):
            chosen = np.flatnonzero(owner == number)
            if first or len(chosen):
                picks.append(_task(_pick, part, rows[chosen] - bounds[number], first))
                wanted.append(chosen)
        found = dask.compute(*picks)
        if first:
            self._marks = [mark for _, mark in found]
        result = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        for chosen, (values, _) in zip(wanted, found, strict=True):
            result[chosen] = values
        return result

    def row_blocks(self, n_threads: int) -> DaskBlocks:
        """The chunks, as blocks of the engine; threads are the workers' own."""
        return DaskBlocks([_task(_split, part) for part in self._checked()], self._bounds()[:-1])

    def stacked(self, top: RowLike, bottom: RowLike) -> DaskRows:
        """Rows of `top`, then of `bottom`, either of which may be an array in memory."""
        parts = [
            part.array if isinstance(part, DaskRows) else da.from_array(np.asarray(part), chunks=-1)
            for part in (top, bottom)
        ]
        return DaskRows(da.concatenate(parts), self.like)

    def map_rows(self, function: Callable[[Array], Any], n_threads: int) -> Any:
        """`function` of every chunk: lazy arrays with the chunks of the rows."""
        trial = function(np.zeros((1, self._array.shape[1]), dtype=self.dtype))
        single = not isinstance(trial, tuple)
        columns = (trial,) if single else trial
        shared = shared_object(function)
        start, computed = 0, []
        for number, (part, rows) in enumerate(zip(self._parts(), self._array.chunks[0], strict=True)):
            known = not np.isnan(rows)
            block = _task(
                _check, part, self.dtype, number, start if known else None, rows if known else None, None
            )
            computed.append(_task(_apply_rows, shared, block))
            start += int(rows) if known else 0
        results = tuple(
            da.concatenate(
                [
                    da.from_delayed(
                        value if single else _task(operator.getitem, value, position),
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


class DaskBlocks(Blocks[Any]):
    """Blocks on workers, with the same `map` and `reduce`.

    Every part is a list of blocks of the usual size, made from one chunk: chunks may be of any size, and the
    temporaries of the work on them still fit into the cache.
    """

    def __init__(self, parts: Sequence[Delayed], starts: Sequence[int]) -> None:
        super().__init__([], 1, starts)
        self._parts = list(parts)

    def __len__(self) -> int:
        return len(self._parts)

    def map(self, function: Callable[[Any], Any], keep: bool = True) -> DaskBlocks:
        """Apply `function` to every block, where the block is; `keep`: the results stay there."""
        shared = shared_object(function)
        parts = [_task(_map_blocks, shared, part) for part in self._parts]
        return DaskBlocks(dask.persist(*parts) if keep else parts, self.starts)

    def map_at(self, function: Callable[[Any, int], Any]) -> DaskBlocks:
        """As `map`, with the number of the block's first row."""
        shared = shared_object(function)
        pairs = zip(self._parts, self.starts, strict=True)
        parts = [_task(_map_blocks, shared, part, start) for part, start in pairs]
        return DaskBlocks(dask.persist(*parts), self.starts)

    def reduce(
        self, function: Callable[[Any], Any], combine: Callable[[Any, Any], Any] = operator.add
    ) -> Any:
        """`function` of every block, combined in order by a tree of tasks; only the result travels."""
        shared = shared_object(function)
        level = [_task(_reduce_blocks, shared, combine, part) for part in self._parts]
        while len(level) > 1:
            groups = [level[i : i + _FAN_IN] for i in range(0, len(level), _FAN_IN)]
            level = [_task(reduce, combine, group) for group in groups]
        (result,) = dask.compute(level[0])
        return result


def shared_object(value: Any) -> Delayed:
    """`value` sent out once, for all tasks that need it; made again if the worker that has it dies."""
    with warnings.catch_warnings():
        # The advice there, to scatter, would lose the object with its worker.
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        (kept,) = dask.persist(dask.delayed(value, pure=False, traverse=False))
    return kept


def gather_labels(y: Any, unlabeled: Any) -> Array:
    """Labels (n,) or targets (n, k) on the client, where only labelled entries travelled."""
    y = y.to_dask_array() if hasattr(y, "to_dask_array") else y
    if y.ndim > 1 and len(y.chunks[1]) > 1:
        y = y.rechunk({1: -1})
    pieces = dask.compute(*[_task(_labeled, part, unlabeled) for part in y.to_delayed().ravel()])
    total = sum(size for size, _, _ in pieces)
    kind = pieces[0][2].dtype
    if kind.kind == "f":
        result = np.full((total, *y.shape[1:]), np.nan)
    elif kind.kind in "biu":
        result = np.full((total, *y.shape[1:]), 0 if unlabeled is None else unlabeled)
    else:
        result = np.full(total, None, dtype=object)
    start = 0
    for size, index, values in pieces:
        result[start + index] = values
        start += size
    return result


def _task(function: Callable[..., Any], *arguments: Any) -> Delayed:
    return dask.delayed(function, pure=True)(*arguments)


# -- what the workers run ------------------------------------------------------------------------------


def _check(
    block: Any, dtype: Any, number: int, start: int | None, rows: int | None, mark: int | None
) -> Array:
    where = f"chunk {number} of X"
    if start is not None and rows:
        where += f" (rows {start:,} to {start + rows - 1:,})"
    block = np.asarray(block)
    changed = rows is not None and len(block) != rows
    if not changed:
        block = checked_block(block, dtype, where, start)
        changed = mark is not None and fingerprint(block) != mark
    if changed:
        raise ValueError(
            f"{where} changed between two passes: it has {len(block):,} rows now. Persist X, or make its "
            "chunks the same each time."
        )
    return block


def _pick(block: Array, rows: IntArray, with_mark: bool) -> tuple[Array, int]:
    return block[rows], fingerprint(block) if with_mark else 0


def _split(block: Array) -> list[Array]:
    return [block[i : i + BLOCK_ROWS] for i in range(0, max(len(block), 1), BLOCK_ROWS)]


def _map_blocks(function: Callable[..., Any], blocks: list[Any], start: int | None = None) -> list[Any]:
    with single_threaded_blas:  # the workers' own threads are the parallelism
        if start is None:
            return [function(block) for block in blocks]
        return [function(block, start + i * BLOCK_ROWS) for i, block in enumerate(blocks)]


def _reduce_blocks(
    function: Callable[[Any], Any], combine: Callable[[Any, Any], Any], blocks: list[Any]
) -> Any:
    with single_threaded_blas:
        return reduce(combine, map(function, blocks))


def _apply_rows(function: Callable[[Array], Any], block: Array) -> Any:
    if len(block) == 0:  # a chunk may be empty, and the result still has its columns
        result = function(np.zeros((1, block.shape[1]), dtype=block.dtype))
        return tuple(part[:0] for part in result) if isinstance(result, tuple) else result[:0]
    return map_rows(block, function, n_threads=1)


def _labeled(block: Any, unlabeled: Any) -> tuple[int, IntArray, Array]:
    block = np.asarray(block)
    if block.ndim == 2:
        index = np.flatnonzero(~np.isnan(block.astype(float)).all(axis=1))
    else:
        index = np.flatnonzero(~is_missing_label(block, unlabeled))
    return len(block), index, block[index]
