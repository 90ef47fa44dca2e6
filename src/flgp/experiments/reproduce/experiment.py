"""The interface of an experiment: jobs that give one row each, and tables and figures of the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..._threads import thread_count
from .tables import DEFAULTS, OURS, Table

Row = dict[str, Any]

# Up to this many points a job runs in one thread: parallel jobs use the cores better.
_SMALL = 100_000


@dataclass(frozen=True)
class Options:
    """The settings that the user may change. None: as in the paper."""

    n: tuple[int, ...] | None = None
    repeats: int | None = None
    methods: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    seed: int = 0
    data_dir: str | None = None
    quick: bool = False
    maps: tuple[str, ...] = ()  # brain maps of the user
    region: str | None = None  # region for the maps; None: chosen from their values
    min_voxels: int = 5000  # maps with a smaller region are left out
    figures: str = "quick"  # "all": also panels of methods that take minutes each

    def repeats_or(self, full: int, quick: int = 1) -> int:
        """The requested number of repeats, or the default."""
        return self.repeats if self.repeats is not None else quick if self.quick else full

    def figure_size(self, full: int, quick: int | None = None) -> int:
        """Points that figures show: the largest requested number up to the default, or the smallest."""
        default = quick if self.quick and quick is not None else full
        if self.n is None:
            return default
        return max((n for n in self.n if n <= default), default=min(self.n))

    def sizes_or(self, full: Sequence[int], quick: Sequence[int]) -> tuple[int, ...]:
        """The requested numbers of points, or the default."""
        return self.n if self.n is not None else tuple(quick if self.quick else full)


@dataclass(frozen=True)
class Failure:
    """A job, or all jobs with these keys, that gave no row."""

    job: Row
    reason: str


class Experiment(ABC):
    """One or more tables of the paper."""

    name: str
    keys: tuple[str, ...]  # columns that identify a row
    metrics: tuple[str, ...]  # measured columns
    methods: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    quick_methods: tuple[str, ...] = ()  # with --quick, unless the user names others
    survives_failures = False  # whether a job that fails is listed, and the others go on

    @abstractmethod
    def jobs(self, options: Options) -> list[Row]:
        """All rows to compute, each as its keys."""

    @abstractmethod
    def run(self, job: Mapping[str, Any], options: Options) -> Row:
        """The metrics of one row."""

    @abstractmethod
    def tables(self, rows: Sequence[Row], options: Options) -> list[Table]:
        """The results next to the published ones."""

    def figures(self, rows: Sequence[Row], options: Options) -> Iterator[tuple[str, Any]]:
        """Names and Matplotlib figures, made one at a time."""
        return iter(())

    def left_out(self, options: Options) -> list[Failure]:
        """Inputs that the user named but that have no job, with the reasons."""
        return []

    def settings(self, options: Options) -> dict[str, Any]:
        """Further settings that must agree for rows to belong to one study."""
        return {}

    # -- shared ----------------------------------------------------------------------------------------

    def chosen_methods(self, options: Options) -> tuple[str, ...]:
        """The requested methods, in the order of the paper."""
        if options.quick and options.methods is None and self.quick_methods:
            return self.quick_methods
        return _chosen("method", options.methods, self.methods)

    def chosen_models(self, options: Options) -> tuple[str, ...]:
        """The requested models."""
        return _chosen("model", options.models, self.models)

    def crossed(self, options: Options, **axes: Iterable[Any]) -> list[Row]:
        """A job for each combination of the axes with a chosen method and model."""
        cases = combinations(self.chosen_methods(options), self.chosen_models(options))
        found = (
            {**dict(zip(axes, values, strict=True)), "method": method, "model": model}
            for values in product(*axes.values())
            for method, model in cases
        )
        return [{key: job[key] for key in self.keys} for job in found]

    def check(self, options: Options) -> None:
        """Raise a ValueError that names unknown methods or models."""
        self.chosen_methods(options)
        self.chosen_models(options)
        if options.repeats is not None and options.repeats < 1:
            raise ValueError(f"--repeats {options.repeats} must be at least 1.")
        if options.n is not None and min(options.n) < 1:
            raise ValueError(f"--n {min(options.n)} must be at least 1.")


def combinations(methods: Sequence[str], models: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of method and model; the library defaults have one model only."""
    return [(m, model) for m in methods for model in models if m != DEFAULTS or model == OURS]


def _chosen(what: str, asked: Sequence[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if asked is None:
        return known
    strange = [name for name in asked if name not in known]
    if strange:
        have = ", ".join(known) if known else "none to choose"
        raise ValueError(f"Unknown {what} {', '.join(strange)}. Known here: {have}.")
    return tuple(name for name in known if name in asked)


def seeds(options: Options, *about: int) -> list[int]:
    """Four independent seeds (points, labels, anchors, spare) of one repeat, the same for every method."""
    state = np.random.SeedSequence([options.seed, *about]).generate_state(4)
    return [int(word % 2**31) for word in state]


def threads_for(n: int) -> int:
    """Threads of a job; independent of the number of parallel jobs, so that the results are too."""
    return 1 if n <= _SMALL else thread_count(None)
