"""Means over draws, and mean ranks over settings (a set with a way of labelling)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata, studentized_range

from ..._typing import Array, BoolArray
from .classifiers import TOLD_SIZES
from .labels import Task
from .run import METHODS, Row

Setting = tuple[str, str]  # set, labels


@dataclass(frozen=True)
class Means:
    """A score's mean over the draws, by setting and method; NaN where one failed or has no such score."""

    settings: list[Setting]
    methods: list[str]
    values: Array  # (settings, methods)
    standard_errors: Array  # (settings, methods)
    was_run: BoolArray  # (settings, methods)

    def ranked(self) -> Means:
        """The methods that were run in at least half of the settings, and the settings all of them have."""
        often = self.was_run.mean(axis=0) >= 0.5 if self.settings else np.ones(len(self.methods), bool)
        return self._part(self.was_run[:, often].all(axis=1), often)

    def ranks(self) -> dict[str, float]:
        """Mean rank of each ranked method with this score, the best first; a failure ranks last."""
        part = self.ranked()
        part = part._part(np.ones(len(part.settings), bool), ~np.isnan(part.values).all(axis=0))
        if not part.values.size:
            return {}
        mean = rankdata(np.where(np.isnan(part.values), np.inf, part.values), axis=1).mean(axis=0)
        return dict(sorted(zip(part.methods, mean.tolist(), strict=True), key=lambda pair: pair[1]))

    def _part(self, settings: Any, methods: Any) -> Means:
        grid = np.ix_(settings, methods)
        return Means(
            [s for s, there in zip(self.settings, settings, strict=True) if there],
            [m for m, there in zip(self.methods, methods, strict=True) if there],
            self.values[grid],
            self.standard_errors[grid],
            self.was_run[grid],
        )


def means(rows: Sequence[Row], task: Task, score: str, methods: Sequence[str] | None = None) -> Means:
    """Means over the draws that all methods of a setting have.

    Of all methods that are not told the class sizes, unless given.
    """
    if methods is None:
        methods = [m for m in METHODS[task] if m not in TOLD_SIZES]
    mine = [row for row in rows if row.task == task and row.method in methods]
    there = [m for m in METHODS[task] if m in {row.method for row in mine}]
    cells: dict[Setting, dict[str, dict[int, float]]] = {}
    for row in mine:
        by_method = cells.setdefault((row.set, row.labels), {})
        by_method.setdefault(row.method, {})[row.draw] = getattr(row, score)
    shape = (len(cells), len(there))
    values, errors, was_run = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, bool)
    for i, by_method in enumerate(cells.values()):
        shared = sorted(set.intersection(*(set(draws) for draws in by_method.values())))
        for j, method in enumerate(there):
            if method in by_method and shared:
                found = np.array([by_method[method][draw] for draw in shared])
                # A method that fails in one draw has no mean: NaN goes through.
                values[i, j], was_run[i, j] = found.mean(), True
                errors[i, j] = found.std(ddof=1) / math.sqrt(len(found)) if len(found) > 1 else 0.0
    return Means(list(cells), there, values, errors, was_run)


def critical_difference(n_methods: int, n_settings: int) -> float:
    """Nemenyi's critical difference: smaller differences of mean ranks are not significant at the 5 % level.

    Examples
    --------
    >>> from flgp.experiments.zoo.ranks import critical_difference
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    q = studentized_range.ppf(0.95, n_methods, np.inf) / math.sqrt(2)
    return float(q * math.sqrt(n_methods * (n_methods + 1) / (6 * n_settings)))
