"""The picture of docs/outputs.md: a stream on a ring, and what 40 gauges say about it.

The numbers are those of the page: its blocks of Python are run first.

Run: .venv/bin/python docs/images/make_mesh_field.py
"""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent


def page():
    """Names that the page defines."""
    text = (HERE.parent / "outputs.md").read_text(encoding="utf-8")
    start = text.index("## Vector fields on a surface")
    names = {"np": np, "rng": np.random.default_rng(0)}
    exec("from flgp import FLGPRegressor", names)
    for block in re.findall(r"```python\n(.*?)```", text[start:], re.DOTALL):
        exec(block, names)
    return names


def draw(axis, at, vectors, color):
    """The side of the ring that is seen, with arrows on it; returns the surface."""
    n, m, V = at["n"], at["m"], at["vertices"]
    grid = np.concatenate([V.reshape(n, m, 3), V.reshape(n, m, 3)[:1]])
    grid = np.concatenate([grid, grid[:, :1]], axis=1)
    shown = np.concatenate([color.reshape(n, m), color.reshape(n, m)[:1]])
    colors = plt.cm.Greys(shown)
    axis.plot_surface(*grid.transpose(2, 0, 1), facecolors=colors, rstride=1, cstride=1, shade=False)
    top = np.flatnonzero((V[:, 2] > 0.05) & (np.arange(n * m) // m % 2 == 0))
    lifted = V[top] + 0.04 * np.array([0.0, 0.0, 1.0])
    axis.quiver(*lifted.T, *(0.11 * vectors[top]).T, color="tab:blue", linewidth=1.1, arrow_length_ratio=0.35)
    axis.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), zlim=(-0.8, 0.8))
    axis.set_box_aspect((2.4, 2.4, 1.6), zoom=1.25)
    axis.view_init(62, -60)
    axis.computed_zorder = False
    axis.set_axis_off()


def main():
    at = page()
    size = at["n"] * at["m"]
    found = at["found"].reshape(3, size).T
    std = np.sqrt((at["std"].reshape(3, size) ** 2).sum(axis=0))
    figure, axes = plt.subplots(
        1, 2, figsize=(11, 4.6), subplot_kw={"projection": "3d"}, layout="constrained"
    )
    draw(axes[0], at, at["stream"], np.full(size, 0.15))
    draw(axes[1], at, found, std / std.max())
    seen = at["vertices"][at["gauges"]]
    seen = seen[seen[:, 2] > 0]
    axes[1].scatter(*(seen + 0.05 * np.array([0, 0, 1.0])).T, color="tab:red", s=16, depthshade=False)
    scale = plt.cm.ScalarMappable(plt.Normalize(0, std.max()), "Greys")
    figure.colorbar(scale, ax=axes[1], shrink=0.7, label="standard deviation")
    axes[0].set_title("the stream")
    axes[1].set_title("from 40 gauges (red)")
    figure.savefig(HERE / "mesh_field.png", dpi=110)
    error = np.sqrt(np.mean((found - at["stream"]) ** 2))
    print(f"RMSE {error:.3f}, spread of the stream {at['stream'].std():.3f}")


if __name__ == "__main__":
    main()
