"""Tables with named columns: read, turned into numbers, predicted, written."""

from .files import TableError, read_table, write_table
from .model import TableModel
from .schema import Column, Schema

__all__ = ["Column", "Schema", "TableError", "TableModel", "read_table", "write_table"]
