"""The statistics of every measured column, for every case of every experiment."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..reproduce.catalogue import NAMES, find
from ..reproduce.experiment import Experiment, Row
from ..reproduce.store import rank, value_of
from ..reproduce.tables import Statistics, summarize

# What rows of one case differ in.
_REPEATED = ("repeat", "subject")


@dataclass(frozen=True)
class Summary:
    """What summary.json holds: for each experiment its run and its cases."""

    content: Mapping[str, Any]

    def cell(self, experiment: str, metric: str, **case: Any) -> Statistics:
        """The statistics of a case; a LookupError that names it if results/ does not have it."""
        for found in self.content[experiment]["cases"]:
            if all(found["case"].get(key) == value for key, value in case.items()):
                return Statistics(**found["metrics"][metric])
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
            content[name] = {**about, "cases": _cases(path, find(name))}
    return Summary(content)


def _rows(path: Path, experiment: Experiment) -> list[Row]:
    """A checksum in the last column is not looked at, and the file stays as it is."""
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    return [
        {key: value_of(line[key]) for key in experiment.keys}
        | {metric: line[metric] and float(line[metric]) for metric in experiment.metrics}
        for line in lines
    ]


def _cases(path: Path, experiment: Experiment) -> list[dict[str, Any]]:
    keys = [key for key in experiment.keys if key not in _REPEATED]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in _rows(path, experiment):
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    found = []
    for values in sorted(groups, key=rank):
        metrics = {metric: summarize(groups[values], metric) for metric in experiment.metrics}
        case = dict(zip(keys, values, strict=True))
        found.append({"case": case, "metrics": {key: _rounded(of) for key, of in metrics.items() if of}})
    return found


def _rounded(found: Statistics) -> dict[str, Any]:
    """Six significant digits, as the rows have."""
    return {key: value if key == "count" else float(f"{value:.6g}") for key, value in asdict(found).items()}
