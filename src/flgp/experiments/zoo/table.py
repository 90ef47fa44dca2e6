"""One page of Markdown per task: mean ranks, where flgp wins and loses, and every mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..markdown import markdown_table
from .classifiers import TOLD_SIZES
from .compare import Duel, duels, error_losses, losses, told_sizes, well_labelled
from .labels import Task
from .ranks import Means, critical_difference, means
from .run import METHODS, NEEDS, Row, installed

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
    scores = SCORES[task]
    found = {score: means(mine, task, score) for score, *_ in scores}
    first, second = (score for score, *_ in scores[:2])
    draws = len({row.draw for row in mine})
    parts = [
        f"# {TITLES[task]}",
        f"Means over up to {draws} draw(s). All methods have the same columns, labels, rows and one thread, "
        "and are judged on the rows without a label. Columns are standardised, except components of images. "
        "Bold is the best.",
        rank_table(mine, task),
    ]
    met = duels(found[first])
    if task == "classes":
        title, lost = "error more than one point above the best simple rival", error_losses(mine)
    else:
        title, lost = f"{_short(scores[0][1])} not the lowest", losses(found[first], 0.0)
    by_second = losses(found[second], 0.0)
    parts += [
        duel_table(f"Where flgp loses: {title}", lost, len(met)),
        duel_table(f"Where flgp loses: {_short(scores[1][1])} not the lowest", by_second, len(met)),
        duel_table(
            f"Where flgp wins: {_short(scores[0][1])} lower than that of every rival",
            [duel for duel in met if duel.won],
            len(met),
        ),
    ]
    if task == "classes":
        parts.append(told_table(told_sizes(mine)))
    parts.append(well_labelled_table(well_labelled(mine, task, first), _short(scores[0][1])))
    parts += [f"## {title}\n\n{score_table(found[s], s, f, d)}" for s, title, f, d in scores]
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
    columns = ("method", f"mean rank, {_short(SCORES[task][0][1])}", f"mean rank, {SCORES[task][1][1]}")
    cells = [(m, f"{r:.2f}", _number(ranks[second].get(m, math.nan), 1, 2)) for m, r in ranks[first].items()]
    lines = [markdown_table(columns, cells)]
    lines += [f"| {m} | not installed ({NEEDS[m]}) | |" for m in METHODS[task] if not installed(m)]
    for score, title, *_ in SCORES[task][:2]:
        part = found[score].ranked()
        if len(ranks[score]) > 1:
            cd = critical_difference(len(ranks[score]), len(part.settings))
            closer = f"ranks closer than {cd:.2f} (Nemenyi, 5 %) are not told apart."
            lines += ["", f"{_short(title)}: {len(part.settings)} settings; {closer}"]
    told = [m for m in METHODS[task] if m in TOLD_SIZES]
    if told:
        lines += ["", f"Not ranked, because they are told the class sizes: {', '.join(told)}."]
    return "\n".join(lines)


def duel_table(title: str, met: Sequence[Duel], n_settings: int) -> str:
    """Our method and its best rival in some settings of all."""
    if not met:
        return f"## {title}\n\nNowhere."
    cells = [(*d.setting, f"{d.ours:.3f}", d.rival, f"{d.theirs:.3f}") for d in met]
    table = markdown_table(("set", "labels", "flgp", "best rival", "its value"), cells)
    return f"## {title}\n\nIn {len(met)} of {n_settings} settings.\n\n{table}"


def told_table(met: Sequence[Duel]) -> str:
    """The two methods that are told the class sizes, beside each other."""
    ours, rival = TOLD_SIZES
    title = "## Told the class sizes: error, %, with few labels"
    if not met:
        return f"{title}\n\nNot computed."
    won, lost = sum(d.won for d in met), sum(d.ours > d.theirs for d in met)
    lines = []
    for duel in met:
        cells = [f"{100 * value:.1f}" for value in (duel.ours, duel.theirs)]
        best = 0 if duel.ours <= duel.theirs else 1
        cells[best] = f"**{cells[best]}**"
        lines.append((*duel.setting, *cells))
    count = f"{ours}: {won} win(s), {lost} loss(es), {len(met) - won - lost} tie(s)."
    return f"{title}\n\n{count}\n\n{markdown_table(('set', 'labels', ours, rival), lines)}"


def well_labelled_table(met: Sequence[Duel], score: str) -> str:
    """Whether flgp keeps up in 5-fold cross-validation."""
    title = f"## 5-fold: {score} within one standard error of the best of linear model, GP and boosting"
    if not met:
        return f"{title}\n\nNot computed."
    cells = [
        (d.setting[0], f"{d.ours:.3f}", d.rival, f"{d.theirs:.3f}", f"{d.standard_error:.3f}", _yes(d.near))
        for d in met
    ]
    table = markdown_table(("set", "flgp", "best", "its value", "its standard error", "within"), cells)
    return f"{title}\n\n{sum(d.near for d in met)} of {len(met)}.\n\n{table}"


def score_table(found: Means, score: str, factor: float, decimals: int) -> str:
    """One line per setting, one column per method."""
    target = 0.95 if score == "coverage" else 0.0
    lines = []
    for setting, values in zip(found.settings, found.values, strict=True):
        distance = np.abs(values - target) if score == "coverage" else values
        best = np.nanmin(distance) if not np.isnan(distance).all() else math.nan
        cells = [_number(value, factor, decimals) for value in values]
        cells = [f"**{c}**" if d == best else c for c, d in zip(cells, distance, strict=True)]
        lines.append((*setting, *cells))
    return markdown_table(("set", "labels", *found.methods), lines)


def _number(value: float, factor: float, decimals: int) -> str:
    return "–" if math.isnan(value) else f"{factor * value:.{decimals}f}"


def _short(title: str) -> str:
    return title.split(",")[0]


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
