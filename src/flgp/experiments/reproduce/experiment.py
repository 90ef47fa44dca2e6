"""What an experiment is: jobs that give one row each, and tables and figures made of the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._threads import thread_count
from .tables import Table

Row = dict[str, Any]

# Up to this many points a job runs in one thread: several jobs at a time are the better use of the cores.
_SMALL = 100_000


@dataclass(frozen=True)
class Options:
    """What the reader of the paper may change. None: as in the paper."""

    n: tuple[int, ...] | None = None
    repeats: int | None = None
    methods: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    seed: int = 0
    data_dir: str | None = None
    quick: bool = False
    maps: tuple[str, ...] = ()  # brain maps of one's own
    region: str | None = None  # where they are compared, if not by their own values

    def repeats_or(self, full: int, quick: int = 1) -> int:
        """The number of repeats asked for."""
        return self.repeats if self.repeats is not None else quick if self.quick else full

    def sizes_or(self, full: Sequence[int], quick: Sequence[int]) -> tuple[int, ...]:
        """The numbers of points asked for."""
        return self.n if self.n is not None else tuple(quick if self.quick else full)


class Experiment(ABC):
    """One table, or several, of the paper."""

    name: str
    summary: str
    keys: tuple[str, ...]  # columns that say what a row is about
    metrics: tuple[str, ...]  # columns that were measured
    methods: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    @abstractmethod
    def jobs(self, options: Options) -> list[Row]:
        """All rows to compute, each as its keys."""

    @abstractmethod
    def run(self, job: Mapping[str, Any], options: Options) -> Row:
        """The metrics of one row."""

    @abstractmethod
    def tables(self, rows: Sequence[Row], options: Options) -> list[Table]:
        """What the rows say, beside what was published."""

    def figures(self, rows: Sequence[Row], options: Options) -> Iterator[tuple[str, Any]]:
        """Names and Matplotlib figures, made one after the other."""
        return iter(())

    # -- shared ----------------------------------------------------------------------------------------

    def chosen_methods(self, options: Options) -> tuple[str, ...]:
        """The methods asked for, in the order of the paper."""
        return _chosen("method", options.methods, self.methods)

    def chosen_models(self, options: Options) -> tuple[str, ...]:
        """The models asked for."""
        return _chosen("model", options.models, self.models)

    def check(self, options: Options) -> None:
        """Raise a ValueError that names what is not known."""
        self.chosen_methods(options)
        self.chosen_models(options)
        if options.repeats is not None and options.repeats < 1:
            raise ValueError(f"--repeats {options.repeats} must be at least 1.")
        if options.n is not None and min(options.n) < 1:
            raise ValueError(f"--n {min(options.n)} must be at least 1.")


def _chosen(what: str, asked: Sequence[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if asked is None:
        return known
    strange = [name for name in asked if name not in known]
    if strange:
        have = ", ".join(known) if known else "none to choose"
        raise ValueError(f"Unknown {what} {', '.join(strange)}. Known here: {have}.")
    return tuple(name for name in known if name in asked)


def seeds(options: Options, *about: int) -> list[int]:
    """Four independent seeds (points, labels, anchors, spare) of one repeat: the same for every method."""
    state = np.random.SeedSequence([options.seed, *about]).generate_state(4)
    return [int(word % 2**31) for word in state]


def threads_for(n: int) -> int:
    """Threads of a job. Does not depend on how many jobs run at a time, so neither do the numbers."""
    return 1 if n <= _SMALL else thread_count(None)
