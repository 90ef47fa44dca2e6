"""Figure 1: distances and kernels on the spiral, and the predictions from the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .... import HeatKernelFeatures
from ....datasets import SpiralData
from ...labels import only_at
from ..methods import Setting, regressor
from ..tables import OURS, PAPER
from .style import BLACK, BLUE, GREY, PAGE, RED, SEQUENTIAL, bare_map, panels, scatter

# The reference point of the panels, on the third turn; the paper's t = 5000 graph steps.
_SHARE, _STEPS = 0.6, 5000.0
# About the distance between two turns.
_LENGTH = 2.0


def four_panels(data: SpiralData, seed: int) -> Figure:
    """Geodesic distance, exact heat kernel, SE kernel and FLGP kernel, all from one point."""
    row = int(_SHARE * len(data.X))
    model = HeatKernelFeatures(n_anchors=200, n_eigenpairs=100, diffusion_time=_STEPS, random_state=seed)
    estimate = model.fit(data.X).covariance(data.X, data.X[row : row + 1])[:, 0]
    # The time at which the exact kernel is as high as the estimate: graph steps have no fixed length.
    time = _matching_time(data, row, estimate)
    sqdist = ((data.X - data.X[row]) ** 2).sum(axis=1)
    shown = [
        ("geodesic distance\nfrom x", data.distances_from(row), f"{SEQUENTIAL}_r"),
        (
            f"exact heat kernel\nt = {time:.0f}",
            data.heat_kernel_from(row, time, measure="probability"),
            SEQUENTIAL,
        ),
        (f"SE kernel of Euclidean\ndistance, l = {_LENGTH}", np.exp(-sqdist / (2 * _LENGTH**2)), SEQUENTIAL),
        (f"FLGP, s = 200, M = 100\nt = {_STEPS:.0f} graph steps", estimate, SEQUENTIAL),
    ]
    figure, axes = panels(1, 4, PAGE, 2.5)
    for ax, (title, values, colors) in zip(axes[0], shown, strict=True):
        bare_map(ax, title)
        drawn = scatter(ax, data.X, values, cmap=colors)
        ax.plot(*data.X[row], marker="*", color=RED, mec="white", mew=0.4, markersize=9)
        figure.colorbar(drawn, ax=ax, orientation="horizontal", shrink=0.8, pad=0.02)
    return figure


def _matching_time(data: SpiralData, row: int, estimate: Any) -> float:
    times = np.geomspace(0.05, 2000, 200)
    exact = [data.heat_kernel_from(row, float(t), measure="probability") for t in times]
    gaps = [np.abs(kernel - estimate).max() for kernel in exact]
    return float(times[int(np.argmin(gaps))])


def fit_along_the_curve(data: SpiralData, labels: int, seed: int) -> Figure:
    """f, the labels, and the predictions of the Euclidean GP and of FLGP with 95 % bands."""
    known = np.random.default_rng(labels).choice(len(data.f), size=200, replace=False)
    y = only_at(known, data.y)
    setting = Setting(s=500, r=3, M=50, seed=seed)
    shown = [("EGP", regressor("egp", PAPER, setting)), ("LKFLGP, ours", regressor("lk", OURS, setting))]
    figure, axes = panels(2, 1, PAGE, 3.6, sharex=True, sharey=True)
    for ax, (title, model) in zip(axes[:, 0], shown, strict=True):
        mean, std = model.fit(data.X, y).predict(data.X, return_std=True)
        ax.fill_between(data.theta, mean - 1.96 * std, mean + 1.96 * std, color=BLUE, alpha=0.2, lw=0)
        ax.plot(data.theta, data.f, color=BLACK, lw=0.9, label="f")
        ax.plot(data.theta, mean, color=BLUE, label="prediction, 95 % of y")
        ax.plot(data.theta[known], y[known], ".", color=GREY, ms=3, label="labels")
        rmse = np.sqrt(np.mean((mean - data.f) ** 2))
        ax.set(ylabel="y", title=f"{title}: RMSE {rmse:.2f}")
    axes[1, 0].set(xlabel="θ, angle along the spiral")
    axes[0, 0].legend(ncols=3, loc="lower right")
    return figure
