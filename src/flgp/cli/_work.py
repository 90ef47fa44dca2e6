"""Shared by the commands on user data: stages with a progress bar, notes, and the final result."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .._progress import observed, stage
from ._text import printable


class Work:
    """Shows stages on standard error, collects notes, and prints the result on standard output.

    Parameters
    ----------
    shares : fraction of the time that each stage takes, by the first word of its name
    quiet : print only errors
    as_json : print the result as one JSON object
    """

    def __init__(self, shares: dict[str, float], quiet: bool, as_json: bool) -> None:
        self.notes: list[str] = []
        self._shares, self._quiet, self._json = shares, quiet, as_json
        self._console = Console(stderr=True, highlight=False)
        self._progress: Progress | None = None
        self._task = TaskID(0)
        self._open: list[tuple[str, float]] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Follow the stages inside; warnings become notes."""
        with warnings.catch_warnings(record=True) as caught, observed(self._observe):
            warnings.simplefilter("always")
            if self._quiet or not sys.stderr.isatty():
                yield
            else:
                with self._bar() as self._progress:
                    self._task = self._progress.add_task("", total=sum(self._shares.values()))
                    yield
        seen = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
        self.notes += [text.rstrip(".") for text in dict.fromkeys(seen)]

    def _bar(self) -> Progress:
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        return Progress(
            *columns, TextColumn("left"), TimeRemainingColumn(), console=self._console, transient=True
        )

    def tell(self, text: str) -> None:
        """Say how far the current stage is."""
        if self._progress is not None and self._open:
            self._progress.update(self._task, description=f"{self._open[0][0]}: {text}")

    def stage(self, name: str) -> Any:
        """A stage of the command itself."""
        return stage(name)

    def _observe(self, name: str | None) -> None:
        if name is not None:
            self._open.append((name, time.perf_counter()))
            if self._progress is not None:
                # The inner stage, such as one of the folds, says more than the outer one.
                self._progress.update(self._task, description=": ".join(part for part, _ in self._open[:2]))
            return
        ended, started = self._open.pop()
        if self._open:
            return
        if self._progress is not None:
            self._progress.advance(self._task, self._shares.get(ended.split()[0], 0.0))
        if not self._quiet:
            self._console.print(f"{ended}: {time.perf_counter() - started:.2f} s", style="dim")

    def finish(self, result: dict[str, Any], text: str) -> None:
        """Print the result and the notes."""
        if self._json:
            typer.echo(json.dumps({**result, "notes": self.notes}, ensure_ascii=False, default=str))
            return
        if self._quiet:
            return
        self.tell_notes()
        typer.echo(printable(text))

    def tell_notes(self) -> None:
        """Print the notes on standard error."""
        for note in self.notes:
            self._console.print(f"Note: {printable(note)}.", style="yellow", markup=False, soft_wrap=True)
