"""Tables of a study with several subjects: each subject, and the group with standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._typing import Array
from .experiment import Row
from .methods import LABELS
from .tables import Table

SCORES = {
    "mse": ("MSE", 4, 1.0),
    "trimmed_mse": ("trimmed MSE", 4, 1.0),
    "nll": ("NLL", 3, 1.0),
    "trimmed_nll": ("trimmed NLL", 3, 1.0),
    "coverage": ("95 % cover", 1, 100.0),
}
_Key = tuple[float, str, str]


@dataclass(frozen=True)
class Group:
    """A score of one method at one ratio: the mean over repeats of every subject."""

    subjects: tuple[str, ...]
    values: Array  # (k,)

    @property
    def mean(self) -> float:
        """Over the subjects, each of which counts once however many repeats it has."""
        return float(self.values.mean())

    @property
    def standard_error(self) -> float:
        """Of the mean over subjects; NaN for a single one."""
        k = len(self.values)
        return float(self.values.std(ddof=1) / np.sqrt(k)) if k > 1 else float("nan")


def cases(rows: Sequence[Row]) -> list[_Key]:
    """The ratios, methods and models that there are rows of."""
    order = list(LABELS)
    found = {(row["ratio"], row["method"], row["model"]) for row in rows}
    return sorted(found, key=lambda key: (key[0], order.index(key[1]), key[2]))


def group(rows: Sequence[Row], score: str, key: _Key) -> Group:
    """The score of every subject in one case."""
    each: dict[str, list[float]] = {}
    for row in rows:
        if (row["ratio"], row["method"], row["model"]) == key:
            each.setdefault(str(row["subject"]), []).append(row[score])
    names = tuple(sorted(each))
    return Group(names, np.array([np.mean(each[name]) for name in names]))


def subject_table(rows: Sequence[Row]) -> Table:
    """One line for each subject, ratio, method and model."""
    columns = ("subject", "ratio", "method", "model", *(name for name, _, _ in SCORES.values()))
    lines = []
    for key in cases(rows):
        ratio, method, model = key
        scores = {score: group(rows, score, key) for score in SCORES}
        for i, subject in enumerate(scores["mse"].subjects):
            values = (
                f"{unit * scores[score].values[i]:.{digits}f}" for score, (_, digits, unit) in SCORES.items()
            )
            lines.append((subject, f"{ratio:g}", LABELS[method], model, *values))
    lines.sort(key=lambda line: line[0])
    return Table("brain-subjects", "Each subject, mean over repeats", columns, lines)


def group_table(rows: Sequence[Row]) -> Table:
    """Mean and standard error over subjects."""
    columns = ("ratio", "method", "model", "subjects", *(name for name, _, _ in SCORES.values()))
    lines = []
    for key in cases(rows):
        ratio, method, model = key
        cells = []
        for score, (_, digits, unit) in SCORES.items():
            found = group(rows, score, key)
            error = found.standard_error
            text = f"{unit * found.mean:.{digits}f}"
            cells.append(text if np.isnan(error) else f"{text} ± {unit * error:.{digits}f}")
        lines.append((f"{ratio:g}", LABELS[method], model, str(len(found.subjects)), *cells))
    note = (
        "Mean over subjects ± its standard error (standard deviation of the subjects / √subjects); a subject "
        "counts once, with the mean of its repeats. Trimmed: without the top and bottom 1 % of errors."
    )
    return Table("brain-group", "The group", columns, lines, note)
