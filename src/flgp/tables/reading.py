"""Tables from files; the file extension sets the format."""

from __future__ import annotations

import io
import json
import lzma
import os
import sys
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from .cells import plain_text
from .columns import typed
from .errors import TableError
from .formats import (
    COMPRESSED,
    JSON,
    READERS,
    STDIN,
    TEXTS,
    Dialect,
    ReadOptions,
    missing_package,
    pandas_or_advice,
)
from .text import TextFormat, find_format
from .writing import written_suffix


def read_table(
    path: str | os.PathLike[str], options: ReadOptions | None = None, notes: list[str] | None = None
) -> Any:
    """A pandas DataFrame from a file, with columns of numbers, dates and text.

    Its index is the number of each row in the file, as a spreadsheet counts: below a header the first is 2.

    Separator, decimal mark, thousands marks and encoding of text files are detected; cells such as "?",
    "n/a" and "-" are missing. The columns of an NPY file, and of a
    two-dimensional array `X` in an NPZ file, are x0, x1, …; every one-dimensional array of an NPZ file is a
    column with the same name.

    Parameters
    ----------
    path : path, or "-" for standard input
    options : ReadOptions, optional
    notes : list, optional
        Receives a line about everything that was found rather than given.
    """
    return read_whole(path, options, notes).frame


@dataclass(frozen=True)
class Block:
    """Some rows of a table; the index of the frames is the number of each row in the file."""

    frame: Any  # numbers, dates and text
    cells: Any  # the same as it is written in the file
    dialect: Dialect | None = None  # of a text table

    def kept(self, name: str | os.PathLike[str] | None) -> Any:
        """What to write to a file of this name (None: the screen) so that the user's cells stay as they are.

        A text table in a format with types gets numbers and dates instead.
        """
        plain = name is None or written_suffix(Path(name)) in TEXTS
        return self.frame if self.dialect is not None and not plain else self.cells


def read_whole(
    path: str | os.PathLike[str],
    options: ReadOptions | None = None,
    notes: list[str] | None = None,
    *,
    cells: bool = False,
) -> Block:
    """A table in one block. Parameters are those of `read_blocks`."""
    (block,) = read_blocks(path, None, options, notes, cells=cells)
    return block


def read_blocks(
    path: str | os.PathLike[str],
    rows: int | None,
    options: ReadOptions | None = None,
    notes: list[str] | None = None,
    *,
    cells: bool = False,
) -> Iterator[Block]:
    """A table in blocks of some rows (None: all at once), for tables larger than memory.

    Text, JSON-lines and Parquet files are read block by block, other formats at once. `cells`: blocks have
    the cells of the file, too. Other parameters are those of `read_table`.
    """
    pandas_or_advice()
    options = options or ReadOptions()
    notes = [] if notes is None else notes
    source = _Source.of(path)
    empty = True
    try:
        for block in _blocks(source, rows, options, notes, cells):
            if len(block.frame):
                empty = False
                yield block
    except ImportError as error:
        raise missing_package(source.suffix) from error
    except TableError:
        raise
    except (ValueError, OSError, LookupError, zipfile.BadZipFile, EOFError, lzma.LZMAError) as error:
        reason = (str(error).splitlines() or ["unknown reason"])[0]
        raise TableError(
            f"{source.name} cannot be read as {source.suffix[1:].upper()}: {reason.rstrip('.')}. "
            "Check the file."
        ) from error
    if empty:
        raise TableError(f"{source.name} has no rows. Use a table with data.")


@dataclass(frozen=True)
class _Source:
    """A file, or the bytes of standard input, and the format."""

    name: str
    suffix: str
    path: Path | None
    content: bytes = b""
    compression: str = ""

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> _Source:
        if str(path) == STDIN:
            content = sys.stdin.buffer.read()
            return cls("standard input", _suffix_of(content), None, content)
        path = Path(path)
        compression = path.suffix.lower() if path.suffix.lower() in COMPRESSED else ""
        suffix = Path(path.stem).suffix.lower() if compression else path.suffix.lower()
        if suffix == ".xls":
            raise TableError(f"{path.name} is in the old .xls format. Save it as .xlsx or .csv.")
        if suffix not in READERS or (compression and suffix not in (*TEXTS, *JSON)):
            raise TableError(
                f"{path.name} has an unknown file extension. Use one of {', '.join(READERS)}; text may be "
                "compressed, as in .csv.gz."
            )
        if not path.is_file():
            raise TableError(f"There is no file {path}. Check the path.")
        return cls(str(path), suffix, path, compression=compression)

    def open(self) -> IO[bytes]:
        """The file, or standard input, at its beginning."""
        if self.path is None:
            return io.BytesIO(self.content)
        if self.compression:
            return COMPRESSED[self.compression](self.path, "rb")
        return open(self.path, "rb")


