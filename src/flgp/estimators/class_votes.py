"""Uncertain labels: a row of class probabilities, or of votes, for each labelled point."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from .._typing import Array, IntArray
from ..likelihoods.observations import LARGEST, rows_in_words


def is_votes(y: Any) -> bool:
    """Whether y has a column for each class."""
    shape = getattr(y, "shape", None)
    if shape is None:
        shape = np.asarray(y, dtype=object).shape
    return len(shape) == 2 and shape[1] > 1


def expanded_votes(
    y: Any, n: int, complete: bool, without: Collection[Any] = ()
) -> tuple[IntArray, Array, Array]:
    """Votes (n, C) as labels with weights: rows, classes and weights of all that are not 0.

    A probability counts as that share of a label, a vote as one: log p(y | f) = Σ_c votes_c log p(c | f). NaN
    in a whole row means unlabelled. The names of a DataFrame's columns are the classes, otherwise 0, …, C-1.
    If the votes must be `complete`, every class needs one, but for those `without`.
    """
    try:
        votes = np.asarray(y, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError("y with several columns must hold probabilities or votes of the classes.") from error
    names = np.asarray(getattr(y, "columns", np.arange(votes.shape[1])))
    if len(votes) != n:
        raise ValueError(f"y has {len(votes)} rows but X has {n}. y needs one row for each of X.")
    missing = np.isnan(votes)
    bad = (missing.any(axis=1) & ~missing.all(axis=1)) | ((votes < 0) | (votes > LARGEST)).any(axis=1)
    bad |= ~missing.all(axis=1) & (np.nansum(votes, axis=1) == 0)
    if bad.any():
        raise ValueError(
            "Probabilities or votes must be at least 0 and not all 0, or NaN in the whole row if unlabelled: "
            f"see {rows_in_words(bad)}."
        )
    if missing.all():
        raise ValueError("y has no labelled row: all are NaN. Give votes for at least one row.")
    empty = (np.nansum(votes, axis=0) == 0) & [name not in without for name in names.tolist()]
    if complete and empty.any():
        raise ValueError(f"Class {names[empty].tolist()[0]!r} has no vote in any row of y. Drop its column.")
    rows, columns = np.nonzero(np.nan_to_num(votes) > 0)
    return rows, names[columns], votes[rows, columns]
