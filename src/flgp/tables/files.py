"""Tables from and to files; the file extension sets the format."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import sys
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._files import check_target, replacing
from .cells import Numbers, dates_of, listed_marks, numbers_of, plain_text, tidy, tidy_numbers
from .errors import TableError
from .text import TextFormat, find_format

__all__ = ["ReadOptions", "TableError", "TableWriter", "read_blocks", "read_table", "write_table"]

# Text that begins with one of these is a formula to a spreadsheet.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_TEXTS = (".csv", ".tsv", ".txt", ".dat")
_JSON = (".jsonl", ".ndjson", ".json")
_READERS = (*_TEXTS, *_JSON, ".xlsx", ".parquet", ".feather", ".npy", ".npz")
_WRITERS = (".csv", ".tsv", ".jsonl", ".xlsx", ".parquet", ".feather", ".npy", ".npz")
_PACKED = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
STDIN = "-"
_DATE_ORDERS = ("day-first", "month-first")


@dataclass(frozen=True)
class ReadOptions:
    """How to read a table; None is found by looking at the file.

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
        if self.dates is not None and self.dates not in _DATE_ORDERS:
            raise TableError(f"--dates {self.dates!r} is unknown. Use one of {', '.join(_DATE_ORDERS)}.")


def read_table(
    path: str | os.PathLike, options: ReadOptions | None = None, notes: list[str] | None = None
) -> Any:
    """A pandas DataFrame from a file, with columns of numbers, dates and text.

    Text files may be written in any usual way: separator, decimal mark, thousands marks and encoding are
    found by looking, cells such as "?", "n/a" and "-" are missing. The columns of an NPY file, and of a
    two-dimensional array `X` in an NPZ file, are x0, x1, …; every one-dimensional array of an NPZ file is a
    column with the same name.

    Parameters
    ----------
    path : path, or "-" for standard input
    options : ReadOptions, optional
    notes : list, optional
        Receives a line about everything that was found rather than given.
    """
    (frame,) = read_blocks(path, None, options, notes)
    return frame


def read_blocks(
    path: str | os.PathLike,
    rows: int | None,
    options: ReadOptions | None = None,
    notes: list[str] | None = None,
) -> Iterator[Any]:
    """A table in blocks of some rows (None: all at once), for tables larger than memory.

    Text, JSON-lines and Parquet files are read block by block, other formats at once. Parameters are those
    of `read_table`.
    """
    _pandas()
    options = options or ReadOptions()
    notes = [] if notes is None else notes
    source = _Source.of(path)
    empty = True
    try:
        for block in _blocks(source, rows, options, notes):
            if len(block):
                empty = False
                yield block
    except ImportError as error:
        needed = "openpyxl" if source.suffix == ".xlsx" else "pyarrow"
        raise TableError(
            f"{source.suffix} files need {needed}. Install it: pip install 'flgp[cli]'."
        ) from error
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


def write_table(frame: Any, path: str | os.PathLike, escape_formulas: bool = False) -> None:
    """Write a DataFrame; the file extension sets the format.

    `escape_formulas` puts an apostrophe before text in CSV and TSV that a spreadsheet would run as a formula.
    """
    path = Path(path)
    suffix = _written_suffix(path)
    if suffix == ".npy":
        text = [name for name in frame.columns if frame[name].dtype.kind not in "iufb"]
        if text:
            raise TableError(f"{path.name} can hold numbers only, but {text[0]!r} is text. Use .npz or .csv.")
    if escape_formulas and suffix in (".csv", ".tsv"):
        frame = _without_formulas(frame)
    try:
        with replacing(path) as file:
            if suffix in (".csv", ".tsv", ".jsonl"):
                _write_text(frame, file, path, suffix)
            elif suffix == ".xlsx":
                frame.to_excel(file, index=False)
            elif suffix == ".parquet":
                frame.to_parquet(file, index=False)
            elif suffix == ".feather":
                frame.reset_index(drop=True).to_feather(file)
            elif suffix == ".npy":
                np.save(file, frame.select_dtypes("number").to_numpy(dtype=float), allow_pickle=False)
            else:
                np.savez(file, **{name: _plain(frame[name]) for name in frame.columns})
    except ImportError as error:
        needed = "openpyxl" if suffix == ".xlsx" else "pyarrow"
        raise TableError(f"{suffix} files need {needed}. Install it: pip install 'flgp[cli]'.") from error
    except OSError as error:
        raise TableError(
            f"{path} cannot be written: {error.strerror or error}. Choose another place."
        ) from error


