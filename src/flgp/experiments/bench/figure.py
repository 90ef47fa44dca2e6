"""CPU time against n, and error against CPU time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .report import fitted_slopes, summaries
from .runner import Run


def plot_runs(runs: Sequence[Run]) -> Any:
    """One row per case: CPU time against n with its fitted slope, and error against CPU time."""
    from matplotlib.figure import Figure

    lines = [line for line in summaries(runs) if line.repeats]
    cases = list(dict.fromkeys(line.case for line in lines))
    if not cases:
        raise ValueError("No run has finished, so there is nothing to plot.")
    slopes = fitted_slopes(runs)
    figure = Figure(figsize=(11, 4 * len(cases)), layout="constrained")
    panels = figure.subplots(len(cases), 2, squeeze=False)
    for case, (left, right) in zip(cases, panels, strict=True):
        for method in dict.fromkeys(line.method for line in lines if line.case == case):
            mine = sorted(
                (line for line in lines if (line.case, line.method) == (case, method)),
                key=lambda line: line.n,
            )
            slope = slopes.get((case, method))
            label = method if slope is None else f"{method} (n^{slope:.2f})"
            left.loglog([line.n for line in mine], [line.cost for line in mine], "o-", label=label)
            judged = [line for line in mine if not math.isnan(line.error)]
            if judged:
                right.plot(
                    [line.cost for line in judged], [line.error for line in judged], "o-", label=method
                )
            for line in judged:
                right.annotate(
                    f"{method}, n = {line.n:,}",
                    (line.cost, line.error),
                    (4, 4),
                    textcoords="offset points",
                    fontsize="x-small",
                )
        left.set(title=f"{case}, {lines[0].threads} thread(s)", xlabel="n", ylabel="CPU seconds")
        right.set(title="left and low is better", xlabel="CPU seconds", ylabel="error", xscale="log")
        left.legend(fontsize="small")
        right.margins(x=0.6, y=0.15)  # room for the names
        right.set_ylim(bottom=0.0)
    return figure
