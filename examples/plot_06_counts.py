"""
Counts on a doughnut
====================

Poisson counts with a known exposure at each of 150 places, and the rate everywhere else. The uncertainty
is that of the rate, without the noise of a count.
"""

import matplotlib.pyplot as plt
import numpy as np

from flgp import FLGPRegressor
from flgp.datasets import torus

data = torus(4000, embedding="ring", random_state=0)
rate = np.exp(data.f / 1.5)
rng = np.random.default_rng(0)
labelled = rng.choice(4000, 150, replace=False)
exposure = np.ones(4000)
exposure[labelled] = rng.uniform(0.5, 10, 150)
counts = np.full(4000, np.nan)
counts[labelled] = rng.poisson(rate[labelled] * exposure[labelled])

model = FLGPRegressor(likelihood="poisson", random_state=0).fit(data.X, counts, exposure=exposure)
estimate = model.predict(data.X)
low, high = np.exp(model.latent_interval(data.X, coverage=0.9)).T

# %%
# True rate, estimated rate, and the width of the interval as a factor.

figure = plt.figure(figsize=(11, 3.8), layout="constrained")
top = np.quantile(rate, 0.99)
panels = (
    (rate, "true rate", top),
    (estimate, "estimate", top),
    (np.sqrt(high / low), "uncertain by a factor", None),
)
for place, (values, name, limit) in enumerate(panels, 1):
    axis = figure.add_subplot(1, 3, place, projection="3d")
    shown = axis.scatter(*data.X.T, c=values, s=11, vmin=0 if limit else None, vmax=limit, linewidths=0)
    axis.set_box_aspect((1, 1, 0.35), zoom=1.6)
    axis.set_axis_off()
    axis.set_title(name)
    figure.colorbar(shown, ax=axis, shrink=0.6)

# %%
# The interval holds the true rate at this share of the places, of a stated 90 %:

inside = np.mean((low <= rate) & (rate <= high))
print(f"{100 * inside:.0f} %")
