"""Tables with named columns: read, turned into numbers, predicted, written."""

from .files import ReadOptions, TableError, read_blocks, read_table, write_table
from .model import TableModel
from .prepare import Prepared, prepare
from .schema import Column, Schema
from .target import Target, choose_target

__all__ = [
    "Column",
    "Prepared",
    "ReadOptions",
    "Schema",
    "TableError",
    "TableModel",
    "Target",
    "choose_target",
    "prepare",
    "read_blocks",
    "read_table",
    "write_table",
]
