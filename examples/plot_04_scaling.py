"""
Units decide who is whose neighbour
===================================

The same roll three times. With the height in other units, a hundred times as large, neighbours are
points of equal height, whatever layer they are on. With the height a hundred times too small it does not
count at all.
"""

import matplotlib.pyplot as plt
import numpy as np

from flgp import FLGPRegressor
from flgp.datasets import swiss_roll

data = swiss_roll(3000, random_state=0)
y = np.full(3000, np.nan)
y[:100] = data.y[:100]
panels = {"the function": data.f}
for factor, name in ((1, "one unit"), (100, "height × 100"), (0.01, "height / 100")):
    X = data.X * [1, factor, 1]
    prediction = FLGPRegressor(residual=None, random_state=0).fit(X, y).predict(X)
    error = np.sqrt(np.mean((prediction - data.f) ** 2))
    panels[f"{name}: error {error:.2f}"] = prediction

# %%
# The function, and what is predicted from a hundred labels in three units. All rolls are drawn in one
# unit.

figure = plt.figure(figsize=(11, 3.2), layout="constrained")
for place, (name, values) in enumerate(panels.items(), 1):
    axis = figure.add_subplot(1, 4, place, projection="3d")
    axis.scatter(*data.X.T, c=values, s=11, vmin=-3, vmax=3, linewidths=0)
    axis.view_init(12, -70)
    axis.set_box_aspect((1, 1.2, 1), zoom=1.5)
    axis.set_axis_off()
    axis.set_title(name, fontsize=11)

# %%
# The function has standard deviation 1.6, so the third model knows nothing. It has no way to notice:
# scale the columns before you fit, as a part of a pipeline.
