"""Theorem 3 and contraction, with fitted slopes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...._typing import Array
from ..experiment import Row
from ..theory import SMOOTHNESS, contraction_points, fitted_slope, theorem_3_points
from .style import BLUE, GREEN, ORANGE, PAGE, panels, plain_log


def both(rows: Sequence[Row]) -> Figure:
    """Prediction against kernel error (left), error against the number of labels (right)."""
    figure, axes = panels(1, 2, PAGE, 2.8)
    left, right = axes[0]
    x, y = theorem_3_points(rows)
    if len(x) > 2:
        left.plot(x, y, "o", color=BLUE, mfc="none", ms=3)
        slope = _line(left, x, y, BLUE)
        left.set_title(f"Theorem 3 on the circle: slope {slope:.2f}")
    left.set(xscale="log", yscale="log", xlabel="kernel error, max, relative to the peak")
    left.set_ylabel("gap to the exact posterior mean, RMS")
    for smoothness, color, marker in zip(SMOOTHNESS, (ORANGE, GREEN, BLUE), ("s", "^", "o"), strict=True):
        m, errors = contraction_points(rows, smoothness)
        if len(m) > 2:
            right.plot(m, errors, marker, color=color)
            slope = _line(right, m, errors, color)
            rate = -smoothness / (2 * smoothness + 1)
            right.plot(
                [], [], marker=marker, color=color, label=f"β = {smoothness:g}: {slope:.2f} ({rate:.2f})"
            )
    right.set(xscale="log", yscale="log", xlabel="m, number of labels", ylabel="RMS error of f")
    right.set_title("contraction: fitted slope (best possible)")
    right.legend()
    for ax in (left, right):
        plain_log(ax.xaxis)
        plain_log(ax.yaxis)
    return figure


def _line(ax: Any, x: Array, y: Array, color: str) -> float:
    """Draw the least-squares line of the logarithms; return its slope."""
    slope, _ = fitted_slope(x, y)
    level = np.mean(np.log(y)) - slope * np.mean(np.log(x))
    ends = np.array([x.min(), x.max()])
    ax.plot(ends, np.exp(level) * ends**slope, color=color, lw=0.9)
    return slope
