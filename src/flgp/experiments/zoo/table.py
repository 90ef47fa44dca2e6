"""One page of Markdown per task: mean ranks, where flgp loses, and every mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .ranks import Means, Setting, critical_difference, error_losses, losses, means
from .run import METHODS, NEEDS, Row, Task, installed

TITLES: dict[Task, str] = {"classes": "Classes", "numbers": "Numbers"}
# Score, its title, its factor and its decimals. The first two are ranked.
SCORES: dict[Task, list[tuple[str, str, float, int]]] = {
    "classes": [
        ("error", "Error, %", 100, 1),
        ("log_loss", "Log loss", 1, 3),
        ("ece", "Expected calibration error", 1, 3),
        ("seconds", "Seconds", 1, 2),
    ],
    "numbers": [
        ("rmse", "RMSE, in units of the standard deviation of y", 1, 3),
        ("nll", "Negative log-likelihood", 1, 3),
        ("coverage", "Coverage of 95 % intervals, %", 100, 1),
        ("seconds", "Seconds", 1, 2),
    ],
}


def page(rows: Sequence[Row], task: Task) -> str:
    """The Markdown page of a task."""
    mine = [row for row in rows if row.task == task]
    draws = sorted({row.draw for row in mine})
    parts = [
        f"# {TITLES[task]}",
        f"Means over {len(draws)} draw(s). Columns are standardised; all methods have the same columns, "
        "labels, rows and one thread, and are judged on the rows without a label. Bold is the best.",
        rank_table(rows, task),
        *(f"## {title}\n\n{score_table(means(rows, task, s), s, f, d)}" for s, title, f, d in SCORES[task]),
    ]
    if task == "classes":
        parts.insert(
            3, lost_table("error more than one point above the best simple rival", error_losses(rows))
        )
        parts.insert(4, lost_table("log loss not the lowest", losses(means(rows, task, "log_loss"), 0.0)))
    else:
        for place, score in ((3, "rmse"), (4, "nll")):
            title = f"{score.upper()} not the lowest"
            parts.insert(place, lost_table(title, losses(means(rows, task, score), 0.0)))
    failed = [
        f"- {r.set}, {r.labels}, draw {r.draw}, {r.method}: {r.status}" for r in mine if r.status != "ok"
    ]
    if failed:
        parts.append("## Failures\n\n" + "\n".join(failed))
    return "\n\n".join(parts) + "\n"


def rank_table(rows: Sequence[Row], task: Task) -> str:
    """Mean ranks of the methods, and which packages are missing."""
    found = {score: means(rows, task, score) for score, *_ in SCORES[task][:2]}
    ranks = {score: part.ranks() for score, part in found.items()}
    first, second = ranks
    lines = [
        f"| method | mean rank, {SCORES[task][0][1].split(',')[0]} | mean rank, {SCORES[task][1][1]} |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| {m} | {r:.2f} | {_number(ranks[second].get(m, math.nan), 1, 2)} |"
        for m, r in ranks[first].items()
    ]
    lines += [f"| {m} | not installed ({NEEDS[m]}) | |" for m in METHODS[task] if not installed(m)]
    for score, part in found.items():
        if len(ranks[score]) > 1:
            cd = critical_difference(len(ranks[score]), len(part.settings))
            title = next(title.split(",")[0] for s, title, *_ in SCORES[task] if s == score)
            lines += [
                "",
                f"{title}: {len(part.settings)} settings; ranks closer than {cd:.2f} (Nemenyi, 5 %)",
            ]
            lines[-1] += " are not told apart."
    return "\n".join(lines)


def lost_table(what: str, lost: Sequence[tuple[Setting, float, str, float]]) -> str:
    """Where "flgp" loses."""
    if not lost:
        return f"## Where flgp loses: {what}\n\nNowhere."
    lines = ["| set | labels | flgp | best rival | its value |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {s} | {labels} | {own:.3f} | {m} | {value:.3f} |" for (s, labels), own, m, value in lost]
    return f"## Where flgp loses: {what}\n\n" + "\n".join(lines)


def score_table(found: Means, score: str, factor: float, decimals: int) -> str:
    """One line per setting, one column per method."""
    target = 0.95 if score == "coverage" else 0.0
    lines = [f"| set | labels | {' | '.join(found.methods)} |", "| --- " * (len(found.methods) + 2) + "|"]
    for (name, labels), values in zip(found.settings, found.values, strict=True):
        distance = np.abs(values - target) if score == "coverage" else values
        best = np.nanmin(distance) if not np.isnan(distance).all() else math.nan
        cells = [_number(value, factor, decimals) for value in values]
        cells = [f"**{c}**" if d == best else c for c, d in zip(cells, distance, strict=True)]
        lines.append(f"| {name} | {labels} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _number(value: float, factor: float, decimals: int) -> str:
    return "–" if math.isnan(value) else f"{factor * value:.{decimals}f}"
