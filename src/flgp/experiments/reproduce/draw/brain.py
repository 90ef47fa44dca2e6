"""Figures of the brain maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from matplotlib.figure import Figure

from ..methods import LABELS
from ..tables import MODELS, means_along
from .style import GREY, PAGE, method_style, panels, plain_log

_PANELS = {"trimmed_mse": "MSE", "trimmed_nll": "NLL", "coverage": "coverage of 95 % intervals, %"}


def errors_by_ratio(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """MSE, NLL and coverage against the labelled ratio, one line per method and model."""
    figure, axes = panels(1, len(_PANELS), PAGE, 2.6)
    ratios = sorted({row["ratio"] for row in rows})
    methods = [method for method in LABELS if any(row["method"] == method for row in rows)]
    for ax, metric in zip(axes[0], _PANELS, strict=True):
        unit = 100.0 if metric == "coverage" else 1.0
        for method, model in product(methods, MODELS):
            points = means_along(rows, metric, "ratio", unit, method=method, model=model)
            if points:
                label = f"{LABELS[method]}, {model}"
                ax.plot(*zip(*points, strict=True), label=label, **method_style(method, model))
        ax.set(xlabel="labelled ratio", ylabel=_PANELS[metric], xticks=ratios)
    axes[0, 0].set_yscale("log")
    plain_log(axes[0, 0].yaxis)
    axes[0, 2].axhline(95.0, color=GREY, linewidth=0.8, zorder=0)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center")
    return figure
