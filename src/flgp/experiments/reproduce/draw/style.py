"""One style for all figures: print sizes, and the colour-blind safe palette of Okabe and Ito."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from ..tables import DEFAULTS, OURS

# Inches: one column of a journal page, and its full width.
COLUMN, PAGE = 3.4, 7.0
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK, GREY = "#CC79A7", "#56B4E9", "#000000", "#999999"
SEQUENTIAL = "viridis"

_METHODS = {
    "egp": (GREY, "h"),
    "glgp": (PURPLE, "P"),
    "glgp-star": (RED, "*"),
    "sparse-glgp": ("#8C564B", "p"),
    "flgp-x": (BLACK, "X"),
    "sr": (SKY, "v"),
    "sk": (BLUE, "s"),
    "lr": (ORANGE, "^"),
    "lk": (GREEN, "o"),
    DEFAULTS: ("#F0E442", "D"),
}

_SETTINGS: dict[Any, Any] = {
    "backend": "agg",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
}


@contextmanager
def printed() -> Iterator[None]:
    """Figures made inside this context have the print style, and are closed at the end."""
    with matplotlib.rc_context(_SETTINGS):
        yield
        plt.close("all")


def panels(rows: int, columns: int, width: float, height: float, **options: Any) -> tuple[Figure, Any]:
    """A figure with a grid of axes, always two-dimensional."""
    return plt.subplots(rows, columns, figsize=(width, height), squeeze=False, **options)


def method_style(method: str, model: str) -> dict[str, Any]:
    """Colour and marker of a method; the paper's model has a dotted line and empty markers."""
    color, marker = _METHODS[method]
    bright = method == DEFAULTS  # yellow needs a dark edge
    return {
        "color": color,
        "marker": marker,
        "ls": "-" if model == OURS else ":",
        "mfc": color if model == OURS else "white",
        "mec": BLACK if bright else color,
        "mew": 0.6 if bright else 1.0,
    }


def plain_log(axis: Any) -> None:
    """Label a short logarithmic axis with numbers instead of powers, at 1, 2 and 5 of each decade."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_locator(NullLocator())


def bare_map(ax: Any, title: str) -> None:
    """Axes of a map: equal scales, no ticks."""
    ax.set(title=title, aspect="equal", xticks=[], yticks=[])
    for side in ax.spines.values():
        side.set_visible(False)


def scatter(ax: Any, X: Any, values: Any, **options: Any) -> Any:
    """Points (n, 2) coloured by value, the largest on top; rasterised to keep the PDF small."""
    order = values.argsort()
    return ax.scatter(*X[order, :2].T, c=values[order], s=2, linewidths=0, rasterized=True, **options)
