"""Output files that appear together or not at all."""

from __future__ import annotations

import csv
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._files import move
from .errors import ImageError

# Folders of runs that were killed are removed after a day: by then no run is still writing.
_LONGEST_RUN = 24 * 3600.0


class OutputFiles:
    """Files written to a temporary folder and moved to their place at the end."""

    def __init__(self, folder: Path, workshop: Path) -> None:
        self._folder = folder
        self._workshop = workshop
        self._names: list[str] = []
        self.published: list[Path] = []

    def path(self, name: str) -> Path:
        """Temporary path of the file `name`."""
        self._names.append(name)
        return self._workshop / name

    def publish(self) -> None:
        """Move every file to its place."""
        for name in self._names:
            move(self._workshop / name, self._folder / name)
        self.published = [self._folder / name for name in self._names]


@contextmanager
def output_files(folder: str | Path) -> Iterator[OutputFiles]:
    """Files for `folder`, which must exist or have a parent; published if the block ends without an error.

    An ImageError says so at once if nothing can be written there.
    """
    folder = Path(folder)
    made = not folder.exists()
    try:
        if made:
            folder.mkdir()
        _sweep(folder)
        workshop = Path(tempfile.mkdtemp(prefix=".flgp-", dir=folder))
    except OSError as error:
        raise ImageError(f"cannot write to {folder}: {error.strerror}. Choose another --output.") from error
    files = OutputFiles(folder, workshop)
    try:
        yield files
        files.publish()
        made = False
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
        if made:
            folder.rmdir()


def write_csv(path: Path, head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> None:
    """A table with a header line."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


def _sweep(folder: Path) -> None:
    """Remove what killed runs left behind."""
    for left in folder.glob(".flgp-*"):
        if left.is_dir() and time.time() - left.stat().st_mtime > _LONGEST_RUN:
            shutil.rmtree(left, ignore_errors=True)
