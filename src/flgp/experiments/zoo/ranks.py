"""Means over draws, and mean ranks over settings (a set with a way of labelling)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, studentized_range

from .classifiers import SIMPLE
from .problem import Task
from .run import METHODS, Row

Setting = tuple[str, str]  # set, labels


@dataclass(frozen=True)
class Means:
    """A score's mean over the draws, by setting and method; NaN where one failed or has no such score."""

    settings: list[Setting]
    methods: list[str]
    values: np.ndarray  # (settings, methods)

    def ranks(self) -> dict[str, float]:
        """Mean rank of each method with this score, the best first; a failure ranks last."""
        has = ~np.isnan(self.values).all(axis=0)
        values = np.where(np.isnan(self.values[:, has]), np.inf, self.values[:, has])
        if not values.size:
            return {}
        mean = rankdata(values, axis=1).mean(axis=0)
        names = [name for name, there in zip(self.methods, has, strict=True) if there]
        return dict(sorted(zip(names, mean.tolist(), strict=True), key=lambda pair: pair[1]))


def means(rows: Sequence[Row], task: Task, score: str) -> Means:
    """Means over the draws, of the settings on which every method was run."""
    mine = [row for row in rows if row.task == task]
    methods = sorted({row.method for row in mine}, key=list(METHODS[task]).index)
    cells: dict[tuple[Setting, str], list[float]] = {}
    for row in mine:
        cells.setdefault(((row.set, row.labels), row.method), []).append(getattr(row, score))
    settings = list(dict.fromkeys((row.set, row.labels) for row in mine))
    settings = [s for s in settings if all((s, m) in cells for m in methods)]
    # A method that fails in one draw has no mean: NaN goes through.
    values = [[float(np.mean(cells[s, m])) for m in methods] for s in settings]
    return Means(settings, methods, np.array(values).reshape(len(settings), len(methods)))


def critical_difference(n_methods: int, n_settings: int) -> float:
    """Nemenyi's: mean ranks that differ by less are not told apart at the 5 % level.

    Examples
    --------
    >>> from flgp.experiments.zoo.ranks import critical_difference
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    q = studentized_range.ppf(0.95, n_methods, np.inf) / math.sqrt(2)
    return float(q * math.sqrt(n_methods * (n_methods + 1) / (6 * n_settings)))


def losses(
    found: Means, margin: float, rivals: Sequence[str] | None = None
) -> list[tuple[Setting, float, str, float]]:
    """Settings where "flgp" is worse than the best rival by more than the margin, with both values.

    The rivals are all methods that are not ours, unless given.
    """
    if "flgp" not in found.methods:
        return []
    others = [m for m in found.methods if (m in rivals if rivals else not m.startswith("flgp"))]
    lost = []
    for setting, values in zip(found.settings, found.values, strict=True):
        by = dict(zip(found.methods, values, strict=True))
        known = {m: by[m] for m in others if not math.isnan(by[m])}
        best = min(known, key=lambda m: known[m], default=None)
        if best is not None and not by["flgp"] <= known[best] + margin:
            lost.append((setting, float(by["flgp"]), best, float(known[best])))
    return lost


def error_losses(rows: Sequence[Row]) -> list[tuple[Setting, float, str, float]]:
    """Where the error of "flgp" is more than a point above the best simple rival."""
    return losses(means(rows, "classes", "error"), 0.01, SIMPLE)
