"""
Long range and short range
==========================

A folded sheet with a signal of two ranges. The heat kernel carries what few labels say along the sheet;
the local term follows what changes from one point to the next. Here it measures distance in space as it is
(`residual_columns`), so it cannot tell layers apart, and both are needed.
"""

import matplotlib.pyplot as plt
import numpy as np

from flgp import FLGPRegressor
from flgp.datasets import folded_sheet

data = folded_sheet(12_000, random_state=0)
y = np.full(12_000, np.nan)
y[:600] = data.y[:600]
model = FLGPRegressor(n_anchors=1500, residual_columns=[0, 1, 2], random_state=0).fit(data.X, y)
mean, parts = model.predict(data.X, return_parts=True)

# %%
# The sheet as it lies in space, seen from the side: layers 0.08 apart, whose points have nothing to do
# with each other. Below, the sheet unfolded: the signal, and the two parts that the model finds in 600
# labels.

figure, axes = plt.subplots(4, 1, figsize=(10, 8), height_ratios=(2.2, 1, 1, 1), layout="constrained")
colors = {"cmap": "RdBu_r", "vmin": -3, "vmax": 3, "s": 4, "linewidths": 0}
axes[0].scatter(data.X[:, 0], data.X[:, 2], c=data.f, **colors)
axes[0].set_title("in space")
panels = {"signal": data.f, "long range": parts["manifold"].mean, "short range": parts["local"].mean}
for axis, (name, values) in zip(axes[1:], panels.items(), strict=True):
    shown = axis.scatter(data.arc, data.width, c=values, **colors)
    axis.set_title(name)
    axis.set_yticks([])
axes[-1].set_xlabel("along the sheet")
figure.colorbar(shown, ax=axes, shrink=0.6)

# %%
# Mean squared error at the points without a label: the heat kernel alone, both, and the default, which also
# learns how much each column counts for the local term. It finds out that height tells the layers apart.

alone = FLGPRegressor(n_anchors=1500, residual=None, random_state=0).fit(data.X, y)
default = FLGPRegressor(n_anchors=1500, random_state=0).fit(data.X, y)
for name, fitted in (("heat kernel alone", alone), ("both", model), ("both, with relevance", default)):
    print(f"{name}: {np.mean((fitted.predict(data.X)[600:] - data.y[600:]) ** 2):.3f}")
print("relevance of the columns:", default.feature_relevance_.round(2))
