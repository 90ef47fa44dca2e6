"""What a target column holds: classes, numbers or counts; a note says so where it is a guess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._words import check_choice
from .cells import numbers_of, objects, plain_text, times_of
from .columns import named_cells
from .errors import TableError
from .identifiers import identifier, numbers_the_rows

TASKS = {"classification": "classes", "regression": "gaussian", "counts": "negative_binomial"}
# Integers with at most this many distinct values are treated as classes.
_FEW_VALUES = 10
# Classes with fewer labelled rows than this on average, if they are many, are rather names.
_ROWS_PER_CLASS, _MANY_CLASSES = 2.0, 20


@dataclass(frozen=True)
class Target:
    """A target column and what it was taken for."""

    likelihood: str  # "classes", or one of the regressor's
    values: Any  # Series, None or NaN where unlabelled
    notes: list[str]


def choose_target(values: Any, likelihood: str = "auto", task: str | None = None) -> Target:
    """What to predict in a column: a likelihood or "classes"; "auto" looks at the column.

    `task` asks the same in plainer words: "classification", "regression" or "counts".
    """
    name = str(values.name)
    notes: list[str] = []
    if task is not None:
        check_choice("--task", task, list(TASKS), error=TableError)
        if likelihood not in ("auto", TASKS[task]) and (likelihood == "classes" or task == "classification"):
            raise TableError(f"--task {task} and --likelihood {likelihood} contradict each other. Use one.")
        likelihood = TASKS[task] if likelihood == "auto" else likelihood
    asked = likelihood != "auto"
    if not values.notna().any():
        raise TableError(f"The target {name!r} is empty in every row. Fill in the rows that are known.")
    texts = objects(values)
    if values.dtype.kind in "mM" or (values.dtype.kind not in "iufb" and times_of(texts) is not None):
        raise TableError(
            f"The target {name!r} holds dates or times. Turn it into a number, such as days from a start, or "
            "name another --target."
        )
    if values.dtype.kind not in "iufb" and likelihood != "classes":
        values = _numbers_if_most(values, notes, asked)
    if not asked:
        likelihood = _guess(values, notes)
    if likelihood == "classes":
        _check_classes(values, name, asked, notes)
    elif values.dtype.kind in "iufb":
        _check_numbers(values, name, asked, notes)
    return Target(likelihood, values, notes)


def _numbers_if_most(values: Any, notes: list[str], asked: bool) -> Any:
    """Text that is numbers but for a few cells as numbers; those cells are unlabelled, and named."""
    import pandas

    texts = objects(values)
    numbers = numbers_of(texts)
    if numbers is None:
        return values
    if numbers.broken.any():
        other = "" if asked else "; if these are classes, use --task classification"
        notes.append(
            f"the target {str(values.name)!r} holds numbers, but {named_cells(texts, numbers.broken)} not a "
            f"number: taken as unlabelled{other}"
        )
    return pandas.Series(numbers.values, index=values.index, name=values.name)


def _guess(values: Any, notes: list[str]) -> str:
    name = str(values.name)
    if values.dtype.kind not in "iuf":
        return "classes"
    found = np.unique(values.dropna().to_numpy(dtype=float))
    whole = bool(np.isfinite(found).all() and (found == np.floor(found)).all())
    if whole and len(found) <= _FEW_VALUES:
        listed = ", ".join(plain_text(float(value)) for value in found)
        notes.append(
            f"{name!r} has few distinct integers ({listed}) and is treated as classes; if it is a number, "
            "use --task regression or --task counts"
        )
        return "classes"
    if whole and found.min() >= 0:
        notes.append(
            f"{name!r} holds whole numbers and is treated as a number; if these are counts, use --task counts"
        )
    return "gaussian"


def _check_classes(values: Any, name: str, asked: bool, notes: list[str]) -> None:
    known = values.dropna()
    count, rows = known.nunique(), len(known)
    if count == 1:
        only = plain_text(known.iloc[0])
        text = f"The target {name!r} has one class only, {only!r}, in {rows:,} labelled row(s)"
        if not asked:
            raise TableError(
                f"{text}: there is nothing to tell apart. Label rows of another class, or use "
                "--task classification anyway."
            )
        notes.append(text[0].lower() + text[1:])
    many = count > _MANY_CLASSES and rows / count < _ROWS_PER_CLASS
    if (many or (identifier(values, name) and rows > _FEW_VALUES)) and not asked:
        raise TableError(
            f"The target {name!r} has {count:,} different values in {rows:,} labelled row(s), which "
            "looks like names or free text rather than classes. Name another --target, or use "
            "--task classification."
        )
    if count > 5 * _MANY_CLASSES:
        notes.append(
            f"the target {name!r} has {count:,} classes: the time of the fit grows with their number"
        )


def _check_numbers(values: Any, name: str, asked: bool, notes: list[str]) -> None:
    known = values.dropna()
    if not asked and (identifier(values, name) or numbers_the_rows(values)):
        raise TableError(
            f"The target {name!r} numbers the rows, as an identifier does. Name another --target, or use "
            "--task regression."
        )
    if known.nunique() == 1 and len(known) > 1:
        text = f"The target {name!r} is {known.iloc[0]:g} in all {len(known):,} labelled rows"
        if not asked:
            raise TableError(
                f"{text}: there is nothing to learn. Name another --target, or use --task regression."
            )
        notes.append(text[0].lower() + text[1:])
