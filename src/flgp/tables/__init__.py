"""Tables with named columns: read, turned into numbers, predicted, written."""

from .errors import TableError
from .formats import ReadOptions
from .model import TableModel
from .prepare import Prepared, prepare
from .reading import read_blocks, read_table
from .schema import Column, Schema
from .target import Target, choose_target
from .writing import write_table

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
