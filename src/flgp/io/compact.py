"""What a compact file leaves out of a model."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import Array
from ..process.compact_field import compacted

# Smaller arrays stay exact: they take little space, and some of them matter a lot.
_LEAST_SIZE = 256
_EXAMPLES = 20
# How far predictions may move, relative to the largest of their kind.
_TOLERANCE = 1e-4


def without_rows(model: Any) -> Any:
    """A copy without labels and fitted rows, whose Gaussian posteriors are those of the weights."""
    short = copy.copy(model)
    for name in ("_labels_", "transduction_", "_evidence_"):
        vars(short).pop(name, None)
    anchors = getattr(model, "anchors_", None)
    if anchors is not None and anchors.shape[1] == model.n_features_in_:
        short._examples_ = np.array(anchors[:: -(-len(anchors) // _EXAMPLES)])
    if hasattr(model, "_process_"):
        short._process_ = compacted(model._process_)
    return short


def narrowed(values: np.ndarray) -> np.ndarray:
    """Large arrays of numbers in 4 bytes each, if they fit."""
    if values.dtype != np.float64 or values.size < _LEAST_SIZE:
        return values
    with np.errstate(over="ignore", under="ignore"):
        short = values.astype(np.float32)
    return short if np.isfinite(short).all() else values


def widened(values: np.ndarray) -> np.ndarray:
    """As `load` sees them."""
    return values.astype(np.float64) if values.dtype == np.float32 else values


def are_close(before: Sequence[Array], after: Sequence[Array]) -> bool:
    """Whether predictions stay the same when the numbers of a model are rounded."""
    return all(
        np.abs(new - old).max(initial=0.0) <= _TOLERANCE * np.abs(old).max(initial=0.0)
        for old, new in zip(before, after, strict=True)
    )
