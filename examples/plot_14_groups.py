"""
Instruments that disagree
=========================

Sixty ships measure the height of the 850 hPa level, each with an instrument that has its own constant error.
Where the ships have been is on the globe; who measured is a group. The group term learns the errors, and the
map is free of them.

The field is the one of the globe example (ERA-Interim); tracks and instrument errors are simulated.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from flgp import FLGPRegressor
from flgp.geometry import Sphere

folder = Path(globals().get("__file__", "")).parent / "data"  # the gallery runs without __file__
data = np.load(folder / "height_850hPa.npz")
latitude, longitude, height = data["latitude"], data["longitude"], data["height"]

# %%
# Every ship sails 25 legs of about 3 degrees from a random start, and is off by about 40 m.

rng = np.random.default_rng(0)
offset = rng.normal(0, 40, 60)
rows, values = [], []
for ship in range(60):
    where = np.array([np.rad2deg(np.arcsin(rng.uniform(-0.9, 0.9))), rng.uniform(-180, 180)])
    course = rng.uniform(0, 2 * np.pi)
    for _ in range(25):
        row = np.abs(latitude - where[0]).argmin()
        column = np.abs((longitude - where[1] + 180) % 360 - 180).argmin()
        rows.append([latitude[row], longitude[column], ship])
        values.append(height[row, column] + offset[ship] + rng.normal(0, 5))
        course += rng.normal(0, 0.2)
        where = np.clip(where + 3 * np.array([np.cos(course), np.sin(course)]), [-80, -np.inf], [80, np.inf])
X, y = np.array(rows), np.array(values)

options = {"geometry": Sphere(), "geometry_columns": [0, 1], "kernel": "matern", "residual": None}
plain = FLGPRegressor(**options).fit(X, y)
grouped = FLGPRegressor(groups=[2], **options).fit(X, y)
print({name: round(share, 2) for name, share in grouped.term_shares_.items()})

# %%
# The whole map, for an instrument without error: the number -1 is a ship that nobody knows, whose effect has
# the prior's mean 0.

everywhere = np.stack(np.meshgrid(latitude, longitude, [-1.0], indexing="ij"), axis=-1).reshape(-1, 3)
area = np.cos(np.deg2rad(everywhere[:, 0]))
maps = {"without groups": plain.predict(everywhere), "with groups": grouped.predict(everywhere)}

figure, axes = plt.subplots(1, 3, figsize=(13, 3.3), layout="constrained", width_ratios=[2, 2, 1])
for axis, (name, found) in zip(axes, maps.items(), strict=False):
    error = (found - height.ravel()).reshape(len(latitude), len(longitude))
    rmse = np.sqrt(np.average(error.ravel() ** 2, weights=np.maximum(area, 0)))
    drawn = axis.pcolormesh(longitude, latitude, error, cmap="RdBu_r", vmin=-60, vmax=60)
    axis.plot(X[:, 1] - 360 * np.round(X[:, 1] / 360), X[:, 0], "k.", markersize=1)
    axis.set(title=f"error {name}: {rmse:.0f} m", aspect="equal", xticks=range(-180, 181, 60))
    axis.set(yticks=range(-90, 91, 30), xlabel="longitude", ylabel="latitude")
figure.colorbar(drawn, ax=axes[:2], label="m", shrink=0.7, extend="both")

ships = np.column_stack([np.zeros(60), np.zeros(60), np.arange(60)])
_, parts = grouped.predict(ships, return_parts=True)
effect, spread = parts["groups"].mean, np.sqrt(parts["groups"].variance)
axes[2].errorbar(offset, effect, 2 * spread, fmt=".", linewidth=0.8, color="tab:blue")
axes[2].axline((0, 0), slope=1, color="0.6", linewidth=0.8)
axes[2].set(xlabel="true, m", ylabel="estimate ± 2 sd, m", title="instrument errors")

# %%
# Without the group term each ship draws its own error into the map; with it the errors are estimated beside
# the map, as well as the map itself allows.
