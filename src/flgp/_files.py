"""The one way in which this project writes files: complete under its name, or not at all.

A file is written without a name (Linux) or under a temporary one, flushed to disk, and takes the place of the
old one in a single step: whoever is killed, or finds the disk full, leaves the old file as it was.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

# Names of temporary files. They are short, so that a file may have the longest name there is.
_BEGIN, _END = ".flgp-", ".tmp"
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class OutputError(ValueError):
    """A file that must not be written."""


def check_target(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = ()) -> Path:
    """The file that `path` means, links followed; raises OutputError if it must not be replaced.

    Parameters
    ----------
    path : path
    inputs : paths
        Files that the content is made from.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        if not target.parent.is_dir():
            raise FileNotFoundError(
                f"There is no folder {target.parent} for {target.name}. Create it first."
            ) from None
        return target
    if not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "not a regular file")
        raise OutputError(f"{path} is {kind}, which is not replaced. Choose another name.")
    for source in inputs:
        with contextlib.suppress(OSError):
            if os.path.samefile(target, source):
                raise OutputError(f"{path} is an input of this command, too. Choose another name.")
    return target


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing; it takes the place of `path` at the end, unless there was an error.

    Links are followed, and an existing file keeps its mode and, where that is allowed, its owner. Devices,
    pipes and folders are refused with an OutputError, other obstacles with an OSError.
    """
    target = check_target(path)
    try:
        old: os.stat_result | None = target.stat()
    except FileNotFoundError:
        old = None
    _sweep(target.parent)
    temporary = target.parent / f"{_BEGIN}{uuid.uuid4().hex[:12]}{_END}"
    # Only its owner may read what replaces a file that has a mode: it gets that before it gets its name.
    handle, named = _create(temporary, 0o666 if old is None else 0o600)
    try:
        with open(handle, "w+b") as file:
            yield file
            file.flush()
            if old is not None:
                _like(handle, old)
            os.fsync(handle)
            if not named:
                # With a folder's handle Python asks the system to follow the link; without, it does not.
                os.link(f"/proc/self/fd/{handle}", temporary, src_dir_fd=handle, follow_symlinks=True)
                named = True
            check_target(path)  # a pipe may have come in between
            os.replace(temporary, target)
            named = False
    except OSError as error:
        if error.filename is None:  # a full disk does not say whose
            error.filename = os.fspath(path)
        raise
    finally:
        if named:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a whole file; see `replacing`."""
    with replacing(path) as file:
        file.write(content)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole file of text in UTF-8, line ends as they are; see `replacing`."""
    write_bytes(path, text.encode("utf-8"))


def write_figure(figure: object, path: str | os.PathLike[str], **options: object) -> None:
    """Write a Matplotlib figure in the format that the name's ending says; see `replacing`."""
    content = io.BytesIO()
    figure.savefig(content, format=Path(path).suffix[1:].lower() or "png", **options)  # type: ignore[attr-defined]
    write_bytes(path, content.getvalue())


def move(source: Path, path: str | os.PathLike[str]) -> None:
    """Let a finished file on the same disk take the place of another; see `replacing`."""
    target = check_target(path)
    if target.exists():
        os.chmod(source, stat.S_IMODE(target.stat().st_mode))
    os.replace(source, target)


def _create(temporary: Path, mode: int) -> tuple[int, bool]:
    """A new file's handle, and whether it has a name: one without vanishes with its process."""
    close = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # not every file system can do this
            return os.open(temporary.parent, os.O_TMPFILE | os.O_RDWR | close, mode), False
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | close, mode)
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return handle, True


def _like(handle: int, old: os.stat_result) -> None:
    """Give a file the owner and the mode of another."""
    if hasattr(os, "fchown"):
        with contextlib.suppress(OSError):
            os.fchown(handle, old.st_uid, old.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _sweep(folder: Path) -> None:
    """Remove what killed writers left behind: temporary files that no process has locked."""
    if fcntl is None:  # pragma: no cover - Windows
        return
    with contextlib.suppress(OSError):
        for left in folder.glob(f"{_BEGIN}*{_END}"):
            with contextlib.suppress(OSError), open(left, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
