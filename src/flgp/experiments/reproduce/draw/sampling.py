"""The three sampling distributions on the spiral, and the errors under each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ....datasets import spiral
from ....datasets.spiral import SPIRAL_END, spiral_density
from ..experiment import Row
from ..methods import LABELS
from ..sampling import LAWS
from ..tables import MODELS, summarize
from .style import BLUE, PAGE, bare_map, method_style, panels, plain_log

_TITLES = {"uniform": "(i) uniform", "blocks": "(ii) 9:1:9:1 on the turns", "sine": "(iii) ∝ |sin(θ/2)|"}


def densities(seed: int) -> Figure:
    """Density of θ above, 1000 points drawn from it below."""
    figure, axes = panels(2, 3, PAGE, 3.9, height_ratios=(1, 2))
    theta = np.linspace(0, SPIRAL_END, 800)
    for column, law in enumerate(LAWS):
        ax = axes[0, column]
        ax.fill_between(theta / np.pi, spiral_density(theta, law), color=BLUE, alpha=0.35, lw=0)
        ax.set(title=_TITLES[law], xlabel="θ / π", ylim=(0, 0.082), xticks=range(0, 9, 2))
        data = spiral(1000, sampling=law, random_state=seed)
        axes[1, column].scatter(*data.X.T, s=2, color=BLUE, linewidths=0, rasterized=True)
        bare_map(axes[1, column], "")
    axes[0, 0].set_ylabel("density")
    return figure


def errors_by_law(rows: Sequence[Row]) -> Figure:
    """Mean squared error of each method and model, one panel per n."""
    sizes = sorted({row["n"] for row in rows})
    figure, axes = panels(1, len(sizes), PAGE, 2.6, sharey=True)
    for ax, n in zip(axes[0], sizes, strict=True):
        here = [row for row in rows if row["n"] == n]
        methods = [method for method in LABELS if any(row["method"] == method for row in here)]
        for offset, method in enumerate(methods):
            for model in MODELS:
                found = [summarize(here, "mse", law=law, method=method, model=model) for law in LAWS]
                if any(value is None for value in found):
                    continue
                ax.errorbar(
                    np.arange(len(LAWS)) + (offset - len(methods) / 2) * 0.12,
                    [value.mean for value in found if value],
                    [value.sd / value.count**0.5 for value in found if value],
                    elinewidth=0.8,
                    label=f"{LABELS[method]}, {model}",
                    **{**method_style(method, model), "ls": ""},
                )
        ax.set(title=f"n = {n:,}", xticks=range(len(LAWS)), xticklabels=LAWS, yscale="log")
        plain_log(ax.yaxis)
    axes[0, 0].set_ylabel("MSE (bars: standard error)")
    handles, names = axes[0, -1].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center")
    return figure
