"""
Units decide who is whose neighbour
===================================

The same roll twice. In the second the height is measured in other units, a hundred times as large:
neighbours are now points of equal height, whatever layer they are on.
"""

import matplotlib.pyplot as plt
import numpy as np

from flgp import FLGPRegressor
from flgp.datasets import swiss_roll

data = swiss_roll(3000, random_state=0)
y = np.full(3000, np.nan)
y[:100] = data.y[:100]

figure = plt.figure(figsize=(11, 3.6), layout="constrained")
for place, (factor, name) in enumerate(((1, "one unit"), (100, "height × 100"), (0.01, "height / 100")), 1):
    X = data.X * [1, factor, 1]
    model = FLGPRegressor(residual=None, random_state=0).fit(X, y)
    error = np.sqrt(np.mean((model.predict(X) - data.f) ** 2))
    # The covariance from one point, drawn on the roll as it is.
    covariance = model.covariance(X, X[[0]])[:, 0]
    axis = figure.add_subplot(1, 3, place, projection="3d")
    limit = np.quantile(np.abs(covariance), 0.995)
    axis.scatter(*data.X.T, c=covariance, s=3, cmap="RdBu_r", vmin=-limit, vmax=limit, linewidths=0)
    axis.view_init(12, -70)
    axis.set_axis_off()
    axis.set_title(f"{name}: error {error:.2f}")

# %%
# The standard deviation of the function is 1.6: in the middle the model knows nothing. It has no way to
# notice. Scale the columns before you fit, as a part of a pipeline.