class TableWriter:
    """Writes a table block by block; the file appears under its name once it is complete.

    CSV, TSV and JSON lines never hold more than one block in memory, other formats all of them.

    Parameters
    ----------
    path : path, or None for CSV on standard output
    escape_formulas : bool
        Put an apostrophe before text in CSV and TSV that a spreadsheet would run as a formula.
    """

    def __init__(self, path: str | os.PathLike | None, escape_formulas: bool = False) -> None:
        self.path = None if path is None else Path(path)
        self.rows = 0
        self._suffix = ".csv" if self.path is None else _written_suffix(self.path)
        self._escapes = escape_formulas and self._suffix in (".csv", ".tsv")
        self._file: IO[str] | None = None
        self._open = ExitStack()
        self._kept: list[Any] = []

    def __enter__(self) -> TableWriter:
        if self.path is None:
            self._file = sys.stdout
        elif self._suffix in (".csv", ".tsv", ".jsonl"):
            try:
                file = self._open.enter_context(replacing(self.path))
                self._file = self._open.enter_context(_text_of(file, self.path))
            except OSError as error:
                self._open.close()
                raise TableError(
                    f"{self.path} cannot be written: {error.strerror or error}. Choose another place."
                ) from error
        return self

    def write(self, block: Any) -> None:
        """Add the rows of a DataFrame."""
        if self._escapes:
            block = _without_formulas(block)
        if self._file is None:
            self._kept.append(block)
        elif self._suffix == ".jsonl":
            block.to_json(self._file, orient="records", lines=True, date_format="iso")
        else:
            sep = "\t" if self._suffix == ".tsv" else ","
            block.to_csv(self._file, sep=sep, index=False, header=self.rows == 0)
        self.rows += len(block)

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)  # an error leaves the old file as it was
        if self.path is not None and self._file is None and error[0] is None:
            write_table(_pandas().concat(self._kept), self.path)


def _write_text(frame: Any, file: IO[bytes], path: Path, suffix: str) -> None:
    with _text_of(file, path) as text:
        if suffix == ".jsonl":
            frame.to_json(text, orient="records", lines=True, date_format="iso")
        else:
            frame.to_csv(text, sep="," if suffix == ".csv" else "\t", index=False)


@contextmanager
def _text_of(file: IO[bytes], path: Path) -> Iterator[IO[str]]:
    """A text file on a binary one, packed if the name says so; the binary one stays open."""
    packed = path.suffix.lower()
    with ExitStack() as stack:
        pack: Any = _PACKED.get(packed)
        raw: Any = file if pack is None else stack.enter_context(pack(file, "wb"))
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
        try:
            yield text
            text.flush()
        finally:
            text.detach()


def check_output(path: str | os.PathLike, *inputs: str | os.PathLike) -> None:
    """Refuse a bad output name, or one of the inputs' names, before the work rather than after it."""
    _written_suffix(Path(path))
    check_target(path, [given for given in inputs if str(given) != STDIN])
    if not Path(path).resolve().parent.is_dir():
        raise TableError(f"There is no folder {Path(path).parent}. Create it first.")


def _written_suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    packed = len(suffixes) == 2 and suffixes[1] in _PACKED and suffixes[0] in (".csv", ".tsv", ".jsonl")
    suffix = suffixes[0] if packed else path.suffix.lower()
    if suffix not in _WRITERS:
        raise TableError(f"{path.name} has an unknown file extension. Use one of {', '.join(_WRITERS)}.")
    return suffix


