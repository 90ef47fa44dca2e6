"""Which rows of a set are labelled: random draws, folds, official splits and published draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from ..._typing import Array, IntArray

Task = Literal["classes", "numbers"]
FIRST_SEED = 100  # defaults were chosen on draws with smaller seeds
N_FOLDS = 5


class Labelling:
    """A way of labelling; its `str` is what tables say."""

    def seed(self, draw: int) -> int:
        """The seed of a draw: of simulated data, of the subset of the rows, and of the methods."""
        return FIRST_SEED + draw

    def n_draws(self, wanted: int) -> int:
        """How many of the wanted draws there are."""
        return wanted

    def fixed(self, draw: int) -> IntArray | None:
        """The labelled rows of the whole table, where a file lists them."""
        return None

    def draw(self, y: Array | IntArray, task: Task, draw: int, rng: np.random.Generator) -> IntArray:
        """The labelled rows among those with the answers y."""
        raise NotImplementedError


@dataclass(frozen=True)
class Labels(Labelling):
    """Labels drawn at random: so many of each class, so many in all, or below 1 this share of the rows."""

    count: float
    per_class: bool = False

    def __str__(self) -> str:
        if self.per_class:
            return f"{self.count:.0f} per class"
        return f"{self.count:.0f} random" if self.count >= 1 else f"{100 * self.count:.0f} % random"

    def draw(self, y: Array | IntArray, task: Task, draw: int, rng: np.random.Generator) -> IntArray:
        """Random rows, at least one of each class."""
        order = rng.permutation(len(y))
        total = int(self.count) if self.count >= 1 else round(self.count * len(y))
        if task == "numbers":
            return np.sort(order[:total])
        groups = [order[y[order] == c] for c in np.unique(y)]
        if self.per_class:
            return np.sort(np.concatenate([rows[: int(self.count)] for rows in groups]))
        first = np.array([rows[0] for rows in groups])
        rest = order[~np.isin(order, first)]
        return np.sort(np.concatenate([first, rest[: max(0, total - len(first))]]))


@dataclass(frozen=True)
class Folds(Labelling):
    """5-fold cross-validation: draw k predicts fold k, and draws 5 to 9 are another shuffle."""

    def __str__(self) -> str:
        return f"{N_FOLDS}-fold"

    def seed(self, draw: int) -> int:
        """The same for all folds of a shuffle."""
        return FIRST_SEED + draw // N_FOLDS

    def draw(self, y: Array | IntArray, task: Task, draw: int, rng: np.random.Generator) -> IntArray:
        """All rows but those of a fold; each fold has all classes."""
        kind = StratifiedKFold if task == "classes" else KFold
        folds: Any = kind(N_FOLDS, shuffle=True, random_state=self.seed(draw))
        return list(folds.split(y[:, None], y))[draw % N_FOLDS][0]


@dataclass(frozen=True)
class OfficialSplit(Labelling):
    """The columns of a file of masks, in which 1 marks the rows to predict."""

    path: Path

    def __str__(self) -> str:
        return "official split"

    def n_draws(self, wanted: int) -> int:
        """At most one for each mask."""
        return min(wanted, read_csv(self.path).shape[1])

    def fixed(self, draw: int) -> IntArray:
        """The rows that the mask leaves."""
        return np.flatnonzero(read_csv(self.path)[:, draw] == 0)


@dataclass(frozen=True)
class PublicDraws(Labelling):
    """Published draws: `rows[offsets[i]:offsets[i + 1]]` of a file, for one number of labels."""

    path: Path
    per_class: int
    n_classes: int = 10

    def __str__(self) -> str:
        return f"{self.per_class} per class, public"

    def n_draws(self, wanted: int) -> int:
        """At most as many as were published."""
        return min(wanted, len(self._all()))

    def fixed(self, draw: int) -> IntArray:
        """The rows of a draw."""
        return self._all()[draw]

    def _all(self) -> list[IntArray]:
        with np.load(self.path) as file:
            draws = np.split(file["rows"].astype(np.int64), file["offsets"][1:-1])
        return [rows for rows in draws if len(rows) == self.per_class * self.n_classes]


@lru_cache(maxsize=2)
def read_csv(path: Path) -> Array:
    """A table of numbers."""
    return np.loadtxt(path, delimiter=",")
