"""
Winds: a vector field on the globe
==================================

A wind has two components, and they are not two unrelated maps: large-scale air hardly converges, it turns.
So the east wind at one place says something about the north wind at another. `geometry=TangentSphere()` is a
prior of whole vector fields, made of gradients and curls of spherical harmonics. A row is a place and a
direction, and f is the component of the field in that direction: 90 degrees is the east, 0 the north wind.

The winds are simulated: a jet in each hemisphere and eddies, nearly without divergence.
"""

import matplotlib.pyplot as plt
import numpy as np

from flgp import FLGPRegressor
from flgp.geometry import Sphere, TangentSphere

rng = np.random.default_rng(4)
grid = np.array([(a, b) for a in np.arange(-87.5, 90, 5) for b in np.arange(-180, 180, 5)])
stations = np.column_stack([np.degrees(np.arcsin(rng.uniform(-1, 1, 120))), rng.uniform(-180, 180, 120)])


def rows(places):
    """Every place twice: its east and its north component."""
    return np.concatenate([np.column_stack([places, np.full(len(places), b)]) for b in (90.0, 0.0)])


def winds(X, seed=1):
    """Two jets and random eddies with 5 % divergence, in m/s."""
    fields = TangentSphere(divergent=0.05).fit(X, rng)
    basis = fields.basis(336)
    amplitude = np.exp(-0.03 * basis.eigenvalues) * (basis.eigenvalues > 6)
    eddies = basis.features(fields.locate(X)) @ (amplitude * np.random.default_rng(seed).standard_normal(336))
    jets = 12 * np.exp(-(((np.abs(X[:, 0]) - 40) / 14) ** 2)) * np.sin(np.radians(X[:, 2]))
    return jets + 5 * eddies


X, X_grid = rows(stations), rows(grid)
truth = winds(X_grid)
y = winds(X) + rng.normal(0, 0.5, len(X))
model = FLGPRegressor(geometry=TangentSphere(), mean="zero", random_state=0).fit(X, y)
mean, std = model.predict(X_grid, return_std=True)

# %%
# The share of divergence is chosen by the evidence. Beside it, two maps that know nothing of each other, with
# a local term for short distances.

apart = FLGPRegressor(geometry=Sphere(), random_state=0).fit(stations, y.reshape(2, -1).T)
alone = apart.predict(grid).T.ravel()
area = np.tile(np.cos(np.radians(grid[:, 0])), 2)


def error(found):
    return np.sqrt(np.average((found - truth) ** 2, weights=area))


inside = np.average(np.abs(mean - truth) < 1.96 * std, weights=area)
print(f"one field {error(mean):.2f} m/s, two maps {error(alone):.2f} m/s")
print(f"divergent share {model.geometry_.divergent}, 95 % intervals hold {100 * inside:.0f} %")

# %%
# Stations in red. The shade is the standard deviation of the prediction: it is darkest far from stations.

figure, axes = plt.subplots(2, 1, figsize=(9, 9.4), layout="constrained", sharex=True)
shape = (36, 72)
both = np.sqrt((std.reshape(2, -1) ** 2).sum(axis=0)).reshape(shape)
for axis, field, name in ((axes[0], truth, "truth"), (axes[1], mean, "from 120 stations")):
    if axis is axes[1]:
        shade = axis.pcolormesh(np.unique(grid[:, 1]), np.unique(grid[:, 0]), both, cmap="Greys", vmin=0)
        figure.colorbar(shade, ax=axis, label="standard deviation, m/s", shrink=0.8)
    east, north = field.reshape(2, *shape)
    part = np.s_[::2, ::2]
    longitude, latitude = grid.T[::-1].reshape(2, *shape)
    axis.quiver(longitude[part], latitude[part], east[part], north[part], scale=700, width=0.0016)
    axis.plot(stations[:, 1], stations[:, 0], ".", color="tab:red", markersize=4)
    axis.set(title=name, ylabel="latitude", aspect="equal", xlim=(-183, 180), ylim=(-90, 90))
axes[1].set_xlabel("longitude")
