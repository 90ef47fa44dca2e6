"""
A function on a spiral, with its uncertainty
============================================

A hundred noisy labels of a function along a spiral. The bands are 90 % intervals: the narrow one holds
the function, the wide one a new measurement.
"""

import matplotlib.pyplot as plt
import numpy as np

from flgp import FLGPRegressor, metrics
from flgp.datasets import spiral

data = spiral(3000, random_state=1)
labelled = np.sort(np.random.default_rng(1).choice(3000, 100, replace=False))
# No label on a stretch of the curve: what does the model say there?
labelled = labelled[(data.arc[labelled] < 70) | (data.arc[labelled] > 100)]
rest = np.setdiff1d(np.arange(3000), labelled)
y = np.full(3000, np.nan)
y[labelled] = data.y[labelled]

model = FLGPRegressor(hyperparameters="integrate", random_state=0).fit(data.X, y)
of_f = model.latent_interval(data.X, coverage=0.9)
of_y = model.predict_interval(data.X, coverage=0.9)
share = metrics.interval_coverage(data.y[rest], *of_y[rest].T)

# %%
# Unrolled, the curve is an interval. Where there are no labels both bands open.

figure, axes = plt.subplots(1, 2, figsize=(11, 4), width_ratios=(1, 1.9), layout="constrained")
shown = axes[0].scatter(*data.X.T, c=model.predict(data.X), s=4, linewidths=0)
axes[0].scatter(*data.X[labelled].T, s=22, facecolors="none", edgecolors="k", linewidths=0.8)
axes[0].set_aspect("equal")
axes[0].set_axis_off()
figure.colorbar(shown, ax=axes[0], label="prediction", shrink=0.7)
axes[1].fill_between(data.arc, *of_y.T, color="tab:blue", alpha=0.15, linewidth=0, label="90 % of y")
axes[1].fill_between(data.arc, *of_f.T, color="tab:blue", alpha=0.4, linewidth=0, label="90 % of f")
axes[1].plot(data.arc, data.f, color="k", linewidth=1, label="truth")
axes[1].scatter(data.arc[labelled], data.y[labelled], s=10, color="tab:red", zorder=3, label="labels")
axes[1].set(xlabel="arc length", title=f"the wide band holds {100 * share:.0f} % of the other y")
axes[1].legend(ncols=4, fontsize="small", loc="upper center")
axes[1].set_ylim(-9, 12)
