"""Mean, standard deviation and count of every measured column, for every case of every experiment."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..reproduce.catalogue import NAMES, find
from ..reproduce.experiment import Row
from ..reproduce.store import rank, value_of

# What rows of one case differ in.
_REPEATED = ("repeat", "subject")


@dataclass(frozen=True)
class Cell:
    """One measured column of one case, over its repeats."""

    mean: float
    sd: float
    count: int
    largest: float


@dataclass(frozen=True)
class Summary:
    """What summary.json holds: for each experiment its run and its cases."""

    content: Mapping[str, Any]

    def cell(self, experiment: str, metric: str, **case: Any) -> Cell:
        """The statistics of a case; a LookupError that names it if results/ does not have it."""
        for found in self.content[experiment]["cases"]:
            if all(found["case"].get(key) == value for key, value in case.items()):
                return Cell(**found["metrics"][metric])
        raise LookupError(f"results/{experiment} has no rows with {case}.")

    def text(self) -> str:
        """As JSON, with sorted cases, so that the same rows make the same file."""
        return json.dumps(self.content, indent=1, ensure_ascii=False) + "\n"


def summarize_results(folder: Path) -> Summary:
    """The summary of all experiments that have rows in a folder."""
    content: dict[str, Any] = {}
    for name in NAMES:
        path = folder / name / "rows.csv"
        if path.exists():
            run = json.loads((path.parent / "run.json").read_text(encoding="utf-8"))
            about = {key: run[key] for key in ("flgp", "seed", "python", "libraries")}
            content[name] = {**about, "cases": _cases(name, _rows(path))}
    return Summary(content)


def _rows(path: Path) -> list[Row]:
    """As text; a checksum in the last column is not looked at, and the file stays as it is."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _cases(name: str, rows: list[Row]) -> list[dict[str, Any]]:
    experiment = find(name)
    keys = [key for key in experiment.keys if key not in _REPEATED]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(value_of(row[key]) for key in keys), []).append(row)
    found = []
    for values in sorted(groups, key=rank):
        metrics = {metric: _cell([row[metric] for row in groups[values]]) for metric in experiment.metrics}
        case = dict(zip(keys, values, strict=True))
        found.append({"case": case, "metrics": {key: cell for key, cell in metrics.items() if cell}})
    return found


def _cell(texts: list[str]) -> dict[str, Any] | None:
    """Six significant digits, as the rows have; None where a column is not measured."""
    values = np.array([float(text) for text in texts if text])
    if len(values) == 0:
        return None
    sd = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    found = {"mean": values.mean(), "sd": sd, "largest": values.max()}
    return {**{key: float(f"{value:.6g}") for key, value in found.items()}, "count": len(values)}
