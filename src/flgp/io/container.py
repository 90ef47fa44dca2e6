"""The bytes of a model file: a sealed JSON header, then plain arrays one after the other.

    8 bytes   magic (with line endings that a text-mode transfer would corrupt)
    2 bytes   version of the format
    8 bytes   length of the header
    8 bytes   length of the arrays
    32 bytes  SHA-256 of everything else
    header    JSON; its "arrays" lists dtype, shape and order of each array
    arrays    little-endian, each starting at a multiple of 64 bytes from the first

Offsets are not stored: they follow from the sizes, so arrays cannot overlap or leave gaps.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import stat
import struct
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .errors import ModelFileError

MAGIC = b"\x89FLGP\r\n\x1a"
FORMAT_VERSION = 2
_FIXED = struct.Struct("<HQQ")
_DIGEST_BYTES = 32
PREFIX_BYTES = len(MAGIC) + _FIXED.size + _DIGEST_BYTES
_ALIGNMENT = 64
_MAX_HEADER_BYTES = 64 * 2**20
# Booleans, integers, floats and text; nothing that could hold a Python object.
_DTYPE = re.compile(r"\|b1|[|<][iu]1|<[iu][248]|<f[48]|<U[1-9]\d{0,5}")


def plain_array(values: np.ndarray) -> np.ndarray:
    """The array in little-endian, contiguous form; Fortran order is kept."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    if not _DTYPE.fullmatch(little.dtype.str):
        raise ModelFileError(f"An array of dtype {values.dtype} cannot be stored in a model file.")
    return little if little.flags.f_contiguous else np.ascontiguousarray(little)


def write(path: str | os.PathLike, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> None:
    """Write header and arrays atomically: `path` holds either the complete new file or the old one."""
    arrays = [plain_array(values) for values in arrays]
    table = [
        {"dtype": a.dtype.str, "shape": list(a.shape), "order": "C" if a.flags.c_contiguous else "F"}
        for a in arrays
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
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(MAGIC + fixed + digest.digest() + text)
            for values in arrays:
                file.write(_bytes(values))
                file.write(_padding(values.nbytes))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


def read(path: str | os.PathLike, max_bytes: int) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Header and arrays of a file, after a check of its format, length and checksum."""
    with open(path, "rb") as file:
        start = _read_start(file, path, max_bytes)
        payload = np.empty(start.payload_bytes, dtype=np.uint8)
        if file.readinto(payload.data) != start.payload_bytes:
            raise ModelFileError(f"{path} ends too early. Copy the file again.")
    start.digest.update(payload.data)
    if start.digest.digest() != start.seal:
        raise _damaged(path)
    header = _parsed(start.text, path)
    return header, list(_split(payload, header, path))


def read_header(path: str | os.PathLike, max_bytes: int) -> dict[str, Any]:
    """The header alone, without a check of the checksum."""
    with open(path, "rb") as file:
        return _parsed(_read_start(file, path, max_bytes).text, path)


class _Start(NamedTuple):
    text: bytes  # the header, not parsed
    payload_bytes: int
    digest: Any  # of everything read so far
    seal: bytes  # the expected digest of the whole file


def _read_start(file: Any, path: Any, max_bytes: int) -> _Start:
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(f"{path} is not a regular file. Pass the path of a model file.")
    size = status.st_size
    prefix = file.read(PREFIX_BYTES)
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
        raise ModelFileError(f"{path} {what}: {size:,} bytes instead of {expected:,}. Copy the file again.")
    if header_bytes > _MAX_HEADER_BYTES:
        raise _damaged(path)
    text = file.read(header_bytes)
    digest = hashlib.sha256(MAGIC + fixed)
    digest.update(text)
    return _Start(text, payload_bytes, digest, prefix[-_DIGEST_BYTES:])


def _parsed(text: bytes, path: Any) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _damaged(path) from error
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), list):
        raise _damaged(path)
    return header


def _split(payload: np.ndarray, header: dict[str, Any], path: Any) -> Any:
    """Each array, copied to separate memory, so that it is aligned and can be freed alone."""
    position = 0
    for entry in header["arrays"]:
        dtype, shape, order = _checked_entry(entry, path)
        size = math.prod(shape) * dtype.itemsize
        if position + _padded(size) > len(payload):
            raise _damaged(path)
        flat = payload[position : position + size].view(dtype)
        yield flat.reshape(shape, order=order).copy(order=order)
        position += _padded(size)
    if position != len(payload):
        raise _damaged(path)


def _checked_entry(entry: Any, path: Any) -> tuple[np.dtype, tuple[int, ...], Any]:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "order"}:
        raise _damaged(path)
    dtype, shape, order = entry["dtype"], entry["shape"], entry["order"]
    known = isinstance(dtype, str) and _DTYPE.fullmatch(dtype) and order in ("C", "F")
    sizes = isinstance(shape, list) and len(shape) <= 8
    if not known or not sizes or not all(type(n) is int and 0 <= n < 2**48 for n in shape):
        raise _damaged(path)
    return np.dtype(dtype), tuple(shape), order


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _padding(size: int) -> bytes:
    return bytes(_padded(size) - size)


def _bytes(values: np.ndarray) -> memoryview:
    flat = values.ravel(order="A")
    return flat.view(np.uint8).data if flat.size else memoryview(b"")


def _damaged(path: Any) -> ModelFileError:
    return ModelFileError(f"{path} is damaged: its content does not match its checksum. Copy it again.")
