"""Rows in blocks: everything of length n is processed in this form.

A stage is either a `map` (block → block of the next stage) or a `reduce` (block → a result as large as the
anchors, combined). So the same stages run on an array, a file or a cluster.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from .._progress import advance
from .._threads import thread_map
from .._typing import IntArray, RowLike

T = TypeVar("T")
R = TypeVar("R")

# Large enough that NumPy's overhead vanishes, small enough that temporaries stay in cache.
BLOCK_ROWS = 32_768


class Blocks(Generic[T]):
    """A sequence of blocks, each made on demand and held in memory only while it is used.

    Each of the `makers` makes one block; `starts` are the first rows of the blocks, counted over all of them.
    """

    def __init__(self, makers: Sequence[Callable[[], T]], starts: Sequence[int] | None = None) -> None:
        self._makers = list(makers)
        self.starts = [0] * len(self._makers) if starts is None else list(starts)

    def map(self, function: Callable[[T], R], keep: bool = True) -> Blocks[R]:
        """Apply `function` to every block: now, with the results kept, or again in every later pass."""
        if not keep:
            return Blocks([partial(_composed, function, maker) for maker in self._makers], self.starts)
        results = list(thread_map(lambda make: function(make()), self._makers))
        return Blocks([partial(_held, result) for result in results], self.starts)

    def map_at(self, function: Callable[[T, int], R]) -> Blocks[R]:
        """Like `map`, but `function` also gets the number of the first row of the block; results are kept."""
        pairs = list(zip(self._makers, self.starts, strict=True))
        results = list(thread_map(lambda pair: function(pair[0](), pair[1]), pairs))
        return Blocks([partial(_held, result) for result in results])

    def paired_with(self, other: Blocks[R]) -> Blocks[tuple[T, R]]:
        """Pairs of blocks of the same rows; nothing is computed yet."""
        makers = [partial(_pair, a, b) for a, b in zip(self._makers, other._makers, strict=True)]
        return Blocks(makers, self.starts)

    def reduce(self, function: Callable[[T], R], combine: Callable[[R, R], R] = operator.add) -> R:
        """`function` of every block, combined in the order of the blocks."""
        return reduce(combine, thread_map(lambda make: function(make()), self._makers))


def _held(value: T) -> T:
    return value


def _composed(function: Callable[[T], R], maker: Callable[[], T]) -> R:
    return function(maker())


def _pair(first: Callable[[], T], second: Callable[[], R]) -> tuple[T, R]:
    return first(), second()


def row_blocks(X: RowLike, block_rows: int = BLOCK_ROWS) -> Blocks[Any]:
    """The rows of `X` (n, p) in blocks, each a NumPy array made on demand."""
    if hasattr(X, "row_blocks"):  # a source that makes its blocks itself, such as chunks on a cluster
        return X.row_blocks()
    n = X.shape[0]
    starts = range(0, n, block_rows)
    return Blocks([partial(_slice, X, start, min(start + block_rows, n)) for start in starts], starts)


def _slice(X: RowLike, start: int, stop: int) -> Any:
    return np.asarray(X[start:stop])


def map_rows(
    X: RowLike,
    function: Callable[..., Any],
    block_rows: int = 8_192,
    beside: Sequence[Any] = (),
) -> Any:
    """`function` of every block of rows of X; its array, or each array of its tuple, is concatenated.

    Blocks are written into the result as they arrive, so no more memory than the result is needed. `function`
    also gets those rows of each array of `beside` (n, …) that belong to the block.
    """
    if hasattr(X, "map_rows"):
        assert not beside  # the estimators refuse it for rows on a cluster
        return X.map_rows(function)
    return map_blocks(row_blocks(X, block_rows), X.shape[0], function, beside)


def map_blocks(blocks: Blocks[Any], n: int, function: Callable[..., Any], beside: Sequence[Any] = ()) -> Any:
    """The same for blocks of n rows in all."""

    def one(pair: tuple[Callable[[], Any], tuple[int, int]]) -> Any:
        block, (start, stop) = pair[0](), pair[1]
        return function(block, *(values[start:stop] for values in beside))

    spans = pairwise([*blocks.starts, n])
    parts = thread_map(one, list(zip(blocks._makers, spans, strict=True)))
    results: tuple[Any, ...] = ()
    single, start = True, 0
    for part in parts:
        single = not isinstance(part, tuple)
        columns = (part,) if single else part
        if not results:
            results = tuple(np.empty((n, *column.shape[1:]), dtype=column.dtype) for column in columns)
        stop = start + len(columns[0])
        for result, column in zip(results, columns, strict=True):
            result[start:stop] = column
        start = stop
        advance(start, n, "rows")
    return results[0] if single else results


def take_rows(X: RowLike, rows: IntArray) -> Any:
    """The given rows of `X`, in that order."""
    return np.asarray(X[rows])


class StackedRows:
    """Two row sources stacked vertically, without a copy."""

    def __init__(self, top: RowLike, bottom: RowLike) -> None:
        self.top, self.bottom = top, bottom
        self.shape = (top.shape[0] + bottom.shape[0], top.shape[1])
        self.dtype = np.result_type(top.dtype, bottom.dtype)

    @property
    def streamed(self) -> bool:
        """Whether any part is read from a file."""
        return any(getattr(part, "streamed", False) for part in (self.top, self.bottom))

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> Any:
        cut = self.top.shape[0]
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.shape[0])
            if start >= cut:
                return self.bottom[start - cut : max(stop - cut, 0)]
            upper = self.top[start : min(stop, cut)]
            return upper if stop <= cut else np.concatenate([upper, self.bottom[0 : stop - cut]])
        rows = np.asarray(rows)
        result = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        above = rows < cut
        result[above], result[~above] = self.top[rows[above]], self.bottom[rows[~above] - cut]
        return result
