"""
What the labels say about the hyperparameters
=============================================

The evidence of the diffusion time, the kernels that go with it, and the average over what the labels
leave open.
"""

import matplotlib.pyplot as plt
import numpy as np

from flgp import FLGPRegressor, plotting
from flgp.datasets import circle

data = circle(1000, noise_sd=0.3, random_state=0)
y = np.full(1000, np.nan)
y[::40] = data.y[::40]
model = FLGPRegressor(n_anchors=100, residual=None, random_state=0).fit(data.X, y)
average = FLGPRegressor(n_anchors=100, residual=None, hyperparameters="integrate", random_state=0).fit(
    data.X, y
)

# %%
# A short diffusion time lets f wiggle, a long one makes it constant. The dashed line is the learned one.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
plotting.plot_evidence(model, ax=axes[0])
for time in model.diffusion_time_ * np.array([0.1, 1, 10]):
    kernel = FLGPRegressor(
        n_anchors=100, residual=None, diffusion_time=time, amplitude=1.0, random_state=0
    ).fit(data.X, y)
    covariance = kernel.covariance(data.X, data.X[[500]])[:, 0]
    axes[1].plot(data.theta, covariance / covariance.max(), label=f"t = {time:.0f}")
axes[1].set(xlabel="angle", title="correlation with the point at π")
axes[1].legend()
for fitted, name, color in ((model, "best values", "tab:blue"), (average, "averaged", "tab:orange")):
    low, high = fitted.latent_interval(data.X).T
    axes[2].plot(data.theta, low, color=color, linewidth=1, label=name)
    axes[2].plot(data.theta, high, color=color, linewidth=1)
axes[2].plot(data.theta, data.f, color="k", linewidth=1, label="truth")
axes[2].scatter(data.theta[::40], y[::40], s=10, color="tab:red")
axes[2].set(xlabel="angle", title="90 % intervals of f")
axes[2].legend(fontsize="small")

# %%
# What the average is over: mean, standard deviation and quantiles of each hyperparameter.

for name, row in average.hyperparameter_posterior_.table().items():
    print(f"{name:15}", "  ".join(f"{key} {value:8.3g}" for key, value in row.items()))
