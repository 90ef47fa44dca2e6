"""
Correct and smooth, with uncertainty
====================================

Gradient boosting knows what the covariates say, but not that neighbours along a river resemble each other.
Its predictions go to :class:`~flgp.FLGPRegressor` as ``offset``, and the Gaussian process learns what they
leave over: a smooth function along the river, with an interval.
"""

# %%
# Sites lie along a river that winds, so that two sites may be close across the land and far along the water.
# What is measured depends on two covariates, which boosting finds, and on where along the river it is.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_predict

from flgp import FLGPRegressor
from flgp.datasets import spiral

rng = np.random.default_rng(0)
river = spiral(1200, random_state=0)
along = (river.arc - river.arc.min()) / np.ptp(river.arc)
covariates = rng.uniform(-1, 1, (1200, 2))
truth = np.abs(covariates[:, 0]) + covariates[:, 0] * covariates[:, 1] + np.sin(12 * along)
y = truth + 0.3 * rng.normal(size=1200)
order = rng.permutation(1200)
train, test = order[:300], order[300:]

# %%
# Boosting sees everything: covariates and coordinates. At the labelled sites its predictions must be out of
# fold; otherwise there would be nothing left over.
table = np.column_stack([covariates, river.X])
boosting = HistGradientBoostingRegressor(max_iter=100, random_state=0)
offset = np.empty(1200)
offset[train] = cross_val_predict(boosting, table[train], y[train], cv=10)
offset[test] = boosting.fit(table[train], y[train]).predict(table[test])

labels = np.full(1200, np.nan)
labels[train] = y[train]
alone = FLGPRegressor(random_state=0).fit(river.X, labels)
both = FLGPRegressor(random_state=0).fit(river.X, labels, offset=offset)


def error(prediction):
    """Root mean squared error at the sites without a label."""
    return np.sqrt(np.mean((prediction - truth)[test] ** 2))


errors = {
    "boosting": error(offset),
    "river": error(alone.predict(river.X)),
    "both": error(both.predict(river.X, offset=offset)),
}
print({name: round(float(value), 2) for name, value in errors.items()})
ends = both.predict_interval(river.X[test], 0.9, offset=offset[test])
inside = np.mean((ends[:, 0] <= y[test]) & (y[test] <= ends[:, 1]))

# %%
# What is left over is a function along the river, and the interval says how well it is known.
mean, variance = both.latent_mean_and_variance(river.X)
sort = np.argsort(along)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), width_ratios=(2, 1))
left.plot(along[train], (y - offset)[train], ".", color="0.7", label="left over by boosting")
band = 1.645 * np.sqrt(variance[sort])
left.fill_between(along[sort], mean[sort] - band, mean[sort] + band, alpha=0.3)
left.plot(along[sort], mean[sort], label="correction, 90 % interval")
left.set(xlabel="along the river")
left.legend()
right.bar(list(errors), list(errors.values()))
right.set(ylabel="RMSE", title=f"{100 * inside:.0f} % of y in 90 % intervals")
figure.tight_layout()
