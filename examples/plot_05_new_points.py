"""
Back to the prior, off the cloud
================================

A prediction exists everywhere in the plane. Near the points it follows them; away from them mean and
uncertainty return to what was believed before any label.
"""

import matplotlib.pyplot as plt
import numpy as np

from flgp import FLGPRegressor

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 1500)
X = np.column_stack([1.6 * np.cos(angle), np.sin(2 * angle)]) + 0.03 * rng.normal(size=(1500, 2))
truth = np.sin(3 * angle)
y = np.full(1500, np.nan)
y[:60] = truth[:60] + 0.1 * rng.normal(size=60)
model = FLGPRegressor(n_anchors=150, residual=None, random_state=0).fit(X, y)

grid = np.stack(np.meshgrid(np.linspace(-2.4, 2.4, 200), np.linspace(-1.8, 1.8, 150)), axis=-1)
points = grid.reshape(-1, 2)
mean, variance = model.latent_mean_and_variance(points)
distance = model.distance_to_anchors(points)

# %%
# The figure of eight crosses itself. There a point in the plane cannot say which branch it is on, and
# neither can the model: an honest limit of learning a set from its points.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
panels = (
    (mean, "mean of f", "RdBu_r"),
    (np.sqrt(variance), "standard deviation of f", "magma"),
    (np.minimum(distance, 6), "distance to the cloud", "viridis"),
)
for axis, (values, name, colors) in zip(axes, panels, strict=True):
    shown = axis.pcolormesh(*grid.transpose(2, 0, 1), values.reshape(grid.shape[:2]), cmap=colors)
    axis.scatter(*X[:60].T, s=8, color="w", edgecolors="k", linewidths=0.5)
    axis.set_title(name)
    axis.set_aspect("equal")
    axis.set_axis_off()
    figure.colorbar(shown, ax=axis, shrink=0.7)
