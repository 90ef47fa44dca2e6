"""The data sets by name: scikit-learn's, simulated ones, and those found in folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets as sk

from ..._typing import Array, IntArray
from ...datasets import circles, folded_sheet, mnist_pca, spiral, swiss_roll
from .problem import Labels, Problem, Task, make_problem

Table = tuple[Array, Array | IntArray]
FEW = (Labels(5, per_class=True), Labels(100))
TABLE = (Labels(0.8),)
ROWS, QUICK_ROWS = 3_000, 400
UCI = ("airfoil", "bike", "concrete", "elevators", "kin40k", "parkinsons", "pol", "protein")


@dataclass(frozen=True)
class DataSet:
    """A data set and how its labels are drawn.

    Parameters
    ----------
    task
        "classes" or "numbers".
    load
        X and y from a seed, which only simulated sets use.
    labels
        One line of the results for each.
    rows
        At most so many, a new random subset in each draw.
    standardise
        Whether columns get variance 1.
    """

    task: Task
    load: Callable[[int], Table]
    labels: tuple[Labels, ...] = FEW
    rows: int = ROWS
    standardise: bool = True

    def problem(self, labels: Labels, draw: int, *, seed: int, quick: bool) -> Problem:
        """Draw number `draw`, from this seed."""
        X, y = self.load(seed)
        rows = min(self.rows, QUICK_ROWS) if quick else self.rows
        return make_problem(X, y, self.task, labels, seed, rows=rows, standardise=self.standardise)


@dataclass(frozen=True)
class UciSet(DataSet):
    """A folder with `data.csv.gz` (the last column is the target) and `test_mask.csv.gz` (the splits)."""

    folder: Path = Path()

    def problem(self, labels: Labels, draw: int, *, seed: int, quick: bool) -> Problem:
        """The official split number `draw`, of a subset of the rows."""
        X, y = self.load(seed)
        masks = _csv(self.folder / "test_mask.csv.gz")
        test = masks[:, draw % masks.shape[1]] == 1
        rows = min(self.rows, QUICK_ROWS) if quick else self.rows
        return make_problem(X, y, self.task, labels, seed, rows=rows, test=test)


def built_in() -> dict[str, DataSet]:
    """The sets that need no files."""

    def bundled(name: str) -> Callable[[int], Table]:
        return lambda seed: getattr(sk, f"load_{name}")(return_X_y=True)

    sets = {name: DataSet("classes", bundled(name)) for name in ("digits", "iris", "wine", "breast_cancer")}
    sets["circles"] = DataSet("classes", _six_circles)
    sets["moons"] = DataSet("classes", lambda seed: sk.make_moons(2_000, noise=0.15, random_state=seed))
    sets["gaussians"] = DataSet("classes", _gaussians, (Labels(100),))
    sets["swiss-roll"] = DataSet("classes", _swiss_roll)
    sets["diabetes"] = DataSet("numbers", bundled("diabetes"), TABLE)
    sets["friedman1"] = DataSet("numbers", _friedman, TABLE)
    sets["spiral"] = DataSet("numbers", _spiral, (Labels(200),))
    sets["folded-sheet"] = DataSet("numbers", _sheet, (Labels(0.2),))
    return sets


def find_sets(
    data_dir: Path | None = None, extra: Path | None = None
) -> tuple[dict[str, DataSet], list[str]]:
    """All sets that are there, and a note for each that is not."""
    sets, notes = built_in(), []
    for name, found in _in_folders(data_dir):
        if isinstance(found, str):
            notes.append(f"{name}: skipped, {found}.")
        else:
            sets[name] = found
    for path in sorted(extra.glob("*.npz")) if extra else ():
        sets[path.stem] = DataSet("classes", partial(_npz, path))
    if extra and not list(extra.glob("*.npz")):
        notes.append(f"--extra {extra}: no NAME.npz there.")
    return sets, notes


def _in_folders(data_dir: Path | None) -> Iterator[tuple[str, DataSet | str]]:
    """Sets of --data-dir and of FLGP_MNIST_DIR, or why one is missing."""
    faces = data_dir / "faces" / "orl.npz" if data_dir else None
    if faces and faces.exists():
        yield "orl", DataSet("classes", partial(_npz, faces), (Labels(3, per_class=True),))
    else:
        yield "orl", "no faces/orl.npz in --data-dir"
    mnist = data_dir / "mnist" if data_dir and (data_dir / "mnist").exists() else None
    mnist = mnist or (Path(os.environ["FLGP_MNIST_DIR"]) if os.environ.get("FLGP_MNIST_DIR") else None)
    if mnist:
        yield "mnist", DataSet("classes", partial(_mnist, mnist), rows=7_000)
        unscaled = DataSet("classes", partial(_mnist, mnist), (Labels(200),), rows=7_000, standardise=False)
        yield "mnist-unscaled", unscaled
    else:
        yield "mnist", "neither mnist/ in --data-dir nor FLGP_MNIST_DIR"
    for name in UCI:
        folder = data_dir / "uci" / name if data_dir else None
        if folder and (folder / "data.csv.gz").exists():
            load = partial(_uci, folder / "data.csv.gz")
            yield (
                name,
                UciSet("numbers", load, (Labels(0.9, name="official split"),), rows=2_000, folder=folder),
            )
        else:
            yield name, f"no uci/{name} in --data-dir"


def _npz(path: Path, seed: int) -> Table:
    with np.load(path) as arrays:
        return arrays["X"], arrays["y"]


def _mnist(folder: Path, seed: int) -> Table:
    data: Any = _all_mnist(folder)
    return data.X, data.y


@lru_cache(maxsize=1)
def _all_mnist(folder: Path) -> Any:
    return mnist_pca(data_dir=folder)


@lru_cache(maxsize=2)
def _csv(path: Path) -> Array:
    return np.loadtxt(path, delimiter=",")


def _uci(path: Path, seed: int) -> Table:
    rows = _csv(path)
    return rows[:, :-1], rows[:, -1]


def _six_circles(seed: int) -> Table:
    data = circles(ROWS, random_state=seed)
    return data.X, np.asarray(data.y)


def _gaussians(seed: int) -> Table:
    """Two overlapping Gaussians in 241 columns; the best possible error is 11 %."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 1_500)
    direction = rng.standard_normal(241)
    shift = 1.23 * direction / np.linalg.norm(direction)
    return rng.standard_normal((1_500, 241)) + np.where(y == 1, 1.0, -1.0)[:, None] * shift, y


def _swiss_roll(seed: int) -> Table:
    """The sign of the function on the roll: six stripes, tilted by the height."""
    data = swiss_roll(ROWS, random_state=seed)
    return data.X, (data.f > 0).astype(int)


def _friedman(seed: int) -> Table:
    return sk.make_friedman1(1_000, noise=1.0, random_state=seed)


def _spiral(seed: int) -> Table:
    data = spiral(2_000, random_state=seed)
    return data.X, data.y


def _sheet(seed: int) -> Table:
    data = folded_sheet(ROWS, random_state=seed)
    return data.X, data.y