# -- where the bytes are -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    """A file, or the bytes of standard input, and the format."""

    name: str
    suffix: str
    path: Path | None
    content: bytes = b""
    packed: str = ""

    @classmethod
    def of(cls, path: str | os.PathLike) -> _Source:
        if str(path) == STDIN:
            content = sys.stdin.buffer.read()
            return cls("standard input", _suffix_of(content), None, content)
        path = Path(path)
        packed = path.suffix.lower() if path.suffix.lower() in _PACKED else ""
        suffix = Path(path.stem).suffix.lower() if packed else path.suffix.lower()
        if suffix == ".xls":
            raise TableError(f"{path.name} is in the old format of Excel. Save it as .xlsx or .csv.")
        if suffix not in _READERS or (packed and suffix not in (*_TEXTS, *_JSON)):
            raise TableError(
                f"{path.name} has an unknown file extension. Use one of {', '.join(_READERS)}; text may be "
                "packed as .csv.gz."
            )
        if not path.is_file():
            raise TableError(f"There is no file {path}. Check the path.")
        return cls(str(path), suffix, path, packed=packed)

    def open(self) -> IO[bytes]:
        """The file, or standard input, at its beginning."""
        if self.path is None:
            return io.BytesIO(self.content)
        if self.packed:
            return _PACKED[self.packed](self.path, "rb")  # type: ignore[operator]
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


def _blocks(source: _Source, rows: int | None, options: ReadOptions, notes: list[str]) -> Iterator[Any]:
    pandas = _pandas()
    if source.suffix in _TEXTS:
        yield from _text_blocks(source, rows, options, notes)
        return
    if source.suffix == ".parquet" and rows is not None:
        import pyarrow.parquet

        with source.open() as file:
            for batch in pyarrow.parquet.ParquetFile(file).iter_batches(rows):
                yield _typed(batch.to_pandas(), options, ".", notes)
        return
    if source.suffix in (".jsonl", ".ndjson") and rows is not None:
        with source.open() as file:
            for lines in iter(lambda: list(islice(file, rows)), []):
                yield _typed(_from_json(b"".join(lines)), options, ".", notes)
        return
    with source.open() as file:
        if source.suffix == ".parquet":
            frame = pandas.read_parquet(file)
        elif source.suffix == ".feather":
            frame = pandas.read_feather(file)
        elif source.suffix == ".xlsx":
            frame = _sheet(file, source.name, options, notes)
        elif source.suffix in _JSON:
            frame = _from_json(file.read())
        else:
            frame = _from_arrays(file, source)
    frame.columns = [str(name).strip() for name in frame.columns]
    yield _typed(frame, options, ".", notes)


def _text_blocks(source: _Source, rows: int | None, options: ReadOptions, notes: list[str]) -> Iterator[Any]:
    pandas = _pandas()
    found = find_format(
        source.open,
        source.name,
        encoding=options.encoding,
        sep=options.sep,
        decimal=options.decimal,
        header=options.header,
        preferred="\t" if source.suffix == ".tsv" else ",",
    )
    notes += found.notes
    with source.open() as file, warnings.catch_warnings():
        # Cells beyond the last column would be dropped with a warning only.
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:
            reader = pandas.read_csv(
                file,
                encoding=found.encoding,
                sep=found.sep,
                decimal=found.decimal,
                skiprows=found.skip,
                header=0 if found.header else None,
                names=found.names,
                index_col=False,
                dtype=dict.fromkeys(found.codes, str),
                skipinitialspace=True,
                keep_default_na=False,
                na_values=[""],  # other marks of "missing" are looked for, and told
                low_memory=False,
                chunksize=rows or sys.maxsize,
            )
            for block in reader:
                yield _typed(_without_repeated(block, found), options, found.decimal, notes, found.codes)
        except pandas.errors.ParserWarning as error:
            raise TableError(
                f"{source.name} has rows with more cells than the header has names ({len(found.names)}), "
                f"when cut at each {found.spoken_sep}. Check the file, or give --sep."
            ) from error
        except pandas.errors.ParserError as error:
            reason = str(error).rpartition("C error: ")[2].strip().rstrip(".")
            raise TableError(
                f"{source.name} cannot be read as a table with columns separated by {found.spoken_sep}: "
                f"{reason}. Check that line, or give --sep."
            ) from error


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
    pandas = _pandas()
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
    return cells.iloc[top + 1 :].set_axis(names, axis=1).reset_index(drop=True).infer_objects()


def _from_json(content: bytes) -> Any:
    """Objects of JSON, one on each line or in an array."""
    text = content.decode("utf-8-sig")
    if text.lstrip().startswith("["):
        found = json.loads(text)
    else:
        found = [json.loads(line) for line in text.splitlines() if line.strip()]
    if not all(isinstance(entry, dict) for entry in found):
        raise ValueError("it does not hold one object per row")
    return _pandas().DataFrame.from_records(found)


