"""
Long range and short range
==========================

A folded sheet with a signal of two ranges. The heat kernel carries what few labels say along the sheet;
the residual follows what changes from one point to the next. The evidence decides that both are needed.
"""

import matplotlib.pyplot as plt
import numpy as np

from flgp import FLGPRegressor
from flgp.datasets import folded_sheet

data = folded_sheet(5000, random_state=0)
y = np.full(5000, np.nan)
y[:1000] = data.y[:1000]
model = FLGPRegressor(n_anchors=800, random_state=0).fit(data.X, y)
mean, parts = model.predict(data.X, return_parts=True)
alone = FLGPRegressor(n_anchors=800, residual=None, random_state=0).fit(data.X, y).predict(data.X)

# %%
# The sheet seen from the side. Its layers are 0.08 apart, and neighbours through the gap have nothing to
# do with each other.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), sharex=True, sharey=True, layout="constrained")
panels = ((data.y, "labels"), (parts.manifold_mean, "long range"), (parts.local_mean, "short range"))
for axis, (values, name) in zip(axes, panels, strict=True):
    limit = np.quantile(np.abs(values), 0.99)
    shown = axis.scatter(
        data.X[:, 0], data.X[:, 2], c=values, s=5, cmap="RdBu_r", vmin=-limit, vmax=limit, linewidths=0
    )
    axis.set_title(name)
    figure.colorbar(shown, ax=axis, shrink=0.8)

# %%
# Mean squared error at the points without a label, without and with the short-range part:

for name, prediction in (("heat kernel alone", alone), ("both", mean)):
    print(f"{name}: {np.mean((prediction[1000:] - data.y[1000:]) ** 2):.3f}")
print(f"{model.residual_kernel_}, length scale {model.residual_length_scale_:.3f}")
