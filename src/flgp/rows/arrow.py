"""Arrow tables, Parquet files and Arrow data sets as rows of numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from .._typing import Array


class ArrowTable:
    """A table whose columns are numbers, sliceable by rows: a pyarrow Table, RecordBatch, ParquetFile or
    Dataset.
    """

    def __init__(self, table: Any) -> None:
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        schema = getattr(table, "schema_arrow", None) or table.schema
        self.like = schema.empty_table()
        for name, kind in zip(schema.names, schema.types, strict=True):
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                raise ValueError(f"column {name!r} of X has type {kind}, but must be numeric. Drop it.")
        single = all(kind in (pa.float32(), pa.float16()) for kind in schema.types)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        counts, self._read = self._pieces(table)
        self.bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.shape = (int(self.bounds[-1]), len(schema.names))

    def _pieces(self, table: Any) -> tuple[list[int], Any]:
        """The number of rows in each stored piece, and a function that reads one."""
        if isinstance(table, pa.Table):
            # In memory or mapped: slices are free, so pieces may have any size.
            step = 65_536
            edges = [*range(0, table.num_rows, step), table.num_rows]
            return [b - a for a, b in pairwise(edges)], lambda i: table.slice(i * step, step)
        if hasattr(table, "read_row_group"):
            counts = [table.metadata.row_group(i).num_rows for i in range(table.num_row_groups)]
            groups = np.flatnonzero(counts)  # a group may be empty
            return [counts[i] for i in groups], lambda i: table.read_row_group(int(groups[i]))
        fragments = [
            part
            for fragment in table.get_fragments()
            for part in (fragment.split_by_row_group() if hasattr(fragment, "row_groups") else [fragment])
        ]
        schema = table.schema
        sizes = [_rows(part) for part in fragments]
        filled = np.flatnonzero(sizes)
        return [sizes[i] for i in filled], lambda i: fragments[filled[i]].to_table(schema=schema)

    def __getitem__(self, rows: slice) -> Array:
        """Rows between two of the `bounds`."""
        first, last = np.searchsorted(self.bounds, [rows.start, rows.stop])
        parts = [self._numbers(self._read(i)) for i in range(int(first), int(last))]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _numbers(self, table: Any) -> Array:
        result = np.empty((table.num_rows, self.shape[1]), dtype=self.dtype)
        for position, column in enumerate(table.columns):
            # A null becomes NaN, which is later reported with its row.
            result[:, position] = column.cast(pa.float64()).to_numpy()
        return result


def _rows(fragment: Any) -> int:
    # `count_rows` on a part of a Parquet file counts the whole file.
    groups = getattr(fragment, "row_groups", None)
    return fragment.count_rows() if groups is None else sum(group.num_rows for group in groups)
