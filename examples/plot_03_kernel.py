"""
The kernel beside the exact one
===============================

On a Swiss roll the heat kernel is known: unrolled, it is that of a rectangle with reflecting edges. The
estimate comes from points alone, without the roll's equation.
"""

import matplotlib.pyplot as plt
import numpy as np

from flgp import HeatKernelFeatures
from flgp.datasets import swiss_roll

data = swiss_roll(8000, random_state=0)
source = int(np.argmin(np.abs(data.arc - 40) + np.abs(data.height - 10)))
model = HeatKernelFeatures(n_anchors=400, n_neighbors=4, diffusion_time=8.0, random_state=0).fit(data.X)
estimate = model.covariance(data.X, data.X[[source]])[:, 0]

# %%
# The diffusion time of the model is in graph steps, that of the formula in units of area. The unit is
# found by the best agreement, one number for all points.

times = np.geomspace(1, 100, 60)
exact = np.array([data.heat_kernel_from(source, t, measure="probability") for t in times])
best = int(np.argmin(np.abs(exact - estimate).mean(axis=1)))
exact = exact[best]

figure = plt.figure(figsize=(11, 4.2), layout="constrained")
for place, values, name in ((1, exact, "exact heat kernel"), (2, estimate, "from 8000 points")):
    axis = figure.add_subplot(1, 3, place, projection="3d")
    axis.scatter(*data.X.T, c=values, s=9, cmap="magma", vmin=0, vmax=exact.max(), linewidths=0)
    axis.view_init(10, -70)
    axis.set_box_aspect((1, 1.2, 1), zoom=1.5)
    axis.set_axis_off()
    axis.set_title(name)
axis = figure.add_subplot(1, 3, 3)
distance = data.distances_from(source)
axis.scatter(distance, estimate, s=3, linewidths=0, label="estimate")
axis.scatter(distance, exact, s=3, linewidths=0, color="k", label="exact")
axis.set(xlim=(0, 30), xlabel="distance along the roll", ylabel="kernel")
axis.legend(markerscale=3)

# %%
# A kernel of the straight distance would be as large on the next layer of the roll, which is 6.3 away
# through space and far away along it.
