"""The functions that the workers run."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import reduce
from typing import Any

import dask
import numpy as np
from dask.delayed import Delayed

from ..._threads import single_threaded_blas
from ..._typing import Array, IntArray
from ..blocks import BLOCK_ROWS, map_rows
from ..labels import is_missing_label
from ..sources import checked_block, fingerprint
from .waiting import persist


def task(function: Callable[..., Any], *arguments: Any) -> Delayed:
    """A lazy call; identical calls run once."""
    return dask.delayed(function, pure=True)(*arguments)


def shared_object(value: Any) -> Delayed:
    """`value`, sent once for all tasks that need it, and again if the worker that holds it dies."""
    with warnings.catch_warnings():
        # The warning advises to scatter, but a scattered object is lost with its worker.
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        (kept,) = persist(dask.delayed(value, pure=False, traverse=False))
    return kept


def check_chunk(
    block: Any,
    dtype: Any,
    number: int,
    columns: int,
    start: int | None,
    rows: int | None,
    mark: int | None,
) -> Array:
    """The checked chunk, or an error that names it: a chunk may differ from what the array has promised."""
    where = f"chunk {number} of X"
    if start is not None and rows:
        where += f" (rows {start:,} to {start + rows - 1:,})"
    block = np.asarray(block)
    if block.ndim != 2 or block.shape[1] != columns:
        raise ValueError(
            f"{where} has the shape {block.shape}, but X has {columns} columns. Correct what makes the "
            "chunks, such as the function given to map_blocks."
        )
    changed = rows is not None and len(block) != rows
    if not changed:
        block = checked_block(block, dtype, where, start)
        changed = mark is not None and fingerprint(block) != mark
    if changed:
        raise ValueError(
            f"{where} changed between two passes: it now has {len(block):,} rows. Persist X, or make its "
            "chunks reproducible."
        )
    return block


def pick_rows(block: Array, rows: IntArray, with_mark: bool) -> tuple[Array, int]:
    """Some rows of a chunk, and its fingerprint."""
    return block[rows], fingerprint(block) if with_mark else 0


def split_chunk(block: Array) -> list[Array]:
    """A chunk as a list of blocks of the usual size."""
    return [block[i : i + BLOCK_ROWS] for i in range(0, max(len(block), 1), BLOCK_ROWS)]


def map_blocks(function: Callable[..., Any], blocks: list[Any], start: int | None = None) -> list[Any]:
    """`function` of each block of a chunk, with the number of its first row if `start` is given."""
    with single_threaded_blas():  # the threads of the worker run in parallel already
        if start is None:
            return [function(block) for block in blocks]
        return [function(block, start + i * BLOCK_ROWS) for i, block in enumerate(blocks)]


def pair_blocks(first: list[Any], second: list[Any]) -> list[tuple[Any, Any]]:
    """Pairs of blocks of two chunks."""
    return list(zip(first, second, strict=True))


def reduce_blocks(
    function: Callable[[Any], Any], combine: Callable[[Any, Any], Any], blocks: list[Any]
) -> Any:
    """`function` of each block of a chunk, combined."""
    with single_threaded_blas():
        return reduce(combine, map(function, blocks))


def apply_rows(function: Callable[[Array], Any], block: Array) -> Any:
    """`function` of a chunk's rows, in blocks; its array or arrays."""
    if len(block) == 0:  # a chunk may be empty, and the result still has its columns
        result = function(np.zeros((1, block.shape[1]), dtype=block.dtype))
        return tuple(part[:0] for part in result) if isinstance(result, tuple) else result[:0]
    return map_rows(block, function)


def labeled_entries(block: Any, unlabeled: Any) -> tuple[int, IntArray, Array]:
    """Length of a chunk of labels, the positions of its labelled entries, and their values."""
    block = np.asarray(block)
    if block.ndim == 2:
        index = np.flatnonzero(~np.isnan(block.astype(float)).all(axis=1))
    else:
        index = np.flatnonzero(~is_missing_label(block, unlabeled))
    return len(block), index, block[index]
