"""The bytes of a model file: a sealed JSON header, then plain arrays one after the other.

    8 bytes   magic (with line endings that a text-mode transfer would corrupt)
    2 bytes   version of the format
    8 bytes   length of the header
    8 bytes   length of the arrays
    32 bytes  SHA-256 of everything else
    header    JSON; its "arrays" lists dtype, shape and order of each array
    arrays    little-endian, each starting at a multiple of 64 bytes from the first

Numbers of 4 bytes are read as numbers of 8: compact files hold them to be small. Offsets are not stored:
they follow from the sizes, so arrays cannot overlap or leave gaps.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, NoReturn

import numpy as np

from .._files import replacing
from .errors import ModelFileError
from .rules import ArrayEntry

MAGIC = b"\x89FLGP\r\n\x1a"
FORMAT_VERSION = 3
_FIXED = struct.Struct("<HQQ")
_DIGEST_BYTES = 32
PREFIX_BYTES = len(MAGIC) + _FIXED.size + _DIGEST_BYTES
_ALIGNMENT = 64
# A parsed header takes up to a hundred bytes for every value in it: both limits together keep that below
# the memory of any machine.
_MAX_HEADER_BYTES, _MAX_HEADER_VALUES = 64 * 2**20, 2_000_000
# Axes of an array without entries say nothing about the file's length.
_MOST_OF_NOTHING = 2**24
_CHUNK = 2**20
# Booleans, integers, floats and text; nothing that could hold a Python object.
_DTYPE = re.compile(r"\|b1|[|<][iu]1|<[iu][248]|<f[48]|<U[1-9]\d{0,5}")


def plain_array(values: np.ndarray) -> np.ndarray:
    """The array in little-endian, contiguous form; Fortran order is kept."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    if not _DTYPE.fullmatch(little.dtype.str):
        raise ModelFileError(f"An array of dtype {values.dtype} cannot be stored in a model file.")
    return little if little.flags.f_contiguous else np.ascontiguousarray(little)


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: Sequence[np.ndarray]) -> None:
    """Write header and arrays atomically: `path` holds either the complete new file or the old one."""
    arrays = [plain_array(values) for values in arrays]
    table = [
        {"dtype": entry.dtype.str, "shape": list(entry.shape), "order": entry.order}
        for entry in array_table(arrays)
    ]
    text = json.dumps({**header, "arrays": table}, ensure_ascii=False, allow_nan=False).encode()
    if len(text) > _MAX_HEADER_BYTES:
        raise ModelFileError(f"The header of this model has {len(text):,} bytes, more than a file may hold.")
    fixed = _FIXED.pack(FORMAT_VERSION, len(text), sum(_padded(a.nbytes) for a in arrays))
    digest = hashlib.sha256(MAGIC + fixed)
    digest.update(text)
    for values in arrays:
        digest.update(_bytes(values))
        digest.update(_padding(values.nbytes))
    with replacing(path) as file:
        file.write(MAGIC + fixed + digest.digest() + text)
        for values in arrays:
            file.write(_bytes(values))
            file.write(_padding(values.nbytes))


