"""One task: a table, its labelled rows, and what a method answers for the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._typing import Array, IntArray
from .labels import Labelling, Task


class SkippedError(Exception):
    """Raised by a method that does not take a problem, for example because it is too large."""


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

    @property
    def class_shares(self) -> Array:
        """(C,) true shares of the classes among all rows; only for methods that are told them."""
        counts = np.bincount(self.y)
        return counts / counts.sum()


@dataclass(frozen=True)
class Answer:
    """Predictions for the rows `rest` of a problem."""

    value: Array | IntArray  # (n,) classes, or means
    proba: Array | None = None  # (n, C)
    sd: Array | None = None  # (n,) of y
    seconds_saved: float = 0.0  # of work that an earlier call did, to be added to the time of this one


def make_problem(
    X: Array,
    y: Array | IntArray,
    task: Task,
    labels: Labelling,
    draw: int,
    *,
    rows: int,
    standardise: bool = True,
) -> Problem:
    """A seeded subset of at most `rows` rows with seeded labels.

    Where a file lists the labelled rows, they are at most half of a subset, if possible. Numbers are
    standardised, so that errors of all sets compare, and so are columns unless `standardise` is False.
    """
    seed = labels.seed(draw)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    fixed = labels.fixed(draw)
    if fixed is not None:
        known = np.isin(order, fixed)
        most = max(rows // 2, rows - int(np.sum(~known)))
        order = np.concatenate([order[known][:most], order[~known]])
    keep = np.sort(order[:rows])
    X, y = np.asarray(X[keep], dtype=float), y[keep]
    if standardise:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    codes = np.unique(y, return_inverse=True)[1] if task == "classes" else (y - y.mean()) / y.std()
    if fixed is None:
        labeled = labels.draw(codes, task, draw, rng)
    else:
        labeled = np.flatnonzero(np.isin(keep, fixed))
    return Problem(X, codes, labeled, np.setdiff1d(np.arange(len(codes)), labeled), seed)
