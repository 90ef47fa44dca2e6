"""Selected columns of rows, in memory or not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._typing import Array, IntArray
from .blocks import Blocks, row_blocks

Function = Callable[[Array], Array]


def select(X: Any, columns: IntArray | None, function: Function | None = None) -> Any:
    """Selected columns of rows, in memory or not, and a function of these; None selects all."""
    if columns is not None:
        X = _mapped(X, partial(_picked, columns), len(columns))
    return X if function is None else _mapped(X, function, X.shape[1])


def _mapped(X: Any, function: Function, width: int) -> Any:
    """A function of each block of rows that gives `width` columns."""
    return function(X) if isinstance(X, np.ndarray) else MappedRows(X, function, width)


def _picked(columns: IntArray, block: Array) -> Array:
    return block[:, columns]


class MappedRows:
    """A function of rows that are read in blocks."""

    def __init__(self, rows: Any, function: Function, width: int) -> None:
        self.rows, self.function = rows, function
        self.shape, self.dtype = (rows.shape[0], width), getattr(rows, "dtype", None)
        self.streamed = getattr(rows, "streamed", False)
        self.distributed = getattr(rows, "distributed", False)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> Any:
        return self.function(np.asarray(self.rows[rows]))

    def row_blocks(self) -> Blocks[Array]:
        """Blocks of the function's values."""
        return row_blocks(self.rows).map(self.function, keep=False)
