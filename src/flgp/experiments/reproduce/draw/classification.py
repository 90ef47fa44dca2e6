"""Error and time against n, calibration, and settings, for the classification experiments."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from ...._typing import Array, IntArray
from ....metrics import reliability_curve
from ...labels import some_labels
from ..classification import all_classes
from ..experiment import Row
from ..methods import LABELS, Setting, classifier
from ..tables import DEFAULTS, MODELS, OURS, PAPER, means_along, summarize
from .style import BLUE, COLUMN, GREEN, GREY, ORANGE, PAGE, method_style, panels


def error_and_time(rows: Sequence[Row]) -> Figure:
    """Error (left) and seconds (right) against n, for both models."""
    figure, axes = panels(1, 2, PAGE, 2.8)
    for method in LABELS:
        models = [m for m in MODELS if any(row["method"] == method and row["model"] == m for row in rows)]
        for model in models:
            here = [row for row in rows if row["method"] == method and row["model"] == model]
            for ax, metric in ((axes[0, 0], "error"), (axes[0, 1], "seconds")):
                points = means_along(here, metric, "n")
                # A single point has no line, so other points could hide it.
                style = {**method_style(method, model), "zorder": 3 if len(points) == 1 else 2}
                label = LABELS[method] if model == models[-1] else None
                ax.plot(*zip(*points, strict=True), label=label, **style)
    for ax, name in ((axes[0, 0], "error, %"), (axes[0, 1], "seconds, fit and prediction")):
        ax.set(xscale="log", xlabel="n, number of points", ylabel=name)
    axes[0, 1].set_yscale("log")
    axes[0, 0].set_ylim(bottom=0)
    axes[0, 0].set_title("dotted: the paper's model; solid: ours")
    handles, names = axes[0, 1].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center")
    return figure


def reliability(X: Array, y: IntArray, m: int, labels: int, setting: Setting) -> Figure:
    """Stated confidence against accuracy, for LKFLGP in both models and for the defaults."""
    known, rest = some_labels(y, m, labels)
    figure, axes = panels(1, 1, COLUMN, 3.0)
    ax = axes[0, 0]
    ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls="--", label="perfect")
    shown = [
        ("lk", PAPER, ORANGE, "o", "LKFLGP, paper's model"),
        ("lk", OURS, BLUE, "s", "LKFLGP, ours"),
        (DEFAULTS, OURS, GREEN, "D", LABELS[DEFAULTS]),
    ]
    for method, model, color, marker, name in shown:
        fitted = classifier(method, model, setting).fit(X, known)
        proba, classes = all_classes(y[rest], fitted.predict_proba(X[rest]), fitted.classes_)
        curve = reliability_curve(y[rest], proba, classes=classes, n_bins=12)
        enough = curve.count >= 20
        ax.plot(curve.confidence[enough], curve.accuracy[enough], marker=marker, color=color, label=name)
    low = 0.5 if len(set(y.tolist())) == 2 else 0.0
    ax.set(xlabel="stated confidence", ylabel="fraction correct", xlim=(low, 1.01), ylim=(low, 1.01))
    ax.set_aspect("equal")
    ax.legend(loc="lower right")
    return figure


def settings_figure(rows: Sequence[Row]) -> Figure:
    """Error for each s, r, M; one panel per number of labels."""
    counts = sorted({row["m"] for row in rows})
    settings = list(dict.fromkeys((row["s"], row["r"], row["M"]) for row in rows))
    figure, axes = panels(1, len(counts), PAGE, 2.8, sharey=True)
    for ax, m in zip(axes[0], counts, strict=True):
        for method in LABELS:
            for model in MODELS:
                points = [
                    (i, found.mean)
                    for i, (s, r, M) in enumerate(settings)
                    if (found := summarize(rows, "error", s=s, r=r, M=M, m=m, method=method, model=model))
                ]
                if points:
                    style = {**method_style(method, model), "ls": ""}
                    ax.plot(*zip(*points, strict=True), label=f"{LABELS[method]}, {model}", **style)
        names = [f"s={s}\nr={r}\nM={M}" for s, r, M in settings]
        ax.set(title=f"m = {m}", xticks=range(len(settings)), xticklabels=names, ylim=(0, None))
    axes[0, 0].set_ylabel("error, %")
    axes[0, -1].legend()
    return figure
