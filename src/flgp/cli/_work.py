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

    `shares` is the fraction of the time that each stage takes, by the first word of its name.
    """

    def __init__(self, shares: dict[str, float], quiet: bool, as_json: bool) -> None:
        self.notes: list[str] = []
        self._shares, self._quiet, self._json = shares, quiet, as_json
        self._console = Console(stderr=True, highlight=False)
        self._progress: Progress | None = None
        self._task = TaskID(0)
        self._open: list[tuple[str, float]] = []
        self._done = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Follow the stages inside; warnings become notes."""
        with warnings.catch_warnings(record=True) as caught, observed(self):
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
        """Show the progress of the current stage where the total is unknown."""
        if self._progress is not None and self._open:
            self._progress.update(self._task, description=f"{self._open[0][0]}: {text}")

    def stage(self, name: str) -> Any:
        """A stage of the command itself."""
        return stage(name)

    def started(self, name: str) -> None:
        """A stage starts."""
        self._open.append((name, time.perf_counter()))
        if self._progress is not None:
            # The inner stage, such as one of the folds, says more than the outer one.
            self._progress.update(self._task, description=": ".join(part for part, _ in self._open[:2]))

    def advanced(self, share: float, text: str) -> None:
        """Show the progress of the innermost stage; the bar moves by its share of the whole."""
        if self._progress is None or not self._open:
            return
        name = ": ".join(part for part, _ in self._open[:2])
        own = self._share_of(self._open[0][0]) if len(self._open) == 1 else 0.0
        at = self._done + own * min(share, 1.0)
        self._progress.update(self._task, description=f"{name}: {text}", completed=at)

    def ended(self) -> None:
        """The innermost stage ends."""
        name, started = self._open.pop()
        if self._open:
            return
        self._done += self._share_of(name)
        if self._progress is not None:
            self._progress.update(self._task, completed=self._done)
        if not self._quiet:
            self._console.print(f"{name}: {time.perf_counter() - started:.2f} s", style="dim")

    def _share_of(self, name: str) -> float:
        return self._shares.get(name.split()[0], 0.0)

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
