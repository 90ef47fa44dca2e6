"""One task: a table, its labelled rows, and what a method answers for the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..._typing import Array, BoolArray, IntArray

Task = Literal["classes", "numbers"]


@dataclass(frozen=True)
class Labels:
    """How the labelled rows are drawn.

    Parameters
    ----------
    count : float
        Labels: of each class, or in all; below 1, this share of the rows.
    per_class : bool
        Whether `count` is of each class.
    name : str
        What tables say; "" is made from the numbers.
    """

    count: float
    per_class: bool = False
    name: str = ""

    def __str__(self) -> str:
        if self.name:
            return self.name
        if self.per_class:
            return f"{self.count:.0f} per class"
        return f"{self.count:.0f} random" if self.count >= 1 else f"{100 * self.count:.0f} % random"

    def draw(self, y: Array | IntArray, task: Task, rng: np.random.Generator) -> IntArray:
        """The labelled rows; of random ones the first of each class is labelled in any case."""
        order = rng.permutation(len(y))
        if task == "numbers":
            return np.sort(order[: self.total(y)])
        groups = [order[y[order] == c] for c in np.unique(y)]
        if self.per_class:
            return np.sort(np.concatenate([rows[: int(self.count)] for rows in groups]))
        first = np.array([rows[0] for rows in groups])
        rest = order[~np.isin(order, first)]
        return np.sort(np.concatenate([first, rest[: max(0, self.total(y) - len(first))]]))

    def total(self, y: Array | IntArray) -> int:
        """The number of labels."""
        if self.per_class:
            return int(self.count) * len(np.unique(y))
        return int(self.count) if self.count >= 1 else round(self.count * len(y))


@dataclass(frozen=True)
class Problem:
    """One draw: all rows, of which some are labelled. Classes are 0, …, C-1."""

    X: Array  # (n, p)
    y: Array | IntArray  # (n,)
    labeled: IntArray
    rest: IntArray  # the rows that are predicted
    seed: int

    @property
    def n_classes(self) -> int:
        """C."""
        return int(np.max(self.y)) + 1

    @property
    def train(self) -> tuple[Array, Array | IntArray]:
        """The labelled rows and their labels."""
        return self.X[self.labeled], self.y[self.labeled]

    @property
    def new(self) -> Array:
        """The columns of the rows that are predicted."""
        return self.X[self.rest]


@dataclass(frozen=True)
class Answer:
    """Predictions for the rows `rest` of a problem."""

    value: Array | IntArray  # (n,) classes, or means
    proba: Array | None = None  # (n, C)
    sd: Array | None = None  # (n,) of y


def make_problem(
    X: Array,
    y: Array | IntArray,
    task: Task,
    labels: Labels,
    seed: int,
    *,
    rows: int,
    test: BoolArray | None = None,
    standardise: bool = True,
) -> Problem:
    """A seeded subset of the rows with seeded labels.

    Parameters
    ----------
    X, y
        The table.
    task
        Whether `y` are classes or numbers. Numbers are standardised: errors of all sets compare.
    labels
        Which rows are labelled, unless `test` says it.
    seed
        Of the subset and of the labels.
    rows
        At most so many.
    test
        Rows that are predicted; all others are labelled.
    standardise
        Whether each column gets mean 0 and variance 1 over all rows, labelled or not.
    """
    rng = np.random.default_rng(seed)
    keep = np.sort(rng.permutation(len(y))[:rows])
    X, y = np.asarray(X[keep], dtype=float), y[keep]
    if standardise:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    codes = np.unique(y, return_inverse=True)[1] if task == "classes" else (y - y.mean()) / y.std()
    labeled = labels.draw(codes, task, rng) if test is None else np.flatnonzero(~test[keep])
    return Problem(X, codes, labeled, np.setdiff1d(np.arange(len(codes)), labeled), seed)
