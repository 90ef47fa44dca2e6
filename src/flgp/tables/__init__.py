"""Tables with named columns: read, turned into numbers, predicted, written."""

from .errors import TableError
from .formats import Dialect, ReadOptions
from .model import TableModel
from .own_columns import OwnColumn, own_columns
from .prepare import Prepared, prepare
from .reading import Block, read_blocks, read_table, read_whole
from .schema import Column, Schema
from .target import Target, choose_target
from .writing import write_table

__all__ = [
    "Block",
    "Column",
    "Dialect",
    "OwnColumn",
    "Prepared",
    "ReadOptions",
    "Schema",
    "TableError",
    "TableModel",
    "Target",
    "choose_target",
    "own_columns",
    "prepare",
    "read_blocks",
    "read_table",
    "read_whole",
    "write_table",
]
