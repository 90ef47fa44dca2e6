"""Pictures of surfaces."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from .._typing import Array
from .prior import prior_correlation
from .seed import SMALLEST_CORRELATION
from .surface import Mesh, SurfaceReconstructor
from .views import _figure


def _draw(
    axes: Any, mesh: Mesh, values: Array, title: str, side: str, cmap: str, limits: tuple[float, float]
) -> None:
    """One view from the side with a colour bar; NaN is grey; +x is the subject's right."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    X = mesh.coordinates
    corners = np.ma.masked_invalid(values[mesh.faces])
    shade = corners.mean(axis=1)
    palette = colormaps[cmap].with_extremes(bad="0.8")
    colors = palette(Normalize(*limits)(shade))
    normals = mesh.face_normals()
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    light = 0.35 + 0.65 * np.abs(normals @ np.array([0.8, -0.3, 0.52]))
    colors[:, :3] *= light[:, None]
    surface = axes.plot_trisurf(
        X[:, 0], X[:, 1], X[:, 2], triangles=mesh.faces, linewidth=0, antialiased=False
    )
    surface.set_facecolors(colors)
    azimuth = 180 if side == "left" else 0  # seen from the subject's left or right
    axes.view_init(elev=0, azim=azimuth)
    axes.set_box_aspect(np.ptp(X, axis=0), zoom=1.3)
    axes.set_axis_off()
    axes.set_title(title, fontsize=11)
    front, back = ("A", "P") if side == "left" else ("P", "A")
    axes.text2D(-0.03, 0.5, front, transform=axes.transAxes, fontsize=11)
    axes.text2D(1.0, 0.5, back, transform=axes.transAxes, fontsize=11)
    axes.text2D(0.3, 0.02, f"seen from {side}", transform=axes.transAxes, fontsize=9)
    axes.figure.colorbar(ScalarMappable(Normalize(*limits), cmap), ax=axes, fraction=0.03, pad=0.06)


def side_of(mesh: Mesh) -> str:
    """The side of a hemisphere."""
    return "left" if mesh.coordinates[:, 0].mean() < 0 else "right"


def plot_surface_reconstruction(tool: SurfaceReconstructor, result: Any) -> Figure:
    """What the model saw, the completed values and their standard deviation, from the outer side."""
    mesh = tool.mesh_
    mean, std = result.mean.darrays[0].data.astype(float), result.std.darrays[0].data.astype(float)
    limit = float(np.quantile(np.abs(mean), 0.99)) or 1.0
    panels = [
        (np.where(tool.labeled_, tool.values_, np.nan), f"Seen: {tool.labeled_.sum():,} vertices", "RdBu_r"),
        (mean, f"Completed: {len(mean):,} vertices", "RdBu_r"),
        (np.where(std > 0, std, np.nan), "Standard deviation where predicted", "viridis"),
    ]
    figure = _figure(14.0, 4.4)
    for k, (values, title, cmap) in enumerate(panels):
        axes = figure.add_subplot(1, 3, k + 1, projection="3d")
        limits = (-limit, limit) if cmap == "RdBu_r" else (0.0, float(np.quantile(std, 0.98)) or 1.0)
        _draw(axes, mesh, values, title, side_of(mesh), cmap, limits)
    return figure


def plot_geodesic(tool: SurfaceReconstructor, vertex: int, *, reach: float = 80.0) -> Figure:
    """Prior correlation with a vertex, on the surface and against the geodesic and straight distances.

    `reach` is the geodesic distance, in mm, up to which vertices are shown.
    """
    mesh = tool.mesh_
    correlation = prior_correlation(tool.model_, tool.points_, tool.points_[vertex])
    geodesic = mesh.geodesic(vertex)
    straight = np.linalg.norm(mesh.coordinates - mesh.coordinates[vertex], axis=1)
    near = geodesic <= reach
    low = float(np.log(SMALLEST_CORRELATION))
    shown = np.log(np.maximum(correlation, SMALLEST_CORRELATION))
    figure = _figure(14.0, 4.4)
    axes = figure.add_subplot(1, 3, 1, projection="3d")
    _draw(axes, mesh, shown, "Log prior correlation", side_of(mesh), "viridis", (low, 0.0))
    for k, (distance, name) in enumerate([(geodesic, "Geodesic distance"), (straight, "Straight distance")]):
        axes = figure.add_subplot(1, 3, k + 2)
        picture = axes.scatter(
            distance[near], correlation[near], c=geodesic[near], s=4, cmap="magma", vmin=0, vmax=reach
        )
        rank = spearmanr(distance[near], correlation[near])[0]
        axes.set_title(f"{name}: rank correlation {rank:.2f}", fontsize=11)
        axes.set_xlabel(f"{name} to the seed, mm")
        axes.set_ylabel("Prior correlation with the seed")
        axes.spines[["top", "right"]].set_visible(False)
        if k == 1:
            figure.colorbar(picture, ax=axes, label="Geodesic distance, mm")
    figure.subplots_adjust(left=0.02, right=0.96, bottom=0.14, wspace=0.3)
    return figure
