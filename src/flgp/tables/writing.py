"""Tables to files; the file extension sets the format."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._files import check_target, replacing
from .errors import TableError
from .formats import COMPRESSED, STDIN, WRITERS, Dialect, missing_package, pandas_or_advice

# Text that begins with one of these is a formula to a spreadsheet.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[-+][\d.,]*\d[.,]?([eE][-+]?\d+)?")


def write_table(
    frame: Any, path: str | os.PathLike[str], escape_formulas: bool = False, dialect: Dialect | None = None
) -> None:
    """Write a DataFrame; the file extension sets the format.

    Parameters
    ----------
    frame : pandas.DataFrame
    path : path
    escape_formulas : bool
        Put an apostrophe before text in CSV and TSV that a spreadsheet would run as a formula.
    dialect : Dialect, optional
        How to write CSV, and, but for the separator, TSV. Default: commas, decimal points, UTF-8.
    """
    with TableWriter(path, escape_formulas) as writer:
        writer.write(frame, dialect)


class TableWriter:
    """Writes a table block by block; the file appears under its name once it is complete.

    CSV, TSV and JSON lines never hold more than one block in memory, other formats all of them.

    Parameters
    ----------
    path : path, or None for CSV on standard output
    escape_formulas : bool
        Put an apostrophe before text in CSV and TSV that a spreadsheet would run as a formula.
    """

    def __init__(self, path: str | os.PathLike[str] | None, escape_formulas: bool = False) -> None:
        self.path = None if path is None else Path(path)
        self.rows = 0
        self._suffix = ".csv" if self.path is None else written_suffix(self.path)
        self._escapes = escape_formulas and self._suffix in (".csv", ".tsv")
        self._file: Any = None
        self._text: IO[str] | None = sys.stdout if self.path is None else None
        self._open = ExitStack()
        self._kept: list[Any] = []

    def __enter__(self) -> TableWriter:
        if self.path is not None:
            with self._telling():
                self._file = self._open.enter_context(replacing(self.path))
        return self

    def write(self, block: Any, dialect: Dialect | None = None) -> None:
        """Add the rows of a DataFrame; the dialect of the first block is that of the file."""
        dialect = dialect or Dialect()
        if self._escapes:
            block = _without_formulas(block)
        if self._suffix not in (".csv", ".tsv", ".jsonl"):
            self._kept.append(block)
            return
        if self._text is None:
            assert self.path is not None
            encoding = "utf-8" if self._suffix == ".jsonl" else dialect.encoding
            self._text = self._open.enter_context(_text_of(self._file, self.path, encoding))
        if self._suffix == ".jsonl":
            block.to_json(self._text, orient="records", lines=True, date_format="iso")
        else:
            try:
                block.to_csv(
                    self._text,
                    sep=self._separator(dialect),
                    decimal=dialect.decimal,
                    index=False,
                    header=self.rows == 0,
                )
            except UnicodeEncodeError as error:
                raise TableError(
                    f"The table is encoded as {error.encoding}, which cannot write "
                    f"{error.object[error.start]!r}. Choose an output that ends in .xlsx or .parquet."
                ) from error
        self.rows += len(block)

    def _separator(self, dialect: Dialect) -> str:
        if self._suffix == ".tsv":
            return "\t"
        if dialect.sep is None:
            return ";" if dialect.decimal == "," else ","
        return " " if dialect.sep == r"\s+" else dialect.sep

    def __exit__(self, *error: Any) -> None:
        with self._telling(), self._open:  # an error leaves the old file as it was
            if error[0] is not None:
                self._open.__exit__(*error)
            elif self._kept:
                _write_types(pandas_or_advice().concat(self._kept), self._file, self._suffix)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Turn obstacles into errors of one sentence."""
        try:
            yield
        except ImportError as error:
            raise missing_package(self._suffix) from error
        except OSError as error:
            raise TableError(
                f"{self.path} cannot be written: {error.strerror or error}. Choose another place."
            ) from error


def _write_types(frame: Any, file: IO[bytes], suffix: str) -> None:
    """A frame in a format that has types."""
    if suffix == ".xlsx":
        frame.to_excel(file, index=False)
    elif suffix == ".parquet":
        frame.to_parquet(file, index=False)
    elif suffix == ".feather":
        frame.reset_index(drop=True).to_feather(file)
    elif suffix == ".npz":
        np.savez(file, **{name: _plain(frame[name]) for name in frame.columns})
    elif text := [name for name in frame.columns if frame[name].dtype.kind not in "iufb"]:
        raise TableError(f"NPY files hold numbers only, but {text[0]!r} is text. Use .npz or .csv.")
    else:
        np.save(file, frame.to_numpy(dtype=float), allow_pickle=False)


@contextmanager
def _text_of(file: IO[bytes], path: Path, encoding: str) -> Iterator[IO[str]]:
    """A text file on a binary one, compressed if the name says so; the binary one stays open."""
    with ExitStack() as stack:
        compress: Any = COMPRESSED.get(path.suffix.lower())
        raw: Any = file if compress is None else stack.enter_context(compress(file, "wb"))
        text = io.TextIOWrapper(raw, encoding=encoding, newline="", write_through=True)
        try:
            yield text
            text.flush()
        finally:
            text.detach()


def check_output(path: str | os.PathLike[str], *inputs: str | os.PathLike[str]) -> None:
    """Refuse a bad output name, or one of the inputs' names, before the work rather than after it."""
    written_suffix(Path(path))
    check_target(path, [given for given in inputs if str(given) != STDIN])


def written_suffix(path: Path) -> str:
    """The format that the name of a file asks for."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    compressed = (
        len(suffixes) == 2 and suffixes[1] in COMPRESSED and suffixes[0] in (".csv", ".tsv", ".jsonl")
    )
    suffix = suffixes[0] if compressed else path.suffix.lower()
    if suffix not in WRITERS:
        raise TableError(f"{path.name} has an unknown file extension. Use one of {', '.join(WRITERS)}.")
    return suffix


def _without_formulas(frame: Any) -> Any:
    def safe(value: Any) -> Any:
        if not isinstance(value, str) or value[:1] not in _FORMULAS or _NUMBER.fullmatch(value):
            return value
        return f"'{value}"

    texts = {name: frame[name].map(safe) for name in frame.columns if frame[name].dtype.kind not in "iufb"}
    return frame.assign(**texts).rename(columns=safe)


def _plain(values: Any) -> Any:
    array = values.to_numpy()
    return array.astype(str) if array.dtype == object else array
