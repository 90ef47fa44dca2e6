"""Columns that only name or number the rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

# Names that identifiers have: id, ID, user_id, patientId, index, row, key, uuid, "Unnamed: 0".
_ID_NAME = re.compile(
    r"(?i:id|ids|index|idx|row|rownames?|row_?(number|names?|id)|key|uuid|guid|nr|no|unnamed: ?\d+)"
    r"|.*[_\-. ](?i:id|uuid|guid|key|index|nr|no|nummer)\.?|.*[a-z](ID|Id|UUID|Nr)"
)
_FEWEST_ROWS = 10
# A whole number of nine digits or more.
_LONG = 1e8
# What names of columns begin with that `flgp predict --keep` and `flgp label` add to a table.
OWN_PREFIX = "flgp_"


def identifier(values: Any, name: str) -> str | None:
    """Why a column looks like an identifier, as the end of a sentence; None if it does not."""
    known = values.dropna()
    if len(known) < _FEWEST_ROWS or known.nunique() < len(known):
        return None
    if known.dtype.kind in "iuf" and _ID_NAME.fullmatch(name):
        numbers = known.to_numpy(dtype=float)
        if (numbers == np.floor(numbers)).all():
            return "has a different whole number in every row, which looks like an identifier,"
    if known.dtype.kind == "O" and _ID_NAME.fullmatch(name):
        return "has a different text in every row, which looks like an identifier,"
    return None


def numbers_the_rows(values: Any) -> bool:
    """Whether the known values are k, k + 1, k + 2, … in the order of the rows."""
    known = values.dropna()
    if len(known) < _FEWEST_ROWS or known.dtype.kind not in "iuf":
        return False
    return bool((np.diff(known.to_numpy(dtype=float)) == 1.0).all())


def names_the_rows(values: Any) -> bool:
    """Whether every row has a whole number of its own, of so many digits that it measures nothing."""
    known = values.dropna()
    if len(known) < _FEWEST_ROWS or known.dtype.kind not in "iuf" or known.nunique() < len(known):
        return False
    numbers = known.to_numpy(dtype=float)
    return bool((numbers == np.floor(numbers)).all() and (np.abs(numbers) >= _LONG).all())


def without_own(frame: Any) -> Any:
    """The table without the columns that an earlier prediction added."""
    return frame[[name for name in frame.columns if not str(name).startswith(OWN_PREFIX)]]