class ModelFile:
    """An open file: the header, then (`arrays`) the rest with a check of the checksum."""

    def __init__(self, file: BinaryIO, path: Any, max_bytes: int) -> None:
        self._file, self._path = file, path
        self.size = os.fstat(file.fileno()).st_size
        header_bytes, self._payload_bytes, self._seal, fixed = self._start(max_bytes)
        text = file.read(header_bytes)
        self._digest = hashlib.sha256(MAGIC + fixed)
        self._digest.update(text)
        self.header = self._parsed(text)
        self._stored = [self._checked_entry(entry) for entry in self.header["arrays"]]
        # Before any array is read: the file must be as long as its arrays are.
        if sum(_padded(entry.nbytes) for entry in self._stored) != self._payload_bytes:
            raise _damaged(path)
        self.table = [entry._replace(dtype=_wide(entry.dtype)) for entry in self._stored]

    def arrays(self) -> list[np.ndarray]:
        """All arrays, each in memory of its own."""
        found = [self._read_array(entry) for entry in self._stored]
        self._check_seal()
        for values in found:
            if not _is_proper(values):
                raise _damaged(self._path)
        return found

    def verify(self) -> None:
        """Read the rest for its checksum alone, a little at a time."""
        left = self._payload_bytes
        while left:
            chunk = self._file.read(min(left, _CHUNK))
            if not chunk:
                self._too_short()
            self._digest.update(chunk)
            left -= len(chunk)
        self._check_seal()

    def _start(self, max_bytes: int) -> tuple[int, int, bytes, bytes]:
        """Lengths of the header and the arrays, the expected digest, and the bytes that state the lengths."""
        path, size = self._path, self.size
        prefix = self._file.read(PREFIX_BYTES)
        if prefix[: len(MAGIC)] != MAGIC:
            raise ModelFileError(f"{path} is not an flgp model file. Write one with flgp.save(model, path).")
        if len(prefix) < PREFIX_BYTES:
            raise ModelFileError(f"{path} ends too early: it has only {size} bytes. Copy the file again.")
        fixed = prefix[len(MAGIC) : len(MAGIC) + _FIXED.size]
        version, header_bytes, payload_bytes = _FIXED.unpack(fixed)
        if version > FORMAT_VERSION:
            raise ModelFileError(
                f"{path} has format {version}, but this flgp reads format {FORMAT_VERSION}. Upgrade flgp."
            )
        if version < 1:
            raise _damaged(path)
        if version < FORMAT_VERSION:
            raise ModelFileError(
                f"{path} has format {version}, from before the first release, but this flgp reads format "
                f"{FORMAT_VERSION}. Fit the model again and save it."
            )
        if size > max_bytes:
            raise ModelFileError(
                f"{path} has {size:,} bytes, more than the limit of {max_bytes:,}. "
                "Raise max_bytes if you trust the file."
            )
        expected = PREFIX_BYTES + header_bytes + payload_bytes
        if size != expected:
            what = "ends too early" if size < expected else "has bytes after its end"
            raise ModelFileError(
                f"{path} {what}: {size:,} bytes instead of {expected:,}. Copy the file again."
            )
        if header_bytes > _MAX_HEADER_BYTES:
            raise _damaged(path)
        return header_bytes, payload_bytes, prefix[-_DIGEST_BYTES:], fixed

    def _parsed(self, text: bytes) -> dict[str, Any]:
        if text.count(b",") + text.count(b"[") + text.count(b"{") > _MAX_HEADER_VALUES:
            raise _damaged(self._path)
        try:
            header = json.loads(
                text.decode("utf-8"), object_pairs_hook=_once_each, parse_constant=_no_constant
            )
        except (ValueError, RecursionError) as error:
            raise _damaged(self._path) from error
        if not isinstance(header, dict) or not isinstance(header.get("arrays"), list):
            raise _damaged(self._path)
        return header

    def _checked_entry(self, entry: Any) -> ArrayEntry:
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "order"}:
            raise _damaged(self._path)
        dtype, shape, order = entry["dtype"], entry["shape"], entry["order"]
        known = isinstance(dtype, str) and _DTYPE.fullmatch(dtype) and order in ("C", "F")
        sizes = isinstance(shape, list) and len(shape) <= 8
        if not known or not sizes or not all(type(n) is int and 0 <= n < 2**48 for n in shape):
            raise _damaged(self._path)
        if 0 in shape and max(shape) > _MOST_OF_NOTHING:
            raise _damaged(self._path)
        return ArrayEntry(np.dtype(dtype), tuple(shape), order)

    def _read_array(self, entry: ArrayEntry) -> np.ndarray:
        flat = np.empty(entry.nbytes, dtype=np.uint8)
        if self._file.readinto(flat.data) != entry.nbytes:  # type: ignore[attr-defined]
            self._too_short()
        self._digest.update(flat.data)
        padding = self._file.read(_padded(entry.nbytes) - entry.nbytes)
        self._digest.update(padding)
        if padding.strip(b"\0"):
            raise _damaged(self._path)
        values = flat.view(entry.dtype).reshape(entry.shape, order=entry.order)  # type: ignore[call-overload]
        return values.astype(_wide(entry.dtype), copy=False)

    def _check_seal(self) -> None:
        if self._digest.digest() != self._seal:
            raise _damaged(self._path)

    def _too_short(self) -> NoReturn:
        raise ModelFileError(f"{self._path} ends too early. Copy the file again.")


@contextmanager
def opened(path: str | os.PathLike[str], max_bytes: int) -> Iterator[ModelFile]:
    """A model file, its format, lengths and header checked. Pipes and devices are refused."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelFileError(f"{path} is not a regular file. Pass the path of a model file.")
    # Without O_NONBLOCK a pipe that takes the file's place in between would make us wait forever.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags | getattr(os, "O_CLOEXEC", 0)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ModelFileError(f"{path} is not a regular file. Pass the path of a model file.")
        yield ModelFile(file, path, max_bytes)


def array_table(arrays: Sequence[np.ndarray]) -> list[ArrayEntry]:
    """What a header says about arrays."""
    return [ArrayEntry(a.dtype, a.shape, "C" if a.flags.c_contiguous else "F") for a in arrays]


def _wide(dtype: np.dtype) -> np.dtype:
    """What numbers of a dtype are in memory."""
    return np.dtype("<f8") if dtype == np.dtype("<f4") else dtype


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _is_proper(values: np.ndarray) -> bool:
    """Whether the bytes of an array are values of its dtype: of booleans and text not all are."""
    if values.dtype.kind == "b":
        return bool((values.view(np.uint8) <= 1).all())
    if values.dtype.kind == "U" and values.size:
        letters = np.ravel(values, order="K").view(np.uint32)
        return bool(((letters < 0xD800) | ((letters > 0xDFFF) & (letters <= 0x10FFFF))).all())
    return True


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _padding(size: int) -> bytes:
    return bytes(_padded(size) - size)


def _bytes(values: np.ndarray) -> memoryview:
    flat = values.ravel(order="A")
    return flat.view(np.uint8).data if flat.size else memoryview(b"")


def _damaged(path: Any) -> ModelFileError:
    return ModelFileError(f"{path} is damaged: its content does not match its checksum. Copy it again.")
