"""The idx format of the MNIST files."""

from __future__ import annotations

import gzip
import zlib
from math import prod
from pathlib import Path

import numpy as np
import numpy.typing as npt

_UNSIGNED_BYTE = 0x08


def read_idx(path: str | Path) -> npt.NDArray[np.uint8]:
    """Read an idx file of unsigned bytes, gzipped or not.

    Parameters
    ----------
    path : str or Path
        The file; it is unpacked if it begins with the magic number of gzip, whatever its name.

    Returns
    -------
    ndarray of uint8
        With the shape stated in the file header.

    Raises
    ------
    ValueError
        If the file is damaged; the message names the file and the damage.
    """
    path = Path(path)
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise _damaged(path, f"it cannot be unpacked ({error})") from error
    if len(content) < 4 or content[:2] != b"\0\0":
        raise _damaged(path, "it does not start like an idx file")
    kind, n_axes = content[2], content[3]
    if kind != _UNSIGNED_BYTE or n_axes == 0:
        raise _damaged(path, f"its header asks for type 0x{kind:02x} with {n_axes} axes, not unsigned bytes")
    start = 4 + 4 * n_axes
    if len(content) < start:
        raise _damaged(path, "it ends within its header")
    shape = tuple(np.frombuffer(content, dtype=">u4", count=n_axes, offset=4).tolist())
    if len(content) - start != prod(shape):
        raise _damaged(path, f"it holds {len(content) - start} values, but its header says {shape}")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def _damaged(path: Path, how: str) -> ValueError:
    return ValueError(f"{path} is damaged: {how}. Download it again.")
