"""Every set × every method, one line of a file for each."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ... import metrics
from ..ledger import Ledger
from .classifiers import CLASSIFIERS
from .labels import Task
from .limit import TookTooLong, time_limit
from .problem import Answer, Problem, SkippedError
from .regressors import REGRESSORS
from .sets import DataSet

METHODS: dict[Task, dict[str, Callable[[Problem], Answer]]] = {"classes": CLASSIFIERS, "numbers": REGRESSORS}
NEEDS = {
    "GraphLearning Laplace": "graphlearning",
    "GraphLearning Poisson": "graphlearning",
    "Poisson-MBO told sizes": "graphlearning",
    "GPBoost Vecchia": "gpboost",
}
SKIPPED = "skipped: "
# Every method's probabilities get this share of the uniform: otherwise a vote of 5 to 0 costs infinity.
UNIFORM_SHARE = 1e-3
NAN = float("nan")


@dataclass(frozen=True)
class Row:
    """One method on one draw. Errors are fractions; scores that a method does not have are NaN."""

    task: str
    set: str
    labels: str
    size: str  # "full" or "quick"
    draw: int
    method: str
    n: int
    columns: int
    n_labels: int
    error: float = NAN
    log_loss: float = NAN
    ece: float = NAN
    rmse: float = NAN
    nll: float = NAN
    coverage: float = NAN
    seconds: float = NAN
    status: str = "ok"

    @property
    def key(self) -> tuple[str, str, str, str, int, str]:
        """What identifies the row."""
        return self.task, self.set, self.labels, self.size, self.draw, self.method


class Store:
    """`rows.csv` of a folder; of two rows with one key the later counts."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._ledger = Ledger(folder / "rows.csv", [field.name for field in fields(Row)])
        self.rows = {row.key: row for row in map(_row, self._ledger.rows)}

    def add(self, row: Row) -> None:
        """Keep a row, on disk at once."""
        line = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in astuple(row)]
        self._ledger.add(line)
        self.rows[row.key] = _row(line)  # as it will be read again


def installed(method: str) -> bool:
    """Whether the package of a method is there; it is not imported."""
    return method not in NEEDS or find_spec(NEEDS[method]) is not None


def run(
    sets: Mapping[str, DataSet],
    methods: Iterable[str],
    draws: int,
    store: Store,
    *,
    quick: bool = False,
    limit: float | None = None,
    tell: Callable[[Row], None] = lambda row: None,
) -> None:
    """Compute the rows that are not there yet, or failed.

    A method that takes longer than the limit (seconds) on one draw is not tried on the others.
    """
    size, chosen = "quick" if quick else "full", set(methods)
    for name, data in sets.items():
        todo = [method for method in METHODS[data.task] if method in chosen and installed(method)]
        for labels in data.labels:
            slow = {row.method for row in store.rows.values() if _too_slow(row, name, str(labels), size)}
            for draw in range(labels.n_draws(draws)):
                keys = {m: (data.task, name, str(labels), size, draw, m) for m in todo}
                missing = [m for m, key in keys.items() if key not in store.rows or _failed(store.rows[key])]
                if not missing:
                    continue
                problem = data.problem(labels, draw, quick=quick)
                if len(problem.rest) < 20:
                    break  # too few rows are left to score
                for method in missing:
                    about = (len(problem.y), problem.X.shape[1], len(problem.labeled))
                    if method in slow:
                        scores: dict[str, Any] = {"status": f"{SKIPPED}another draw took too long"}
                    else:
                        scores = _measure(METHODS[data.task][method], problem, data.task, limit)
                    row = Row(*keys[method], *about, **scores)
                    slow |= {method} if _too_slow(row, name, str(labels), size) else set()
                    store.add(row)
                    tell(row)


def _measure(
    method: Callable[[Problem], Answer], problem: Problem, task: Task, limit: float | None
) -> dict[str, Any]:
    """The scores of a method, or why it has none."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(), threadpool_limits(1), time_limit(limit):
            warnings.simplefilter("ignore")
            answer = method(problem)
        seconds = time.perf_counter() - start + answer.seconds_saved
        scores = class_scores(problem, answer) if task == "classes" else number_scores(problem, answer)
        return {**scores, "seconds": seconds}
    except TookTooLong:
        status = f"{SKIPPED}took longer than {limit:g} s"
    except SkippedError as error:
        status = f"{SKIPPED}{error}"
    except Exception as error:  # a rival that fails is a result
        status = f"{type(error).__name__}: {error}".split("\n")[0]
    return {"seconds": time.perf_counter() - start, "status": status}


def class_scores(problem: Problem, answer: Answer) -> dict[str, float]:
    """Error, log loss and calibration on the rows without a label."""
    y, classes = problem.y[problem.rest], np.arange(problem.n_classes)
    scores: dict[str, float] = {"error": metrics.error_rate(y, answer.value)}
    if answer.proba is not None:
        proba = (1 - UNIFORM_SHARE) * answer.proba + UNIFORM_SHARE / len(classes)
        scores["log_loss"] = metrics.negative_log_likelihood(y, proba, classes=classes)
        scores["ece"] = metrics.expected_calibration_error(y, answer.proba, classes=classes)
    return scores


def number_scores(problem: Problem, answer: Answer) -> dict[str, float]:
    """RMSE, density and coverage on the rows without a label, in units of the sd of y."""
    y = problem.y[problem.rest]
    scores: dict[str, float] = {"rmse": float(np.sqrt(np.mean((y - answer.value) ** 2)))}
    if answer.sd is not None:
        sd = np.maximum(answer.sd, 1e-6)
        scores["nll"] = metrics.gaussian_negative_log_likelihood(y, answer.value, sd)
        scores["coverage"] = metrics.gaussian_coverage(y, answer.value, sd)
    return scores


def all_methods() -> list[str]:
    """The names of all methods, each once."""
    return list(dict.fromkeys([*CLASSIFIERS, *REGRESSORS]))


def check_names(kind: str, given: Sequence[str], known: Iterable[str]) -> None:
    """Refuse unknown names."""
    known = list(known)
    for name in given:
        if name not in known:
            raise ValueError(f"Unknown {kind} {name!r}. Known: {', '.join(known)}.")


def _failed(row: Row) -> bool:
    return row.status != "ok" and not row.status.startswith(SKIPPED)


def _too_slow(row: Row, name: str, labels: str, size: str) -> bool:
    here = (row.set, row.labels, row.size) == (name, labels, size)
    return here and row.status.startswith(f"{SKIPPED}took longer")


def _row(line: Sequence[str]) -> Row:
    kinds: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str}
    return Row(*(kinds[str(field.type)](text) for field, text in zip(fields(Row), line, strict=True)))
