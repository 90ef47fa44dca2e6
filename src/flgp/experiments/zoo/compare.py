"""flgp beside its rivals, setting by setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .classifiers import SIMPLE, TOLD_SIZES
from .labels import Folds, Task
from .ranks import Means, Setting, means
from .run import Row

# With all labels given: a linear model, a Gaussian process and trees.
WELL_LABELLED_RIVALS = ("ridge", "logistic", "GP", "GP (ARD)", "boosting")


@dataclass(frozen=True)
class Duel:
    """Our mean and that of a rival in a setting."""

    setting: Setting
    ours: float
    rival: str
    theirs: float
    standard_error: float  # of theirs

    @property
    def won(self) -> bool:
        """Whether ours is lower."""
        return self.ours < self.theirs

    @property
    def near(self) -> bool:
        """Whether ours is lower, or within one standard error of theirs."""
        return self.ours <= self.theirs + self.standard_error


def duels(found: Means, rivals: Sequence[str] | None = None, ours: str = "flgp") -> list[Duel]:
    """Our method against the best rival of each setting; the rivals are all methods but ours, unless given.

    A failure of ours is infinity.
    """
    if ours not in found.methods:
        return []
    column = found.methods.index(ours)
    others = [m for m in found.methods if (m in rivals if rivals else not m.startswith("flgp"))]
    places = {m: found.methods.index(m) for m in others}
    met = []
    for setting, was_run, values, errors in zip(
        found.settings, found.was_run, found.values, found.standard_errors, strict=True
    ):
        known = {m: float(values[j]) for m, j in places.items() if not math.isnan(values[j])}
        if known and was_run[column]:
            best = min(known, key=lambda m: known[m])
            own = math.inf if math.isnan(values[column]) else float(values[column])
            met.append(Duel(setting, own, best, known[best], float(errors[places[best]])))
    return met


def losses(found: Means, margin: float, rivals: Sequence[str] | None = None) -> list[Duel]:
    """Settings where ours is worse than the best rival by more than the margin."""
    return [duel for duel in duels(found, rivals) if duel.ours > duel.theirs + margin]


def error_losses(rows: Sequence[Row]) -> list[Duel]:
    """Where the error of "flgp" is more than a point above the best simple rival."""
    return losses(means(rows, "classes", "error"), 0.01, SIMPLE)


def told_sizes(rows: Sequence[Row]) -> list[Duel]:
    """Errors of the two methods that are told the class sizes, where labels are few."""
    few = [row for row in rows if row.labels != str(Folds())]
    ours, rival = TOLD_SIZES
    return duels(means(few, "classes", "error", TOLD_SIZES), [rival], ours)


def well_labelled(rows: Sequence[Row], task: Task, score: str) -> list[Duel]:
    """Our method against the best of a linear model, a Gaussian process and boosting in cross-validation."""
    folds = [row for row in rows if row.labels == str(Folds())]
    return duels(means(folds, task, score, ("flgp", *WELL_LABELLED_RIVALS)), WELL_LABELLED_RIVALS)
