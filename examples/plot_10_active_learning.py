"""
Which point to label next
=========================

Two labels to begin with, then one at a time: the row that `suggest` names, or any. The graph is made once; a
further label is an `update`.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from flgp import FLGPClassifier
from flgp.datasets import circles

warnings.filterwarnings("ignore", ".*hold no label")  # at first some circles have none

data = circles(2400, random_state=0)
start = [int(np.flatnonzero(data.y == label)[0]) for label in (0, 1)]
y = np.full(2400, -1)
y[start] = data.y[start]


def learn(choose, n_queries=20):
    """Accuracy after each query, and the rows that were asked for."""
    model = FLGPClassifier(random_state=0).fit(data.X, y)
    rows, accuracy = list(start), [model.score(data.X, data.y)]
    for query in range(n_queries):
        rows.append(choose(model))
        model.update(data.X[rows[-1:]], data.y[rows[-1:]], relearn=query % 5 == 0)
        accuracy.append(model.score(data.X, data.y))
    return np.array(rows), accuracy


rng = np.random.default_rng(0)
asked, chosen = learn(lambda model: int(model.suggest(data.X, 1)[0]))
drawn = [learn(lambda model: int(rng.integers(2400)))[1] for _ in range(3)]

# %%
# The suggested rows stand for many points in doubt: circles without a label first, then gaps in those that
# have some. Random questions waste some on points whose class is known.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=(1, 1.4), layout="constrained")
axes[0].scatter(*data.X.T, s=2, color="0.8", linewidths=0)
shown = axes[0].scatter(*data.X[asked].T, c=np.arange(len(asked)), s=36, cmap="viridis_r", zorder=3)
figure.colorbar(shown, ax=axes[0], label="order of the questions", shrink=0.7)
axes[0].set_aspect("equal")
axes[0].set_axis_off()
labels = np.arange(2, 23)
axes[1].plot(labels, chosen, ".-", label="suggested row")
for curve in drawn:
    axes[1].plot(labels, curve, color="0.6", linewidth=1)
axes[1].plot(labels, np.mean(drawn, axis=0), ".-", color="0.3", label="random row, mean of three runs")
axes[1].set(xlabel="labels", ylabel="accuracy on all points")
axes[1].legend()
