"""What the cells of a column mean: numbers, dates or text, and which of them are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._words import listed
from .cells import Numbers, dates_of, listed_marks, numbers_of, plain_text, tidy, tidy_numbers
from .formats import ReadOptions, pandas_or_advice

# Cells that a note names.
_NAMED = 5


def typed(frame: Any, options: ReadOptions, decimal: str, notes: list[str], codes: Sequence[str] = ()) -> Any:
    """Columns of text as numbers or dates where all cells are such; cells that mean "missing" are None."""
    if len(set(frame.columns)) < len(frame.columns):
        return frame  # `Schema` says so
    marks: dict[str, dict[str, int]] = {}
    changed: dict[str, Any] = {}
    for name in frame.columns:
        values = frame[name]
        if values.dtype.kind in "iuf":
            changed[name] = tidy_numbers(values, options.marks, marks) if options.marks else values
        elif values.dtype.kind in "bmM":
            changed[name] = values
        else:
            changed[name] = _typed_text(values, options, decimal, notes, marks, name in codes)
    line = listed_marks(marks)
    if line is not None and line not in notes:
        notes.append(line)
    return pandas_or_advice().DataFrame(changed, index=frame.index)


def _typed_text(
    values: Any,
    options: ReadOptions,
    decimal: str,
    notes: list[str],
    marks: dict[str, dict[str, int]],
    is_code: bool,
) -> Any:
    pandas = pandas_or_advice()
    name = str(values.name)
    texts = tidy(values, options.marks, marks)
    if texts.isna().all():
        return pandas.Series(np.nan, index=values.index, dtype=float)
    if is_code:
        _add(notes, f"column {name!r} has leading zeros and was read as text, not as a number")
        return texts
    numbers = numbers_of(texts, decimal)
    if numbers is not None:
        if numbers.note:
            _add(notes, f"column {name!r}: {numbers.note}")
        for mark, times in numbers.marks.items():
            marks.setdefault(name, {})[mark] = times
        return _numbers_or_text(texts, numbers)
    dates = dates_of(texts, options.dates)
    if dates is not None:
        found, note = dates
        if note:
            _add(notes, f"column {name!r}: {note}")
        broken = found.isna() & texts.notna()
        if broken.any():
            _add(
                notes, f"column {name!r}: {named_cells(texts, broken.to_numpy())} not a date, read as missing"
            )
        return found
    return texts


def _numbers_or_text(texts: Any, numbers: Numbers) -> Any:
    """Numbers if all cells are; otherwise text in which numbers are written plainly.

    Whether the other cells are mistakes or names of classes depends on what the column is used for.
    """
    pandas = pandas_or_advice()
    if not numbers.broken.any():
        return pandas.Series(numbers.values, index=texts.index, name=texts.name)
    plain = [
        cell if bad else None if np.isnan(value) else plain_text(float(value))
        for cell, value, bad in zip(texts, numbers.values, numbers.broken, strict=True)
    ]
    return pandas.Series(plain, index=texts.index, name=texts.name, dtype=object)


def named_cells(texts: Any, chosen: Any) -> str:
    """Cells with the numbers of their rows in the file, in words: "row 3 ('abc') is"."""
    rows = np.flatnonzero(chosen)
    cells = [f"row {texts.index[row]} ({str(texts.iloc[row])[:30]!r})" for row in rows[:_NAMED]]
    return f"{listed(cells, len(rows))} {'is' if len(rows) == 1 else 'are'}"


def _add(notes: list[str], note: str) -> None:
    if note not in notes:
        notes.append(note)
