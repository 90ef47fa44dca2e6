"""Time of an evidence evaluation against the number of labels."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from ..experiment import Row
from ..tables import means_along
from .style import BLUE, COLUMN, ORANGE, panels


def evaluation_time(rows: Sequence[Row]) -> Figure:
    """Flat lines: the cost does not depend on m once m is above M."""
    figure, axes = panels(1, 1, COLUMN, 2.6)
    ax = axes[0, 0]
    for M, color, marker in zip(sorted({row["M"] for row in rows}), (BLUE, ORANGE), ("o", "s"), strict=False):
        points = means_along(rows, "evaluation_ms", "m", M=M)
        ax.plot(*zip(*points, strict=True), marker=marker, color=color, label=f"M = {M}")
    ax.set(xscale="log", yscale="log", xlabel="m, number of labels", ylabel="ms per evidence and gradient")
    low, high = ax.get_ylim()
    ax.set_ylim(low / 3, high * 3)
    ax.legend()
    return figure
