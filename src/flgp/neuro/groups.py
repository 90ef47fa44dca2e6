"""Groups of subjects by a covariate."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .errors import ImageError
from .volumes import stem

# A covariate with more distinct numbers than this is split at its median.
_MOST_GROUPS = 6


def read_groups(path: Any, column: str | None, subjects: Sequence[str]) -> dict[str, str]:
    """The group of each subject, from a CSV table with a column `subject` and covariates.

    A group is "column=value", or below or above the median for a covariate with many values, and "" without a
    table. `column` may be left out if there is only one. Subjects in the table may have an extension.
    """
    if path is None:
        if column is not None:
            raise ImageError("--group-by needs a table of covariates: --covariates FILE.")
        return dict.fromkeys(subjects, "")
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            table = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ImageError(f"the covariates {path} cannot be read: {error}") from error
    columns = [name for name in (table[0] if table else {}) if name != "subject"]
    if not table or "subject" not in table[0] or not columns:
        raise ImageError(
            "the covariates need a header line, a column `subject` and at least one more column."
        )
    if column is None and len(columns) == 1:
        column = columns[0]
    if column not in columns:
        raise ImageError(f"choose the covariate with --group-by: {', '.join(columns)}.")
    values = {stem((row["subject"] or "").strip()): (row[column] or "").strip() for row in table}
    absent = [name for name in subjects if name not in values]
    if absent:
        raise ImageError(f"the covariates have no line for {', '.join(absent[:5])}.")
    mine = [values[name] for name in subjects]
    if len(set(mine)) > _MOST_GROUPS:
        try:
            numbers = np.array([float(value) for value in mine])
        except ValueError:
            numbers = np.array([])
        if len(numbers):
            middle = float(np.median(numbers))
            mine = [f"{column} {'≤' if value <= middle else '>'} {middle:g}" for value in numbers]
            return dict(zip(subjects, mine, strict=True))
    return {name: f"{column}={value}" for name, value in zip(subjects, mine, strict=True)}
