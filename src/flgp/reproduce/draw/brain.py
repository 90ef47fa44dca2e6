"""Figures of the brain maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from ..methods import LABELS, MODELS
from ..tables import summarize


def errors_by_ratio(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """MSE, NLL and coverage against the labelled ratio, one line for each method and model."""
    figure = Figure(figsize=(13.0, 4.2), layout="constrained")
    panels = figure.subplots(1, 3)
    ratios = sorted({row["ratio"] for row in rows})
    methods = [method for method in LABELS if any(row["method"] == method for row in rows)]
    for k, method in enumerate(methods):
        for model, style in zip(MODELS, ("--", "-"), strict=True):
            for axes, metric in zip(panels, ("trimmed_mse", "trimmed_nll", "coverage"), strict=True):
                found = [summarize(rows, metric, ratio=r, method=method, model=model) for r in ratios]
                points = [
                    (r, value.mean) for r, value in zip(ratios, found, strict=True) if value is not None
                ]
                if points:
                    label = f"{LABELS[method]}, {model}"
                    axes.plot(*zip(*points, strict=True), style, marker="o", color=f"C{k}", label=label)
    panels[0].set_yscale("log")
    for axes, title in zip(panels, ("MSE (log scale)", "NLL", "Coverage of 95 % intervals"), strict=True):
        axes.set_title(title)
        axes.set_xlabel("Labelled ratio")
        axes.set_xticks(ratios)
    panels[2].axhline(0.95, color="0.6", linewidth=1)
    panels[2].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5))
    return figure
