"""
Units decide who is whose neighbour
===================================

The same roll three times. With the height in other units, a hundred times as large, neighbours are
points of equal height, whatever layer they are on. By default the labels decide whether columns are used as
given or on one scale.
"""

import matplotlib.pyplot as plt
import numpy as np

from flgp import FLGPRegressor
from flgp.datasets import swiss_roll

data = swiss_roll(3000, random_state=0)
y = np.full(3000, np.nan)
y[:100] = data.y[:100]
panels = {"the function": data.f}
for name, factor, scaling in (
    ("one unit, as given", 1, None),
    ("height × 100, as given", 100, None),
    ("height × 100, by default", 100, "auto"),
):
    X = data.X * [1, factor, 1]
    model = FLGPRegressor(linear=None, residual=None, scaling=scaling, random_state=0).fit(X, y)
    prediction = model.predict(X)
    error = np.sqrt(np.mean((prediction - data.f) ** 2))
    panels[f"{name}: error {error:.2f}"] = prediction

# %%
# The function, and what is predicted from a hundred labels. All rolls are drawn in one unit.

figure = plt.figure(figsize=(11, 3.2), layout="constrained")
for place, (name, values) in enumerate(panels.items(), 1):
    axis = figure.add_subplot(1, 4, place, projection="3d")
    axis.scatter(*data.X.T, c=values, s=11, vmin=-3, vmax=3, linewidths=0)
    axis.view_init(12, -70)
    axis.set_box_aspect((1, 1.2, 1), zoom=1.5)
    axis.set_axis_off()
    axis.set_title(name, fontsize=10)

# %%
# The function has standard deviation 1.6, so the model in the middle knows little, and has no way to notice.
