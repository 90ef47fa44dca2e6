"""Shared by the classification experiments: the measurement of one row, and the table of results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._typing import Array, IntArray
from ...metrics import expected_calibration_error, negative_log_likelihood
from .experiment import Row
from .methods import LABELS, OURS, PAPER
from .published import Published, bar
from .runner import peak_gigabytes
from .tables import Table, cell, number, summarize

METRICS = ("error", "nll", "ece", "seconds", "peak_gb")
_COLUMNS = (
    "method",
    "error % published",
    "paper's model",
    "ours",
    "bar",
    "NLL published*",
    "NLL paper's model",
    "NLL ours",
    "ECE paper's model",
    "ECE ours",
    "s published",
    "s paper's model",
    "s ours",
)
_NOTE = (
    "mean(sd) over repeats. Paper's model: amplitude 1, Laplace, one against the rest, the paper's s, r, M. "
    "Ours: the library's inference on the same graph; the last row leaves the graph to the library too. "
    "Bar: LK, SK, FLGP-X at most two published standard errors above the published error, others two "
    "standard deviations. *The published NLL is not -mean log p and not comparable; ours is. Seconds: fit "
    "and all probabilities, at the load of the machine then."
)


def some_labels(y: IntArray, m: int, seed: int) -> tuple[IntArray, IntArray]:
    """Labels with all but m set to -1, and the unlabelled rows."""
    rng = np.random.default_rng(seed)
    known = rng.choice(len(y), size=min(m, len(y)), replace=False)
    labels = np.full(len(y), -1, dtype=np.int64)
    labels[known] = y[known]
    return labels, np.flatnonzero(labels < 0)


def measure(model: Any, X: Array, y: IntArray, m: int, seed: int) -> Row:
    """Fit, predict the unlabelled rows, and score. Seconds include the fit and all probabilities."""
    labels, rest = some_labels(y, m, seed)
    started = time.perf_counter()
    model.fit(X, labels)
    proba = model.predict_proba(X)
    seconds = time.perf_counter() - started
    proba = proba[rest]
    return {
        "error": 100 * float(np.mean(model.classes_[proba.argmax(axis=1)] != y[rest])),
        "nll": _nll(y[rest], proba, model.classes_),
        "ece": _ece(y[rest], proba, model.classes_),
        "seconds": seconds,
        "peak_gb": peak_gigabytes(),
    }


def _nll(y: IntArray, proba: Array, classes: Array) -> float:
    proba, known = all_classes(y, proba, classes)
    return negative_log_likelihood(y, proba, classes=known)


def _ece(y: IntArray, proba: Array, classes: Array) -> float:
    proba, known = all_classes(y, proba, classes)
    return expected_calibration_error(y, proba, classes=known)


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
            paper = {key: summarize(rows, key, n=n, method=method, model=PAPER) for key in METRICS}
            ours = {key: summarize(rows, key, n=n, method=method, model=OURS) for key in METRICS}
            if paper["error"] is None and ours["error"] is None:
                continue
            theirs = published.get(method, {}).get(n)
            here = paper["error"] or ours["error"]
            assert here is not None
            verdict = "–" if theirs is None else bar(method, here.mean, theirs, published_repeats)
            lines.append(
                (
                    LABELS[method],
                    "–" if theirs is None else f"{theirs.error:.1f}({number(theirs.error_sd)})",
                    cell(paper["error"]),
                    cell(ours["error"]),
                    verdict,
                    number(theirs.nll if theirs else None, 2),
                    cell(paper["nll"], 3),
                    cell(ours["nll"], 3),
                    cell(paper["ece"], 3),
                    cell(ours["ece"], 3),
                    number(theirs.seconds if theirs else None, 2),
                    cell(paper["seconds"], 2),
                    cell(ours["seconds"], 2),
                )
            )
        repeats = max((row["repeat"] for row in rows if row["n"] == n), default=0) + 1
        heading = f"{title}, n = {n:,}, {repeats} repeat(s)"
        tables.append(Table(f"{name}-{n}", heading, _COLUMNS, lines, _NOTE))
    return tables
