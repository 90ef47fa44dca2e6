"""
A graph of friendships
======================

Zachary's karate club: 34 members, 78 friendships, and a quarrel between the instructor and the president that
split the club. Who went with whom? Two labels, one for each of the two, and the graph.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from flgp import FLGPClassifier
from flgp.geometry import Graph

folder = Path(globals().get("__file__", "")).parent / "data"  # the gallery runs without __file__
edges = np.loadtxt(folder / "karate_club.txt", dtype=int)
half = sparse.csr_array((np.ones(len(edges)), edges.T), shape=(34, 34))
graph = Graph(half + half.T)
with_instructor = np.isin(np.arange(34), [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21])
truth = np.where(with_instructor, "instructor", "president")

# Rows are node numbers. None means "unlabelled".
nodes = np.arange(34)[:, None]
y = np.full(34, None, dtype=object)
y[0], y[33] = "instructor", "president"

# Two labels say nothing about how far a friendship reaches: five steps of the walk are given.
model = FLGPClassifier(geometry=graph, diffusion_time=5.0).fit(nodes, y)
p = model.predict_proba(nodes)[:, 1]
wrong = np.flatnonzero(model.predict(nodes) != truth)
print(f"{34 - len(wrong)} of 34 right; wrong: {wrong.tolist()}")

# %%
# Nodes are drawn where springs along the edges put them.

rng = np.random.default_rng(3)
place = rng.normal(size=(34, 2))
for step in np.geomspace(0.3, 0.01, 300):
    between = place[:, None] - place
    distance = np.linalg.norm(between, axis=2) + np.eye(34)
    push = between * (0.35**2 / distance**2)[..., None]
    pull = graph.adjacency.toarray()[..., None] * between * (distance / 0.35)[..., None]
    force = (push - pull).sum(axis=1) - 0.3 * place
    place += step * force / np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9) * 0.3

figure, axis = plt.subplots(figsize=(7.5, 5.2), layout="constrained")
axis.plot(*place[edges].transpose(2, 1, 0), color="0.8", linewidth=0.8, zorder=1)
for group, marker in (("instructor", "o"), ("president", "s")):
    own = truth == group
    drawn = axis.scatter(
        *place[own].T, c=p[own], cmap="coolwarm", vmin=0, vmax=1, marker=marker, s=200, edgecolors="0.3"
    )
    axis.scatter([], [], marker=marker, c="w", edgecolors="0.3", s=90, label=f"went with the {group}")
for node in range(34):
    label = {"ha": "center", "va": "center", "fontsize": 8, "zorder": 3}
    axis.text(*place[node], str(node), weight="bold" if node in (0, 33) else None, **label)
axis.set_axis_off()
axis.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2)
figure.colorbar(drawn, ax=axis, label="P(went with the president)", shrink=0.8)

# %%
# Colour is what two labels and the graph say, shape is what happened: they disagree only for members between
# the two groups, and there the probability is near one half.
