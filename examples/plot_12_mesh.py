"""
A surface of triangles
======================

How thick is the cortex? The thickness at 400 of the 10,242 vertices of a brain surface, predicted at all
others. The banks of a fold touch in space but are far apart along the surface, and `Mesh` knows that.

Surface and thickness are FreeSurfer's fsaverage5, which nilearn ships (extra `flgp[neuro]`).
"""

import matplotlib.pyplot as plt
import numpy as np
from nilearn import datasets, surface

from flgp import FLGPRegressor
from flgp.geometry import Mesh

files = datasets.fetch_surf_fsaverage("fsaverage5")
vertices, faces = surface.load_surf_mesh(files["pial_left"])
inflated, _ = surface.load_surf_mesh(files["infl_left"])
thickness = surface.load_surf_data(files["thick_left"]).astype(float)

rng = np.random.default_rng(0)
labelled = rng.choice(len(vertices), 400, replace=False)
rest = np.setdiff1d(np.arange(len(vertices)), labelled)
y = np.full(len(vertices), np.nan)
y[labelled] = thickness[labelled]

# %%
# Three models of the same labels: the surface alone, a Gaussian process of the distance in space alone
# (`amplitude=0` leaves the manifold out), and both. Rows are vertex numbers here; points near the surface
# work as well.

numbers = np.arange(len(vertices))[:, None]
options = {"geometry": Mesh(vertices, faces), "kernel": "matern", "n_eigenpairs": 300}
models = {
    "surface": FLGPRegressor(residual=None, **options),
    "space": FLGPRegressor(residual="local", amplitude=0, **options),
    "surface and space": FLGPRegressor(residual="local", **options),
}
found = {name: model.fit(numbers, y).predict(numbers) for name, model in models.items()}
for name, prediction in found.items():
    share = 1 - np.var(prediction[rest] - thickness[rest]) / np.var(thickness[rest])
    print(f"{name}: {100 * share:.0f} % of the variance explained")

# %%
# The left hemisphere from the side, inflated so that the folds are open.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained", subplot_kw={"projection": "3d"})
panels = {"truth": thickness, "surface": found["surface"], "surface and space": found["surface and space"]}
for axis, (name, values) in zip(axes, panels.items(), strict=True):
    drawn = axis.plot_trisurf(*inflated.T, triangles=faces, cmap="viridis", linewidth=0, antialiased=False)
    drawn.set_array(values[faces].mean(axis=1))
    drawn.set_clim(1.5, 3.5)
    axis.view_init(elev=0, azim=180)
    axis.set_proj_type("ortho")
    axis.set_box_aspect(np.ptp(inflated, axis=0), zoom=1.35)
    axis.set_axis_off()
    axis.set_title(name, y=1.02)
figure.colorbar(drawn, ax=axes, label="thickness, mm", shrink=0.8, extend="both")

# %%
# Both sources know something that the other does not: the surface keeps the banks of a fold apart, the local
# term adds the detail, and together they explain most.