def _from_arrays(file: IO[bytes], source: _Source) -> Any:
    pandas = _pandas()
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


def _without_formulas(frame: Any) -> Any:
    def safe(value: Any) -> Any:
        return f"'{value}" if isinstance(value, str) and value[:1] in _FORMULAS else value

    texts = {name: frame[name].map(safe) for name in frame.columns if frame[name].dtype.kind not in "iufb"}
    return frame.assign(**texts).rename(columns=safe)


# -- what the cells mean -----------------------------------------------------------------------------------


def _typed(
    frame: Any, options: ReadOptions, decimal: str, notes: list[str], codes: Sequence[str] = ()
) -> Any:
    """Columns of text as numbers or dates where all cells are such; cells that mean "missing" are None."""
    if len(set(frame.columns)) < len(frame.columns):
        return frame  # `Schema` says so
    marks: dict[str, dict[str, int]] = {}
    changed: dict[str, Any] = {}
    for name in frame.columns:
        values = frame[name]
        if values.dtype.kind in "iuf":
            changed[name] = tidy_numbers(values, options.marks, marks) if options.marks else values
        elif values.dtype.kind in "bmM":
            changed[name] = values
        else:
            changed[name] = _typed_text(values, options, decimal, notes, marks, name in codes)
    line = listed_marks(marks)
    if line is not None and line not in notes:
        notes.append(line)
    return _pandas().DataFrame(changed, index=frame.index)


def _typed_text(
    values: Any,
    options: ReadOptions,
    decimal: str,
    notes: list[str],
    marks: dict[str, dict[str, int]],
    is_code: bool,
) -> Any:
    pandas = _pandas()
    name = str(values.name)
    texts = tidy(values, options.marks, marks)
    if texts.isna().all():
        return pandas.Series(np.nan, index=values.index, dtype=float)
    if is_code:
        _add(notes, f"column {name!r} has leading zeros and was read as text, not as a number")
        return texts
    numbers = numbers_of(texts, decimal)
    if numbers is not None:
        if numbers.note:
            _add(notes, f"column {name!r}: {numbers.note}")
        for mark, times in numbers.marks.items():
            marks.setdefault(name, {})[mark] = times
        return _numbers_or_text(texts, numbers)
    dates = dates_of(texts, options.dates)
    if dates is not None:
        found, note = dates
        if note:
            _add(notes, f"column {name!r}: {note}")
        broken = found.isna() & texts.notna()
        if broken.any():
            _add(
                notes, f"column {name!r}: {named_cells(texts, broken.to_numpy())} not a date, read as missing"
            )
        return found
    return texts


def _numbers_or_text(texts: Any, numbers: Numbers) -> Any:
    """Numbers if all cells are; otherwise text in which numbers are written plainly.

    Whether the other cells are mistakes or names of classes depends on what the column is used for.
    """
    pandas = _pandas()
    if not numbers.broken.any():
        return pandas.Series(numbers.values, index=texts.index, name=texts.name)
    plain = [
        cell if bad else None if np.isnan(value) else plain_text(float(value))
        for cell, value, bad in zip(texts, numbers.values, numbers.broken, strict=True)
    ]
    return pandas.Series(plain, index=texts.index, name=texts.name, dtype=object)


def named_cells(texts: Any, chosen: Any, limit: int = 5) -> str:
    """Cells with their rows, in words, such as "row 3 ('abc') and 2 more cells"."""
    rows = np.flatnonzero(chosen)
    shown = ", ".join(f"row {row + 1} ({str(texts.iloc[row])[:30]!r})" for row in rows[:limit])
    more = f" and {len(rows) - limit:,} more" if len(rows) > limit else ""
    return f"{shown}{more} {'is' if len(rows) == 1 else 'are'}"


def _add(notes: list[str], note: str) -> None:
    if note not in notes:
        notes.append(note)


def _plain(values: Any) -> Any:
    array = values.to_numpy()
    return array.astype(str) if array.dtype == object else array


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise TableError("Tables need pandas. Install it: pip install 'flgp[cli]'.") from error
    return pandas
