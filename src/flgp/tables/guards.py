"""Signs that a table would give a good model for a bad reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._words import listed
from .identifiers import names_the_rows, numbers_the_rows

_FEWEST_ROWS = 5
# A column whose correlation with the target is above this is a copy of it in other units.
_COPY = 0.9999
# A column with one value in all but this share of the rows, or this number of them, is nearly constant.
_RARE_SHARE, _RARE_ROWS, _FEWEST_FOR_RARE = 0.005, 2, 100
# Columns that a note names.
_NAMED = 5
# Whole numbers that people write for "missing".
_SENTINELS = (-9.0, -99.0, -999.0, -9999.0, -99999.0, 9999.0, 99999.0)


def suspicions(frame: Any, target: str, features: Sequence[str]) -> list[str]:
    """Notes about features that may be copies of the target, or hold marks of "missing" as numbers."""
    labels = frame[target]
    labeled = labels.notna().to_numpy()
    notes = []
    for name in features:
        values = frame[name]
        if labeled.sum() >= _FEWEST_ROWS and _tells_all(values[labeled], labels[labeled]):
            notes.append(
                f"column {name!r} determines the target {target!r} in all labelled rows: if it is known only "
                f"together with the target, leave it out with --exclude {name!r}"
            )
        elif 0 < labeled.sum() < len(frame) and np.array_equal(values.notna().to_numpy(), labeled):
            notes.append(
                f"column {name!r} is known in exactly the labelled rows: if it comes with the target, leave "
                f"it out with --exclude {name!r}"
            )
        if numbers_the_rows(values) and len(features) > 1:
            notes.append(
                f"column {name!r} numbers the rows: if that means nothing, leave it out with "
                f"--exclude {name!r}"
            )
        if names_the_rows(values) and len(features) > 1:
            notes.append(
                f"column {name!r} has a different long number in every row, as customers and orders do: if "
                f"it only names the rows, leave it out with --exclude {name!r}"
            )
        if (mark := _sentinel(values)) is not None:
            notes.append(
                f"column {name!r} has {mark:g} in {int((values == mark).sum()):,} row(s), far from all other "
                f"values: if that means missing, use --na {mark:g}"
            )
    return [*notes, *_nearly_constant(frame, features), *_twice(frame, features)]


def _nearly_constant(frame: Any, features: Sequence[str]) -> list[str]:
    """A note about numbers that differ in a few rows only, which are then far from all others."""
    most = max(_RARE_ROWS, _RARE_SHARE * len(frame))
    rare = {}
    for name in features:
        values = frame[name]
        if len(frame) >= _FEWEST_FOR_RARE and values.dtype.kind in "iuf":
            count = int(values.notna().sum() - values.value_counts().iloc[0])
            if 0 < count <= most:
                rare[name] = count
    if not rare:
        return []
    first = [f"{name!r} (all but {count})" for name, count in list(rare.items())[:_NAMED]]
    return [
        f"column(s) with one value in nearly all rows: {listed(first, len(rare))}; the other rows are far "
        "from all others, so predictions there are uncertain: --exclude leaves columns out"
    ]


def _twice(frame: Any, features: Sequence[str]) -> list[str]:
    """Notes about columns that hold the same as an earlier one."""
    from pandas.util import hash_pandas_object

    first: dict[bytes, str] = {}
    notes = []
    for name in features:
        earlier = first.setdefault(hash_pandas_object(frame[name], index=False).to_numpy().tobytes(), name)
        if earlier != name:
            notes.append(
                f"columns {earlier!r} and {name!r} hold the same, which counts twice: leave one out with "
                f"--exclude {name!r}"
            )
    return notes[:_NAMED]


def _tells_all(values: Any, labels: Any) -> bool:
    """Whether a column is the target in other words or other units."""
    known = values.notna().to_numpy()
    if known.sum() < max(_FEWEST_ROWS, len(known) / 2):
        return False
    x, y = values[known], labels[known]
    if x.dtype.kind in "iuf" and y.dtype.kind in "iuf" and y.nunique() > 2:
        x, y = x.to_numpy(dtype=float), y.to_numpy(dtype=float)
        with np.errstate(all="ignore"):
            return bool(abs(np.corrcoef(x, y)[0, 1]) > _COPY)
    kinds = x.astype(str).nunique()
    if kinds < 2 or kinds != y.nunique() or kinds > len(y) / 2:
        return False
    pairs = {(str(a), str(b)) for a, b in zip(x, y, strict=True)}
    return len(pairs) == kinds


def _sentinel(values: Any) -> float | None:
    """A number that stands for "missing": one of the usual ones, several times, far from the rest."""
    if values.dtype.kind not in "iuf":
        return None
    numbers = values.dropna().to_numpy(dtype=float)
    for mark in _SENTINELS:
        rest = numbers[numbers != mark]
        if 1 < len(numbers) - len(rest) < len(numbers) and len(rest) > _FEWEST_ROWS:
            low, high = rest.min(), rest.max()
            if mark < low - (high - low) or mark > high + (high - low):
                return mark
    return None
