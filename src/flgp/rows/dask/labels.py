"""Labels on a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._typing import Array
from .tasks import labeled_entries, task
from .waiting import compute


def gather_labels(y: Any, unlabeled: Any) -> Array:
    """Labels (n,) or targets (n, k) on the client; only labelled entries are transferred."""
    y = y.to_dask_array() if hasattr(y, "to_dask_array") else y
    if y.ndim > 1 and len(y.chunks[1]) > 1:
        y = y.rechunk({1: -1})
    pieces = compute(*[task(labeled_entries, part, unlabeled) for part in y.to_delayed().ravel()])
    total = sum(size for size, _, _ in pieces)
    kind = pieces[0][2].dtype
    if kind.kind == "f":
        result = np.full((total, *y.shape[1:]), np.nan)
    elif kind.kind in "biu":
        result = np.full((total, *y.shape[1:]), 0 if unlabeled is None else unlabeled)
    else:
        result = np.full(total, None, dtype=object)
    start = 0
    for size, index, values in pieces:
        result[start + index] = values
        start += size
    return result
