"""Results on disk, row by row: an interrupted run resumes, and results of different versions never mix."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ... import __version__
from ..._files import write_text
from ..._versions import LIBRARIES, versions
from ..ledger import Ledger
from .experiment import Experiment, Options, Row


class ResultsError(ValueError):
    """A results folder that must not be written to."""


class Store:
    """A results folder: ``run.json`` (versions and settings) and ``rows.csv`` (each row with a checksum).

    `command` is the command as typed, for the record.
    """

    def __init__(self, folder: Path, experiment: Experiment, options: Options, command: str = "") -> None:
        self.folder, self.experiment = folder, experiment
        self.columns = (*experiment.keys, *experiment.metrics)
        self.path = folder / "rows.csv"
        self._open(options, command)
        self._ledger = Ledger(self.path, self.columns)
        self.rows = [dict(zip(self.columns, map(value_of, line), strict=True)) for line in self._ledger.rows]

    def _open(self, options: Options, command: str) -> None:
        header = self.folder / "run.json"
        # Settings that change the numbers of a row. Others only select rows.
        mine = {
            "experiment": self.experiment.name,
            "flgp": __version__,
            "seed": options.seed,
            "quick": options.quick,
            "columns": list(self.columns),
            **self.experiment.settings(options),
        }
        if header.exists():
            try:
                theirs = json.loads(header.read_text(encoding="utf-8"))
            except ValueError as error:
                raise ResultsError(f"{header} cannot be read ({error}). Choose another --out.") from error
            for key, value in mine.items():
                if theirs.get(key) != value:
                    raise ResultsError(
                        f"{self.folder} holds results with {key} = {theirs.get(key)!r}, but this run has "
                        f"{value!r}. Choose another --out, or delete that folder."
                    )
            if command not in theirs["commands"]:
                theirs["commands"].append(command)
                _write_json(header, theirs)
            return
        if self.path.exists():
            raise ResultsError(f"{self.path} has no run.json next to it. Choose another --out.")
        self.folder.mkdir(parents=True, exist_ok=True)
        found = versions()
        record = {
            **mine,
            "commands": [command],
            "python": found["python"],
            "libraries": {name: found[name] for name in LIBRARIES},
            "machine": f"{platform.system()} {platform.machine()}",
        }
        _write_json(header, record)

    def key(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        """The keys of a row, as text."""
        return tuple(str(row[name]) for name in self.experiment.keys)

    def missing(self, jobs: Iterable[Row]) -> list[Row]:
        """The jobs without a row so far."""
        done = {self.key(row) for row in self.rows}
        return [job for job in jobs if self.key(job) not in done]

    def add(self, row: Row) -> None:
        """Store a row, on disk at once."""
        self._ledger.add([_text(row[name]) for name in self.columns])
        self.rows.append({name: value_of(_text(row[name])) for name in self.columns})

    def ordered(self) -> list[Row]:
        """All rows of the folder, in an order that does not depend on when they finished."""
        return sorted(self.rows, key=lambda row: rank(row[key] for key in self.experiment.keys))


def rank(values: Iterable[Any]) -> list[tuple[bool, Any]]:
    """Sorts entries of rows: numbers before text."""
    return [(isinstance(value, str), value) for value in values]


def _write_json(path: Path, record: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(record, indent=2) + "\n")


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def value_of(text: str) -> Any:
    """An entry of rows.csv: a number where it can be written as that text, otherwise the text."""
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if _text(value) == text:  # "007" and "1e5" are names
            return value
    return text
