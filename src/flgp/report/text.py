"""Names, numbers and arrays as a page holds them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np


def short(text: Any, most: int = 60) -> str:
    """A name that fits on a page."""
    text = str(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def number(value: Any) -> str:
    """One number or a few, with four digits."""
    values = np.atleast_1d(np.asarray(value, dtype=float))
    shown = ", ".join(f"{v:.4g}" for v in values[:4])
    return shown + (" …" if len(values) > 4 else "")


def packed(values: Any, dtype: Any) -> str:
    """Little-endian bytes in base64."""
    plain = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return base64.b64encode(plain.tobytes()).decode("ascii")
