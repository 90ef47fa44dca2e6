"""Rows in blocks: the only way in which the engine touches anything of length n.

A stage is either a `map` (block → block of the next stage) or a `reduce` (block → something of the
anchors' size, combined). So the same stages run on an array, on a file, or on a cluster.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Generic, TypeVar

import numpy as np

from ._threads import thread_map
from ._typing import IntArray, RowLike

T = TypeVar("T")
R = TypeVar("R")

# Large enough that NumPy's overhead vanishes, small enough that temporaries stay in cache.
BLOCK_ROWS = 32_768


class Blocks(Generic[T]):
    """A sequence of blocks, each made by a call and so held in memory only while it is used."""

    def __init__(self, makers: Sequence[Callable[[], T]], n_threads: int = 1) -> None:
        self._makers = list(makers)
        self.n_threads = n_threads

    def __len__(self) -> int:
        return len(self._makers)

    def map(self, function: Callable[[T], R], keep: bool = True) -> Blocks[R]:
        """Apply `function` to every block: now and kept in memory, or again at every later pass."""
        if not keep:
            return Blocks([_Composed(function, maker) for maker in self._makers], self.n_threads)
        results = list(thread_map(lambda make: function(make()), self._makers, self.n_threads))
        return Blocks([_Held(result) for result in results], self.n_threads)

    def reduce(self, function: Callable[[T], R], combine: Callable[[R, R], R] = operator.add) -> R:
        """`function` of every block, combined in the order of the blocks."""
        return reduce(combine, thread_map(lambda make: function(make()), self._makers, self.n_threads))


class _Held(Generic[T]):
    def __init__(self, value: T) -> None:
        self.value = value

    def __call__(self) -> T:
        return self.value


class _Composed(Generic[T, R]):
    def __init__(self, function: Callable[[T], R], maker: Callable[[], T]) -> None:
        self.function, self.maker = function, maker

    def __call__(self) -> R:
        return self.function(self.maker())


def row_blocks(X: RowLike, n_threads: int = 1, block_rows: int = BLOCK_ROWS) -> Blocks[Any]:
    """The rows of `X` (n, p) in blocks, each a NumPy array made when it is asked for."""
    n = X.shape[0]
    starts = range(0, n, block_rows)
    return Blocks([_Slice(X, start, min(start + block_rows, n)) for start in starts], n_threads)


class _Slice:
    def __init__(self, X: RowLike, start: int, stop: int) -> None:
        self.X, self.start, self.stop = X, start, stop

    def __call__(self) -> Any:
        return np.asarray(self.X[self.start : self.stop])


def take_rows(X: RowLike, rows: IntArray) -> Any:
    """Some rows of `X`, in the order given."""
    return np.asarray(X[rows])


class StackedRows:
    """Two arrays one above the other, without a copy."""

    def __init__(self, top: RowLike, bottom: RowLike) -> None:
        self.top, self.bottom = top, bottom
        self.shape = (top.shape[0] + bottom.shape[0], top.shape[1])

    def __getitem__(self, rows: Any) -> Any:
        cut = self.top.shape[0]
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.shape[0])
            upper = self.top[start : min(stop, cut)]
            lower = self.bottom[max(start - cut, 0) : max(stop - cut, 0)]
            return lower if len(upper) == 0 else upper if len(lower) == 0 else np.concatenate([upper, lower])
        rows = np.asarray(rows)
        result = np.empty((len(rows), self.shape[1]), dtype=np.result_type(self.top, self.bottom))
        above = rows < cut
        result[above], result[~above] = self.top[rows[above]], self.bottom[rows[~above] - cut]
        return result
