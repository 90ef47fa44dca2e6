"""The problems of the benchmark: points, truth, labelled rows, and methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._typing import Array, IntArray
from ...datasets import circles, mnist_pca, spiral


@dataclass(frozen=True)
class Problem:
    """One data set with its labels."""

    X: Array  # (n, p)
    y: Any  # (n,) the truth, used for the scores
    labeled: IntArray  # (m,) labelled rows
    targets: Any  # (m,) those labels, noise included
    task: str  # "binary", "multiclass" or "regression"


@dataclass(frozen=True)
class Case:
    """A problem at any size, the settings of FLGP, and the methods compared.

    `limits` holds the largest n at which a method is tried: beyond it time or memory grow too large.
    """

    name: str
    make: Callable[[int, int], Problem]  # n, seed
    sizes: tuple[int, ...]
    methods: tuple[str, ...]
    settings: dict[str, Any]
    limits: dict[str, int] = field(default_factory=dict)


def _labels(rng: np.random.Generator, y: Any, count: int, classes: bool) -> IntArray:
    """`count` rows at random, at least one of each class."""
    while True:
        rows = np.sort(rng.choice(len(y), size=count, replace=False))
        if not classes or len(np.unique(y[rows])) == len(np.unique(y)):
            return rows


def circles_problem(n: int, seed: int) -> Problem:
    """Six circles, two classes, 50 labels."""
    data = circles(n, random_state=seed)
    rows = _labels(np.random.default_rng(seed), data.y, 50, True)
    return Problem(data.X, data.y, rows, data.y[rows], "binary")


def mnist_problem(n: int, seed: int) -> Problem:
    """Digits as 100 principal components, 200 labels."""
    data = mnist_pca(100, n, random_state=seed)
    rows = _labels(np.random.default_rng(seed), data.y, 200, True)
    return Problem(data.X, data.y, rows, data.y[rows], "multiclass")


def spiral_problem(n: int, seed: int) -> Problem:
    """A function on a spiral, 200 noisy labels."""
    data = spiral(n, random_state=seed)
    rng = np.random.default_rng(seed)
    rows = _labels(rng, data.f, 200, False)
    return Problem(data.X, data.f, rows, data.f[rows] + 0.5 * rng.standard_normal(len(rows)), "regression")


def volume_problem(n: int, seed: int) -> Problem:
    """A map like those of brains: n voxels of a folded sheet, smooth and rough parts, a fifth labelled."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil((3.0 * n) ** (1 / 3))) + 2
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) / side
    depth = np.abs(np.sin(7.0 * grid[:, 0]) + np.cos(6.0 * grid[:, 1]) + np.sin(8.0 * grid[:, 2]))
    X = grid[np.argsort(depth, kind="stable")[:n]]
    waves = rng.standard_normal((200, 3)) * rng.choice([6.0, 25.0], size=200)[:, None]
    f = np.cos(X @ waves.T + rng.uniform(0, 2 * np.pi, 200)) @ rng.standard_normal(200) / 10.0
    rows = _labels(rng, f, n // 5, False)
    return Problem(X, f, rows, f[rows] + 0.3 * rng.standard_normal(len(rows)), "regression")


_CLASSIFIERS = (
    "flgp-lk",
    "flgp-sk",
    "ckdtree",
    "label-spreading",
    "gp-classifier",
    "graphlearning-laplace",
    "graphlearning-poisson",
    "gpytorch-svgp",
    "r-flgp-lk",
    "r-flgp-sk",
)
_QUICK = ("flgp-lk", "flgp-sk", "ckdtree")
_SLOW = {method: 1_000_000 for method in _CLASSIFIERS if method not in _QUICK}
_CIRCLES = {"n_anchors": 600, "n_neighbors": 3, "n_eigenpairs": 100}

CASES = {
    case.name: case
    for case in (
        Case("circles", circles_problem, (3_000, 900_000), _CLASSIFIERS, _CIRCLES, _SLOW),
        Case(
            "scaling",
            circles_problem,
            (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000),
            ("flgp-lk", "ckdtree"),
            _CIRCLES,
        ),
        Case(
            "mnist",
            mnist_problem,
            (70_000,),
            (
                "flgp",
                "flgp-lk",
                "label-spreading",
                "graphlearning-laplace",
                "graphlearning-poisson",
                "r-flgp-lk",
            ),
            {"n_anchors": 1500, "n_neighbors": 3, "n_eigenpairs": 100},
            _SLOW,
        ),
        Case("baselines", circles_problem, (3_000, 9_000), ("flgp-x", "glgp", "sparse-glgp"), _CIRCLES),
        Case("volume", volume_problem, (70_746,), ("flgp", "gpboost-vecchia"), {"n_eigenpairs": 100}),
        Case(
            "spiral",
            spiral_problem,
            (4_000,),
            ("flgp-lk", "flgp-sk", "gp-regressor", "gpytorch-svgp", "r-flgp-lk", "r-flgp-sk"),
            {"n_anchors": 500, "n_neighbors": 3, "n_eigenpairs": 50},
        ),
    )
}
