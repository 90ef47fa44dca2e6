"""
Six circles, fifty labels
=========================

Concentric circles of alternating class are hopeless for a kernel of the distance: the nearest point in
space is often on the wrong circle. The heat kernel walks along each of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from flgp import FLGPClassifier, metrics, plotting
from flgp.datasets import circles

data = circles(6000, random_state=0)
y = np.full(6000, -1)  # -1 means unlabelled
y[:50] = data.y[:50]
model = FLGPClassifier(random_state=0).fit(data.X, y)
ours = model.predict_proba(data.X)[:, 1]

kernel = ConstantKernel(1.0, (1e-6, 1e3)) * RBF(0.5, (1e-4, 1e4))
euclidean = GaussianProcessClassifier(kernel, random_state=0).fit(data.X[:50], data.y[:50])
theirs = euclidean.predict_proba(data.X)[:, 1]

# %%
# Left the data with their labels, then the probability of one class under both kernels.

figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
axes[0].scatter(*data.X.T, s=2, color="0.75", linewidths=0)
for label, color in enumerate(("#d55e00", "#0072b2")):
    axes[0].scatter(*data.X[:50][data.y[:50] == label].T, s=26, color=color)
axes[0].set_title("6000 points, 50 labels")
for axis, p, name in ((axes[1], theirs, "Euclidean kernel"), (axes[2], ours, "heat kernel")):
    shown = axis.scatter(*data.X.T, c=p, s=2, cmap="coolwarm_r", vmin=0, vmax=1, linewidths=0)
    error = metrics.error_rate(data.y[50:], (p[50:] > 0.5).astype(int))
    axis.set_title(f"{name}: {100 * error:.0f} % error")
figure.colorbar(shown, ax=axes, label="P(class 1)", shrink=0.8)
for axis in axes:
    axis.set_aspect("equal")
    axis.set_axis_off()

# %%
# The reason in one picture: how much the point at the star tells about each other point.

figure, axis = plt.subplots(figsize=(5, 4), layout="constrained")
plotting.plot_covariance(model, data.X, int(np.argmax(data.X[:, 0])), ax=axis)
axis.set_axis_off()
