"""Tables to files; the file extension sets the format."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._files import check_target, replacing
from .errors import TableError
from .formats import PACKED, STDIN, WRITERS, pandas_or_advice

# Text that begins with one of these is a formula to a spreadsheet.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def write_table(frame: Any, path: str | os.PathLike[str], escape_formulas: bool = False) -> None:
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

    def __init__(self, path: str | os.PathLike[str] | None, escape_formulas: bool = False) -> None:
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
            write_table(pandas_or_advice().concat(self._kept), self.path)


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
        pack: Any = PACKED.get(packed)
        raw: Any = file if pack is None else stack.enter_context(pack(file, "wb"))
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
        try:
            yield text
            text.flush()
        finally:
            text.detach()


def check_output(path: str | os.PathLike[str], *inputs: str | os.PathLike[str]) -> None:
    """Refuse a bad output name, or one of the inputs' names, before the work rather than after it."""
    _written_suffix(Path(path))
    check_target(path, [given for given in inputs if str(given) != STDIN])
    if not Path(path).resolve().parent.is_dir():
        raise TableError(f"There is no folder {Path(path).parent}. Create it first.")


def _written_suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    packed = len(suffixes) == 2 and suffixes[1] in PACKED and suffixes[0] in (".csv", ".tsv", ".jsonl")
    suffix = suffixes[0] if packed else path.suffix.lower()
    if suffix not in WRITERS:
        raise TableError(f"{path.name} has an unknown file extension. Use one of {', '.join(WRITERS)}.")
    return suffix


def _without_formulas(frame: Any) -> Any:
    def safe(value: Any) -> Any:
        return f"'{value}" if isinstance(value, str) and value[:1] in _FORMULAS else value

    texts = {name: frame[name].map(safe) for name in frame.columns if frame[name].dtype.kind not in "iufb"}
    return frame.assign(**texts).rename(columns=safe)


def _plain(values: Any) -> Any:
    array = values.to_numpy()
    return array.astype(str) if array.dtype == object else array
