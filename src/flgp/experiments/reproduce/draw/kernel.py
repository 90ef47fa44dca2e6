"""Heat kernels: profiles on the circle, and errors along the schedules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ..experiment import Row
from ..kernel import FLGP, GLGP, MANIFOLDS, kernel_profile
from ..tables import means_along
from .style import BLACK, BLUE, GREEN, ORANGE, PAGE, PURPLE, panels, plain_log

_COUNTS = ((20, ORANGE, "-"), (25, GREEN, "--"), (30, PURPLE, "-."), (40, BLUE, ":"))


def profiles(seed: int) -> Figure:
    """Exact and estimated kernel along the circle for the paper's M and ε."""
    figure, axes = panels(2, 2, PAGE, 4.2, sharex=True, height_ratios=(2, 1))
    circle = {"manifold": "circle", "method": FLGP, "n": 6000, "s": 200, "r": 10}
    for column, epsilon in enumerate((0.02, 0.08)):
        top, bottom = axes[:, column]
        for M, color, line in _COUNTS:
            found = kernel_profile({**circle, "M": M, "epsilon": epsilon}, seed)
            near = found.distance <= 1.0
            # Signed position along the circle; the first half of the points is on one side.
            side = np.where(np.arange(len(found.distance)) < len(found.distance) // 2, 1.0, -1.0)
            order = np.argsort((side * found.distance)[near])
            place = (side * found.distance)[near][order]
            exact, estimate = found.exact[near][order], found.estimate[near][order]
            if _COUNTS[0][0] == M:
                top.plot(place, exact, color=BLACK, lw=2.2, alpha=0.35, label="exact")
            top.plot(place, estimate, color=color, ls=line, label=f"M = {M}")
            bottom.plot(place, 100 * (estimate - exact) / found.exact.max(), color=color, ls=line)
        top.set_title(f"ε = {epsilon} (n = 6000, s = 200, r = 10)")
        bottom.set(xlabel="geodesic position relative to x")
    axes[0, 0].set_ylabel("kernel (density\nagainst probability)")
    axes[1, 0].set_ylabel("error, % of peak")
    axes[0, 1].legend()
    return figure


def errors(rows: Sequence[Row]) -> Figure:
    """Error against M at fixed ε, and along schedules in which all parameters change together."""
    figure, axes = panels(1, 2, PAGE, 2.7)
    paper = [row for row in rows if row["series"] == "paper"]
    left, right = axes[0]
    for method, marker, line in ((FLGP, "o", "-"), (GLGP, "P", "--")):
        for epsilon, color in ((0.02, BLUE), (0.08, ORANGE)):
            points = means_along(paper, "max_error", "M", 100, method=method, epsilon=epsilon)
            if points:
                label = f"{method.upper()}, ε = {epsilon}"
                left.plot(*zip(*points, strict=True), marker=marker, ls=line, color=color, label=label)
    left.set(
        xlabel="M, eigenpairs", ylabel="max error, % of peak", yscale="log", title="circle, s = 200, ε fixed"
    )
    left.legend()
    plain_log(left.yaxis)
    left.set_xticks([20, 25, 30, 40])
    together = [row for row in rows if row["series"] == "together" and row["method"] == FLGP]
    for manifold, color, marker in zip(MANIFOLDS, (BLUE, ORANGE, GREEN), ("o", "s", "^"), strict=True):
        points = means_along(together, "max_error", "n", 100, manifold=manifold)
        if points:
            right.plot(*zip(*points, strict=True), marker=marker, color=color, label=manifold)
    right.axhline(2, color=BLACK, lw=0.6, ls=":")
    right.set(xscale="log", yscale="log", xlabel="n (s and M grow, ε falls)", ylabel="max error, % of peak")
    right.set_title("FLGP, all together; dotted: 2 %")
    right.legend()
    plain_log(right.xaxis)
    plain_log(right.yaxis)
    return figure
