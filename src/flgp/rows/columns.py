"""Selected columns of rows, in memory or not."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .._typing import Array, IntArray
from .blocks import Blocks, row_blocks


def select(X: Any, columns: IntArray | None) -> Any:
    """Selected columns of rows, in memory or not; None selects all."""
    if columns is None:
        return X
    return X[:, columns] if isinstance(X, np.ndarray) else SelectedColumns(X, columns)


class SelectedColumns:
    """Selected columns of rows that are read in blocks."""

    def __init__(self, rows: Any, columns: IntArray) -> None:
        self.rows, self.index = rows, columns
        self.shape, self.dtype = (rows.shape[0], len(columns)), getattr(rows, "dtype", None)
        self.streamed = getattr(rows, "streamed", False)
        self.distributed = getattr(rows, "distributed", False)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> Any:
        return np.asarray(self.rows[rows])[:, self.index]

    def row_blocks(self) -> Blocks[Array]:
        """Blocks of the selected columns."""
        return row_blocks(self.rows).map(partial(_picked, self.index), keep=False)


def _picked(index: IntArray, block: Array) -> Array:
    return block[:, index]
