"""Tables of a study with several subjects: each subject, and the group with standard errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
_COLUMNS = tuple(name for name, _, _ in SCORES.values())
_Case = tuple[float, str, str]


def subject_means(rows: Sequence[Row]) -> dict[_Case, dict[str, dict[str, float]]]:
    """For each ratio, method and model, and for each subject in it, the scores' means over repeats."""
    order = list(LABELS)
    found: dict[_Case, dict[str, list[Row]]] = {}
    for row in sorted(
        rows, key=lambda r: (r["ratio"], order.index(r["method"]), r["model"], str(r["subject"]))
    ):
        case = found.setdefault((row["ratio"], row["method"], row["model"]), {})
        case.setdefault(str(row["subject"]), []).append(row)
    return {
        case: {
            subject: {score: float(np.mean([row[score] for row in own])) for score in SCORES}
            for subject, own in subjects.items()
        }
        for case, subjects in found.items()
    }


def subject_table(rows: Sequence[Row]) -> Table:
    """One line for each subject, ratio, method and model."""
    lines = []
    for (ratio, method, model), subjects in subject_means(rows).items():
        for subject, means in subjects.items():
            cells = [f"{unit * means[score]:.{digits}f}" for score, (_, digits, unit) in SCORES.items()]
            lines.append((subject, f"{ratio:g}", LABELS[method], model, *cells))
    lines.sort(key=lambda line: line[0])
    columns = ("subject", "ratio", "method", "model", *_COLUMNS)
    return Table("brain-subjects", "Each subject, mean over repeats", columns, lines)


def group_table(rows: Sequence[Row]) -> Table:
    """Mean and standard error over subjects, each of which counts once however many repeats it has."""
    lines = []
    for (ratio, method, model), subjects in subject_means(rows).items():
        cells = []
        for score, (_, digits, unit) in SCORES.items():
            values = np.array([means[score] for means in subjects.values()])
            cells.append(f"{unit * values.mean():.{digits}f}")
            if len(values) > 1:
                cells[-1] += f" ± {unit * values.std(ddof=1) / np.sqrt(len(values)):.{digits}f}"
        lines.append((f"{ratio:g}", LABELS[method], model, str(len(subjects)), *cells))
    note = (
        "Mean over subjects ± its standard error (standard deviation of the subjects / √subjects); a subject "
        "counts once, with the mean of its repeats. Trimmed: without the top and bottom 1 % of errors."
    )
    columns = ("ratio", "method", "model", "subjects", *_COLUMNS)
    return Table("brain-group", "The group", columns, lines, note)
