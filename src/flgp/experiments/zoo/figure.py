"""Mean ranks as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .ranks import critical_difference, means
from .run import Row
from .table import SCORES, TITLES


def plot_ranks(rows: Sequence[Row]) -> Any:
    """A panel for each ranked score: the methods by mean rank, with the critical difference from the best."""
    from matplotlib.figure import Figure

    tasks = [task for task in TITLES if any(row.task == task for row in rows)]
    if not tasks:
        raise ValueError("There are no rows, so there is nothing to plot.")
    heights = [1.2 + 0.24 * len(means(rows, task, SCORES[task][0][0]).methods) for task in tasks]
    figure = Figure(figsize=(10, sum(heights) + 0.3), layout="constrained")
    panels = figure.subplots(len(tasks), 2, squeeze=False, height_ratios=heights)
    for task, line in zip(tasks, panels, strict=True):
        for (score, title, *_), panel in zip(SCORES[task][:2], line, strict=True):
            found = means(rows, task, score).ranked()
            ranks = found.ranks()
            names = list(ranks)[::-1]
            if len(names) > 1:
                best = min(ranks.values())
                difference = critical_difference(len(names), len(found.settings))
                panel.axvspan(best, best + difference, color="0.9", label="not told apart from the best")
            for place, name in enumerate(names):
                color = "C3" if name.startswith("flgp") else "C0"
                panel.hlines(place, 1, ranks[name], color="0.75", linewidth=1)
                panel.plot(ranks[name], place, "o", color=color)
            panel.set_yticks(range(len(names)), names)
            panel.set(
                title=f"{title.split(',')[0]}, {len(found.settings)} settings", xlabel="mean rank (1 is best)"
            )
            panel.set_xlim(left=1)
            panel.spines[["top", "right"]].set_visible(False)
    handles, names = panels[0, 0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, names, loc="outside lower center", fontsize="small", frameon=False)
    return figure