def _suffix_of(content: bytes) -> str:
    """The format of bytes without a name."""
    if content[:4] == b"PAR1":
        return ".parquet"
    if content[:6] == b"ARROW1":
        return ".feather"
    if content[:4] == b"PK\x03\x04":
        return ".xlsx" if b"xl/" in content else ".npz"
    if content[:6] == b"\x93NUMPY":
        return ".npy"
    return ".jsonl" if content.lstrip()[:1] in (b"{", b"[") else ".csv"


# -- formats -----------------------------------------------------------------------------------------------


def _blocks(
    source: _Source, rows: int | None, options: ReadOptions, notes: list[str], cells: bool
) -> Iterator[Block]:
    if source.suffix in TEXTS:
        yield from _text_blocks(source, rows, options, notes, cells)
        return
    for frame in _frames(source, rows, options, notes):
        frame.columns = [str(name).strip() for name in frame.columns]
        yield Block(typed(frame, options, ".", notes), frame if cells else None)


def _frames(source: _Source, rows: int | None, options: ReadOptions, notes: list[str]) -> Iterator[Any]:
    """Frames of a table that is not text, with the number of each row as index."""
    pandas = pandas_or_advice()
    before = 0
    if source.suffix == ".parquet" and rows is not None:
        import pyarrow.parquet

        with source.open() as file:
            for batch in pyarrow.parquet.ParquetFile(file).iter_batches(rows):
                yield _numbered(batch.to_pandas(), before)
                before += len(batch)
        return
    if source.suffix in (".jsonl", ".ndjson") and rows is not None:
        with source.open() as file:
            for lines in iter(lambda: list(islice(file, rows)), []):
                yield _from_json(b"".join(lines), before)
                before += len(lines)
        return
    with source.open() as file:
        if source.suffix == ".parquet":
            yield _numbered(pandas.read_parquet(file))
        elif source.suffix == ".feather":
            yield _numbered(pandas.read_feather(file))
        elif source.suffix == ".xlsx":
            yield _sheet(file, source.name, options, notes)
        elif source.suffix in JSON:
            yield _from_json(file.read())
        else:
            yield _numbered(_from_arrays(file, source))


def _numbered(frame: Any, before: int = 0) -> Any:
    """A frame with rows numbered from 1, after so many others."""
    return frame.set_axis(range(before + 1, before + len(frame) + 1), axis=0)


def _text_blocks(
    source: _Source, rows: int | None, options: ReadOptions, notes: list[str], cells: bool
) -> Iterator[Block]:
    pandas = pandas_or_advice()
    usual = "\t" if source.suffix == ".tsv" else ","
    found = find_format(source.open, source.name, options, usual)
    notes += found.notes
    dialect = Dialect(None if found.sep == usual else found.sep, found.decimal, found.encoding)
    first = found.skip + 1 + found.header  # the line of the first row
    try:
        with ExitStack() as opened:
            # Cells beyond the last column would be dropped with a warning only.
            opened.enter_context(warnings.catch_warnings())
            warnings.simplefilter("error", pandas.errors.ParserWarning)

            def reader(dtype: Any) -> Iterator[Any]:
                file = opened.enter_context(source.open())
                return opened.enter_context(_reader(file, found, rows, dtype))

            written = reader(str) if cells else None
            for block in reader(dict.fromkeys(found.codes, str)):
                frame = _without_repeated(block, found).dropna(how="all")
                frame.index += first
                own = None
                if written is not None:
                    own = next(written).set_axis(block.index + first, axis=0).loc[frame.index, frame.columns]
                yield Block(typed(frame, options, found.decimal, notes, found.codes), own, dialect)
    except pandas.errors.ParserWarning as error:
        raise TableError(
            f"{source.name} has rows with more cells than the header has names ({len(found.names)}), when "
            f"split at each {found.spoken_sep}. Check the file, or give --sep."
        ) from error
    except pandas.errors.ParserError as error:
        reason = str(error).rpartition("C error: ")[2].strip().rstrip(".")
        raise TableError(
            f"{source.name} cannot be read as a table with columns separated by {found.spoken_sep}: "
            f"{reason}. Check that line, or give --sep."
        ) from error


