"""
A field on the globe
====================

The height of the 850 hPa pressure level over the whole Earth, from 150 places. The sphere is a geometry that
is known, so no graph is needed: `geometry=Sphere()` takes latitude and longitude, and neither the poles nor
the date line are special.

The data are a monthly mean of the ERA-Interim reanalysis, every third degree, from xarray's tutorial data.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from flgp import FLGPRegressor
from flgp.baselines import EGPRegressor
from flgp.geometry import Sphere

folder = Path(globals().get("__file__", "")).parent / "data"  # the gallery runs without __file__
data = np.load(folder / "height_850hPa.npz")
latitude, longitude = np.meshgrid(data["latitude"], data["longitude"], indexing="ij")
X = np.column_stack([latitude.ravel(), longitude.ravel()])
truth = data["height"].ravel()

# 150 places, spread evenly over the area of the sphere; 5 m of measurement noise.
rng = np.random.default_rng(0)
area = np.cos(np.deg2rad(X[:, 0]))
area = np.maximum(area, 0) / np.maximum(area, 0).sum()
labelled = rng.choice(len(X), 150, replace=False, p=area)
y = np.full(len(X), np.nan)
y[labelled] = truth[labelled] + rng.normal(0, 5, 150)

model = FLGPRegressor(geometry=Sphere(), kernel="matern", random_state=0).fit(X, y)
mean, std = model.predict(X, return_std=True)

# %%
# The truth, the prediction, and its standard deviation, which grows with the distance from the labels.

figure, axes = plt.subplots(3, 1, figsize=(7.5, 10.5), layout="constrained")
low, high = np.quantile(truth, [0.01, 0.99])
panels = (
    (truth, "truth", "viridis", low, high),
    (mean, "prediction from 150 labels", "viridis", low, high),
    (std, "standard deviation", "magma_r", None, None),
)
for axis, (values, name, colours, least, most) in zip(axes, panels, strict=True):
    drawn = axis.pcolormesh(
        data["longitude"],
        data["latitude"],
        values.reshape(latitude.shape),
        cmap=colours,
        vmin=least,
        vmax=most,
    )
    axis.plot(X[labelled, 1], X[labelled, 0], "k.", markersize=3)
    axis.set(title=name, aspect="equal", xticks=range(-180, 181, 60), yticks=range(-90, 91, 30))
    axis.set(xlabel="longitude", ylabel="latitude")
    figure.colorbar(drawn, ax=axis, label="m", shrink=0.9)

# %%
# The same labels with a Euclidean Gaussian process of latitude and longitude, which tears the map at the date
# line and stretches it at the poles; errors are weighted by area.

flat = EGPRegressor(random_state=0).fit(X[labelled], y[labelled])


def error(prediction):
    return np.sqrt(np.sum(area * (prediction - truth) ** 2))


inside = np.sum(area * (np.abs(mean - truth) < 1.96 * std))
print(f"sphere {error(mean):.1f} m, latitude and longitude {error(flat.predict(X)):.1f} m")
print(f"the 95 % intervals hold {100 * inside:.0f} % of the values")

# %%
# On the sphere the error is smaller, and the standard deviation says where the map is least certain: between
# the labels, at the poles no more than elsewhere.
