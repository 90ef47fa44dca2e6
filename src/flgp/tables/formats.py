"""File extensions of tables, compressed text, and the options of reading."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._words import check_choice
from .errors import TableError

TEXTS = (".csv", ".tsv", ".txt", ".dat")
JSON = (".jsonl", ".ndjson", ".json")
READERS = (*TEXTS, *JSON, ".xlsx", ".parquet", ".feather", ".npy", ".npz")
WRITERS = (".csv", ".tsv", ".jsonl", ".xlsx", ".parquet", ".feather", ".npy", ".npz")
COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
STDIN = "-"
DATE_ORDERS = ("day-first", "month-first")


@dataclass(frozen=True)
class ReadOptions:
    """How to read a table; None: detected from the file.

    Parameters
    ----------
    sep, decimal, encoding : str, optional
        Of text files.
    header : bool
        False: the first line of a text file holds data, and the columns are x0, x1, …
    marks : more cells that mean "missing", such as "-999"
    dates : {"day-first", "month-first"}, optional
        How to read 03/04/2021.
    sheet : str, optional
        Of a workbook. Default: the first one.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool = True
    marks: Sequence[str] = ()
    dates: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        check_choice("--dates", self.dates, DATE_ORDERS, optional=True, error=TableError)


@dataclass(frozen=True)
class Dialect:
    """How a text table is written."""

    sep: str | None = None  # None: that of the file extension
    decimal: str = "."
    encoding: str = "utf-8"


def missing_package(suffix: str) -> TableError:
    """The error about a format that needs a package which is not installed."""
    needed = "openpyxl" if suffix == ".xlsx" else "pyarrow"
    return TableError(f"{suffix} files need {needed}. Install it: pip install 'flgp[cli]'.")


def pandas_or_advice() -> Any:
    """The module, or an error that says how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise TableError("Tables need pandas. Install it: pip install 'flgp[cli]'.") from error
    return pandas