def _reader(file: IO[bytes], found: TextFormat, rows: int | None, dtype: Any) -> Any:
    """Blocks of a text file, blank lines included, so that rows can be counted."""
    return pandas_or_advice().read_csv(
        file,
        encoding=found.encoding,
        sep=found.sep,
        decimal=found.decimal,
        skiprows=found.skip,
        header=0 if found.header else None,
        names=found.names,
        index_col=False,
        dtype=dtype,
        skipinitialspace=True,
        skip_blank_lines=False,
        keep_default_na=False,
        na_values=[""],  # other marks of "missing" are detected and noted
        low_memory=False,
        chunksize=rows or sys.maxsize,
    )


def _without_repeated(frame: Any, found: TextFormat) -> Any:
    """A frame without copies of columns; columns that only share their name are refused."""
    for name, first in found.repeated.items():
        if not frame[name].equals(frame[first]):
            raise TableError(
                f"Two columns have the same name, {first!r}, but different cells. Rename one of them."
            )
    return frame.drop(columns=list(found.repeated))


def _sheet(file: IO[bytes], name: str, options: ReadOptions, notes: list[str]) -> Any:
    """A sheet of a workbook; rows above the header, such as a title, are skipped."""
    pandas = pandas_or_advice()
    with pandas.ExcelFile(file, engine="openpyxl") as book:
        sheets = [str(sheet) for sheet in book.sheet_names]
        chosen = sheets[0] if options.sheet is None else options.sheet
        if chosen not in sheets:
            raise TableError(f"{name} has no sheet {chosen!r}. It has: {', '.join(sheets)}.")
        if len(sheets) > 1 and options.sheet is None:
            notes.append(f"the first of {len(sheets)} sheets was read, {chosen!r}; --sheet chooses another")
        cells = pandas.read_excel(
            book, sheet_name=chosen, header=None, dtype=object, keep_default_na=False, na_values=[""]
        )
    cells = cells.set_axis(range(1, len(cells) + 1), axis=0)
    cells = cells.dropna(how="all").dropna(how="all", axis=1)
    if cells.empty:
        return cells
    filled = cells.notna().sum(axis=1).to_numpy()
    top = int(np.argmax(filled > 1)) if (filled > 1).any() else 0
    if top:
        notes.append(f"{top} row(s) above the header were skipped: {str(cells.iloc[0].dropna().iloc[0])!r}")
    if not options.header:
        return cells.iloc[top:].set_axis([f"x{i}" for i in range(cells.shape[1])], axis=1).infer_objects()
    names = [
        f"Unnamed: {i}" if pandas.isna(cell) else plain_text(cell).strip()
        for i, cell in enumerate(cells.iloc[top])
    ]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TableError(f"Two columns have the same name, {twice!r}. Rename one of them.")
    return cells.iloc[top + 1 :].set_axis(names, axis=1).infer_objects()


def _from_json(content: bytes, before: int = 0) -> Any:
    """Objects of JSON, one on each line, after so many others, or in an array."""
    text = content.decode("utf-8-sig")
    if text.lstrip().startswith("["):
        found = dict(enumerate(json.loads(text), 1))
    else:
        lines = enumerate(text.split("\n"), before + 1)
        found = {number: json.loads(line) for number, line in lines if line.strip()}
    if not all(isinstance(entry, dict) for entry in found.values()):
        raise ValueError("it does not hold one object per row")
    return pandas_or_advice().DataFrame.from_records(list(found.values()), index=list(found))


def _from_arrays(file: IO[bytes], source: _Source) -> Any:
    pandas = pandas_or_advice()
    loaded = np.load(file, allow_pickle=False)
    if isinstance(loaded, np.ndarray) != (source.suffix == ".npy"):
        raise TableError(f"The content of {source.name} does not match its file extension. Rename the file.")
    arrays = {"X": loaded} if source.suffix == ".npy" else {name: loaded[name] for name in loaded.files}
    columns: dict[str, Any] = {}
    for name, values in arrays.items():
        if values.ndim == 2:
            prefix = "x" if name == "X" else f"{name}_"
            columns.update({f"{prefix}{i}": column for i, column in enumerate(values.T)})
        elif values.ndim == 1:
            columns["x0" if name == "X" else name] = values
        else:
            raise TableError(
                f"The array {name!r} in {source.name} has {values.ndim} dimensions, but must have 1 or 2."
            )
    if len({len(values) for values in columns.values()}) > 1:
        raise TableError(f"The arrays in {source.name} have different lengths. Each needs one row per point.")
    return pandas.DataFrame(columns)
