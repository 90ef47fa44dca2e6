"""A CSV file that rows are added to as they become ready, each with a checksum.

A run that is killed inside a write leaves part of a line, which may look like a whole one with a shorter
number; the checksum in the last column reveals it. Incomplete lines are removed when the file is opened
again.
"""

from __future__ import annotations

import csv
import io
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

from .._files import write_text

CHECKSUM = "checksum"


class Ledger:
    """Rows of text in a file; `rows` holds those that it has already."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path, self.columns = path, tuple(columns)
        self.rows: list[list[str]] = []
        if not path.exists():
            write_text(path, self._head())
            return
        text = path.read_bytes().decode("utf-8", errors="replace")
        head, _, body = text.partition("\n")
        if head + "\n" == self._head():
            lines = [_opened(line) for line in _lines(body)]
        else:  # without checksums only a last line without an end can be recognised
            whole, end, _ = body.rpartition("\n")
            lines = list(csv.reader(io.StringIO(whole + end, newline="")))
        self.rows = [line for line in lines if line is not None and len(line) == len(self.columns)]
        found = self._head() + "".join(map(_sealed, self.rows))
        if found != text:
            write_text(path, found)

    def add(self, row: Sequence[str]) -> None:
        """Add a row, on disk at once."""
        # One call of the system for the whole line, so that rows of two runs do not mix.
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        try:
            line = _sealed(row).encode("utf-8")
            while line:
                line = line[os.write(handle, line) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        self.rows.append(list(row))

    def _head(self) -> str:
        return _line([*self.columns, CHECKSUM])


def _line(row: Sequence[str]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(row)
    return text.getvalue()


def _sealed(row: Sequence[str]) -> str:
    return _line([*row, _checksum(row)])


def _checksum(row: Sequence[str]) -> str:
    return f"{zlib.crc32(_line(row).encode('utf-8')):08x}"


def _lines(body: str) -> list[str]:
    """Lines that have an end; a line end inside quotes is not one."""
    found, start, quoted = [], 0, False
    for position, letter in enumerate(body):
        quoted ^= letter == '"'
        if letter == "\n" and not quoted:
            found.append(body[start:position])
            start = position + 1
    return found


def _opened(line: str) -> list[str] | None:
    """The row of a line, or None if it is not whole."""
    rows = list(csv.reader(io.StringIO(line, newline="")))
    if len(rows) != 1 or len(rows[0]) < 2:
        return None
    *row, checksum = rows[0]
    return row if checksum == _checksum(row) else None
