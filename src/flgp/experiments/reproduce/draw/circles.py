"""The circles, and their prior covariance under each method."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ....baselines.euclidean import automatic_length_scale
from ....datasets import CirclesData
from ...labels import some_labels
from ..methods import LABELS, Setting, classifier
from ..tables import PAPER
from .style import BLUE, COLUMN, ORANGE, PAGE, RED, SEQUENTIAL, bare_map, panels, scatter

# These methods have n anchors, for every bandwidth in the search.
SLOW = ("glgp", "flgp-x")
_METHODS = ("egp", "glgp", "glgp-star", "flgp-x", "sr", "sk", "lr", "lk")


def data_figure(data: CirclesData) -> Figure:
    """The points, coloured by class."""
    figure, axes = panels(1, 1, COLUMN, 3.2)
    ax = axes[0, 0]
    for value, color, name in ((0, BLUE, "class 0"), (1, ORANGE, "class 1")):
        ax.scatter(*data.X[data.y == value].T, s=1.5, color=color, linewidths=0, label=name, rasterized=True)
    ax.set(aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
    ax.legend(loc="center", markerscale=5)
    return figure


def covariance_figure(data: CirclesData, labels: int, setting: Setting, slow: bool) -> Figure:
    """Prior correlation of one point with all others, one panel per method, all in the paper's model."""
    y, _ = some_labels(data.y, 50, labels)
    middle = np.flatnonzero(data.circle == 3)
    row = int(middle[np.abs(data.theta[middle] - np.pi / 2).argmin()])
    figure, axes = panels(2, 4, PAGE, 3.9)
    drawn: Any = None
    for ax, method in zip(axes.ravel(), _METHODS, strict=True):
        if not slow and method in SLOW:
            bare_map(ax, f"{LABELS[method]}: --figures all")
            continue
        values = _correlation(method, data, y, row, setting)
        bare_map(ax, LABELS[method])
        drawn = scatter(ax, data.X, values, cmap=SEQUENTIAL, vmin=0, vmax=1)
        ax.plot(*data.X[row], marker="*", color=RED, mec="white", mew=0.4, markersize=8)
    figure.colorbar(drawn, ax=axes, shrink=0.6, label="prior covariance, relative to the variance at x")
    return figure


def _correlation(method: str, data: CirclesData, y: Any, row: int, setting: Setting) -> Any:
    if method == "egp":
        scale = automatic_length_scale(data.X[y >= 0])
        return np.exp(-((data.X - data.X[row]) ** 2).sum(axis=1) / (2 * scale**2))
    model = classifier(method, PAPER, setting).fit(data.X, y)
    covariance = model.covariance(data.X, data.X[row : row + 1])[:, 0]
    return covariance / covariance[row]
