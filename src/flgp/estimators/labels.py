"""The labelled rows of a fit, to which a later `update` adds; and what is to be learned from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._stored import stored
from .._typing import Array, IntArray
from ..process.evidence import Target
from ..rows.blocks import take_rows
from ..rows.sources import local_labels
from .validation import check_row_values, check_weights

# With fewer labels than this there is nothing to tell two terms apart by: a line explains two labels as well
# as a manifold does.
FEWEST_NUMBERS = 20


@stored("labels")
@dataclass(frozen=True)
class Labels:
    """m labelled points, and what is known about each."""

    points: Array  # (m, p)
    y: Array  # (m,) classes, or (m, k) targets with NaN where one of several is missing
    known: Mapping[str, Array | None]  # weight, exposure, ... (m,); None: 1 everywhere
    row: IntArray  # (m,) numbers of the rows in the user's data, for messages
    in_memory: bool = True  # whether the fit could hold all rows, so that a local term may be asked for
    offset: Array | None = None  # (m, k) added to each of k latent functions
    trust: Array | None = None  # (m,) probability that each is right, once that was judged

    def __len__(self) -> int:
        return len(self.points)

    @property
    def weight(self) -> Array | None:
        """How much each counts; None: 1 everywhere."""
        given = self.known["weight"]
        return given if self.trust is None else self.trust if given is None else given * self.trust

    def joined(self, more: Labels) -> Labels:
        """These, then `more`; which of them are right is to be judged again."""
        sizes = len(self), len(more)
        known = {name: _joined((values, more.known[name]), sizes) for name, values in self.known.items()}
        points, row = np.concatenate([self.points, more.points]), np.concatenate([self.row, more.row])
        offset = None  # all labels have one, or none has
        if self.offset is not None and more.offset is not None:
            offset = np.concatenate([self.offset, more.offset])
        return Labels(points, _same_kind(self.y, more.y), known, row, self.in_memory, offset)

    def beside(self, offset: Array | None) -> Labels:
        """The same with the offset of their rows, of that of all rows (n, k)."""
        return self if offset is None else replace(self, offset=offset[self.row])

    def take(self, rows: Any) -> Labels:
        """The same for a subset of the rows."""
        known = {name: None if values is None else values[rows] for name, values in self.known.items()}
        offset = None if self.offset is None else self.offset[rows]
        trust = None if self.trust is None else self.trust[rows]
        return Labels(self.points[rows], self.y[rows], known, self.row[rows], self.in_memory, offset, trust)


@dataclass(frozen=True)
class Problem:
    """The latent functions to learn, and what they have in common."""

    targets: Sequence[Target]
    fewest_labels: int  # from which on several terms can be told apart
    shared: bool = False  # whether the functions share their hyperparameters
    rank: int = 0  # of what links the functions; 0: nothing does


def labeled_rows(X: Array, rows: IntArray) -> Array:
    """The labelled rows of X in double precision."""
    return take_rows(X, rows).astype(np.float64, copy=False)


def _joined(parts: Sequence[Array | None], sizes: Sequence[int]) -> Array | None:
    """Columns of which some may be left out, which means 1 everywhere."""
    if all(part is None for part in parts):
        return None
    filled = [np.ones(size) if part is None else part for part, size in zip(parts, sizes, strict=True)]
    return np.concatenate(filled)


def _same_kind(old: Array, new: Array) -> Array:
    """Old and new labels in one array, of the old ones' type where that loses nothing."""
    if (old.dtype.kind in "US") != (new.dtype.kind in "US"):
        raise ValueError(
            f"The new labels are of type {new.dtype}, those of the fit of type {old.dtype}. "
            "Give labels of the same kind."
        )
    if old.dtype.kind in "iub" and new.dtype.kind in "iubf":
        same = new.astype(old.dtype)
        if (same == new).all():
            new = same
    return np.concatenate([old, new])


def checked_targets(y: Any, n: int) -> tuple[Array, bool]:
    """Targets (n, k), with NaN where unlabelled, and whether y had no second axis."""
    if y is None:
        raise ValueError(
            "FLGPRegressor requires y to be passed, but the target y is None. Mark unlabelled rows by NaN."
        )
    try:
        targets = np.asarray(local_labels(y, None), dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError("y must be numbers, with NaN where a row is unlabelled.") from error
    if targets.ndim not in (1, 2):
        raise ValueError(f"y has shape {targets.shape}. Give (n,) or (n, k).")
    one_column = targets.ndim == 1
    targets = targets[:, None] if one_column else targets
    if len(targets) != n:
        raise ValueError(
            f"y has {len(targets)} rows but X has {n}. y needs one target per row of X, NaN if unknown."
        )
    if np.isinf(targets).any():
        raise ValueError("y contains infinity. Use NaN for unlabelled rows.")
    return targets, one_column


def labeled_targets(X: Any, targets: Array, sample_weight: Any, known: Mapping[str, Any]) -> Labels:
    """The labelled rows among those of X, with targets (n, k) and what is known about each row."""
    weight, ignored = check_weights(sample_weight, np.asarray(np.isnan(targets).all(axis=1)))
    columns = {name: check_row_values(name, values, len(X)) for name, values in known.items()}
    columns["weight"] = weight
    labeled = np.flatnonzero(~ignored)
    given = {name: values if values is None else values[labeled] for name, values in columns.items()}
    return Labels(labeled_rows(X, labeled), targets[labeled], given, labeled)
