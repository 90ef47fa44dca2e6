"""Shared by the classification experiments: the measurement of one row, and the table of results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._typing import Array, IntArray
from ...metrics import expected_calibration_error, negative_log_likelihood
from ..labels import some_labels
from .experiment import Row
from .methods import LABELS
from .published import Published, bar
from .runner import peak_gigabytes
from .tables import OURS, PAPER, Table, cells, number, summarize

METRICS = ("error", "nll", "ece", "seconds", "peak_gb")
_COLUMNS = (
    *("method", "error % published", "paper's model", "ours", "bar"),
    *("NLL published*", "NLL paper's model", "NLL ours", "ECE paper's model", "ECE ours"),
    *("s published", "s paper's model", "s ours"),
)
_NOTE = (
    "mean(sd) over repeats. Paper's model: amplitude 1, Laplace, one against the rest, the paper's s, r, M. "
    "Ours: the library's inference on the same graph; the last row leaves the graph to the library too. "
    "Bar: LK, SK, FLGP-X at most two published standard errors above the published error, others two "
    "standard deviations. *The published NLL is not -mean log p and not comparable; ours is. Seconds: fit "
    "and all probabilities, at the load of the machine then."
)


def measure(model: Any, X: Array, y: IntArray, m: int, seed: int) -> Row:
    """Fit, predict the unlabelled rows, and score. Seconds include the fit and all probabilities."""
    labels, rest = some_labels(y, m, seed)
    started = time.perf_counter()
    model.fit(X, labels)
    proba = model.predict_proba(X)
    seconds = time.perf_counter() - started
    proba, classes = all_classes(y[rest], proba[rest], model.classes_)
    return {
        "error": 100 * float(np.mean(classes[proba.argmax(axis=1)] != y[rest])),
        "nll": negative_log_likelihood(y[rest], proba, classes=classes),
        "ece": expected_calibration_error(y[rest], proba, classes=classes),
        "seconds": seconds,
        "peak_gb": peak_gigabytes(),
    }


def all_classes(y: IntArray, proba: Array, classes: Array) -> tuple[Array, Array]:
    """Add columns of zeros for classes without a label."""
    unseen = np.setdiff1d(np.unique(y), classes)
    if len(unseen) == 0:
        return proba, classes
    return np.column_stack([proba, np.zeros((len(proba), len(unseen)))]), np.concatenate([classes, unseen])


def error_table(
    name: str,
    title: str,
    rows: Sequence[Row],
    published: Mapping[str, Mapping[int, Published]],
    methods: Sequence[str],
    published_repeats: int,
) -> list[Table]:
    """One table per n: published, the paper's model here, ours."""
    tables = []
    for n in sorted({row["n"] for row in rows}):
        lines: list[tuple[str, ...]] = []
        for method in methods:
            here = [row for row in rows if (row["n"], row["method"]) == (n, method)]
            found = summarize(here, "error", model=PAPER) or summarize(here, "error", model=OURS)
            if found is None:
                continue
            theirs = published.get(method, {}).get(n)
            error, verdict, nll, seconds = "–", "–", None, None
            if theirs is not None:
                error = f"{theirs.error:.1f}({number(theirs.error_sd)})"
                verdict = bar(method, found.mean, theirs, published_repeats)
                nll, seconds = theirs.nll, theirs.seconds
            lines.append(
                (
                    *(LABELS[method], error, *cells(here, "error"), verdict),
                    *(number(nll, 2), *cells(here, "nll", 3), *cells(here, "ece", 3)),
                    *(number(seconds, 2), *cells(here, "seconds", 2)),
                )
            )
        repeats = max((row["repeat"] for row in rows if row["n"] == n), default=0) + 1
        heading = f"{title}, n = {n:,}, {repeats} repeat(s)"
        tables.append(Table(f"{name}-{n}", heading, _COLUMNS, lines, _NOTE))
    return tables
