"""Draw the pictures of docs/geometry.md and docs/terms.md: their own code runs, and its models are drawn.

Run: .venv/bin/python docs/images/make_geometry.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

IMAGES = Path(__file__).parent
sys.path.insert(0, str(IMAGES.parents[1] / "tests" / "docs"))
from pages import DOCS, blocks

from flgp import HeatKernelFeatures

VALUES, KERNEL = "RdBu_r", "magma_r"


def heat(geometry, rows, star, time):
    """The heat kernel between rows and one of them, divided by its largest value."""
    features = HeatKernelFeatures(geometry=geometry, diffusion_time=time).fit(rows[:1])
    kernel = features.covariance(rows, star)[:, 0]
    return kernel / kernel.max()


def save(figure, name):
    figure.savefig(IMAGES / name, dpi=110, bbox_inches="tight", pad_inches=0.08, facecolor="white")
    plt.close(figure)


def orthographic(X, centre):
    """Positions (n, 2) on the globe as seen from above `centre`, and whether each is on the near side."""
    latitude, longitude = np.deg2rad(X[:, 0]), np.deg2rad(X[:, 1] - centre[1])
    tilt = np.deg2rad(centre[0])
    x = np.cos(latitude) * np.sin(longitude)
    y = np.cos(tilt) * np.sin(latitude) - np.sin(tilt) * np.cos(latitude) * np.cos(longitude)
    depth = np.sin(tilt) * np.sin(latitude) + np.cos(tilt) * np.cos(latitude) * np.cos(longitude)
    return np.column_stack([x, y]), depth >= 0


def view_grid(centre, n=400):
    """What is seen at each pixel of a globe: rows (n·n, 2) of latitude and longitude; NaN beside it."""
    y, x = np.meshgrid(np.linspace(1, -1, n), np.linspace(-1, 1, n), indexing="ij")
    with np.errstate(invalid="ignore"):
        z = np.sqrt(1 - x**2 - y**2)
    tilt = np.deg2rad(centre[0])
    latitude = np.arcsin(np.clip(y * np.cos(tilt) + z * np.sin(tilt), -1, 1))
    longitude = np.arctan2(x, z * np.cos(tilt) - y * np.sin(tilt))
    grid = np.column_stack([np.rad2deg(latitude).ravel(), (np.rad2deg(longitude) + centre[1]).ravel()])
    return np.where(np.isnan(z).ravel()[:, None], np.nan, grid)


def draw_globe(axis, values_at, centre, **options):
    """A function of latitude and longitude on a globe, with lines every 30 degrees."""
    grid = view_grid(centre)
    inside = ~np.isnan(grid[:, 0])
    values = np.full(len(grid), np.nan)
    values[inside] = values_at(grid[inside])
    n = int(np.sqrt(len(grid)))
    drawn = axis.imshow(values.reshape(n, n), extent=(-1, 1, -1, 1), interpolation="bilinear", **options)
    fine = np.linspace(-180, 180, 361)
    lines = [np.column_stack([np.full(361, parallel), fine]) for parallel in range(-60, 61, 30)]
    lines += [np.column_stack([fine / 2, np.full(361, meridian)]) for meridian in range(-180, 180, 30)]
    for line in lines:
        place, near = orthographic(line, centre)
        axis.plot(*np.where(near[:, None], place, np.nan).T, color="k", linewidth=0.35, alpha=0.4)
    axis.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.3", linewidth=0.8))
    axis.set(xlim=(-1.02, 1.02), ylim=(-1.02, 1.02), aspect="equal")
    axis.set_axis_off()
    return drawn


def globe(names):
    model, X, centre, star = names["model"], names["X"], (60, -140), np.array([[72.0, -150.0]])
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    at_time = {"cmap": KERNEL, "vmin": 0, "vmax": 1}
    drawn = draw_globe(axes[0], lambda grid: heat(names["Sphere"](), grid, star, 0.05), centre, **at_time)
    place, _ = orthographic(star, centre)
    axes[0].plot(*place.T, "*", color="gold", markersize=15, markeredgecolor="k")
    axes[0].set_title("heat from ★, t = 0.05")
    figure.colorbar(drawn, ax=axes[0], shrink=0.75)
    drawn = draw_globe(axes[1], model.predict, centre, cmap=VALUES, vmin=-1.2, vmax=1.2)
    place, near = orthographic(X, centre)
    axes[1].plot(*place[near].T, "k.", markersize=4)
    axes[1].set_title("prediction and labels")
    figure.colorbar(drawn, ax=axes[1], shrink=0.75, extend="both")
    save(figure, "geometry_globe.png")


def mesh(names):
    model, vertices, faces = names["model"], names["vertices"], names["faces"]
    # Where one strand passes over another.
    beside = np.linalg.norm(vertices[:, None, :2] - vertices[:, :2], axis=2) < 0.1
    over = (beside & (vertices[:, 2] < vertices[:, None, 2] - 1.4)).any(axis=1)
    star = int(np.where(over, vertices[:, 2], -np.inf).argmax())
    kernel = heat(names["Mesh"](vertices, faces), vertices, vertices[[star]], 0.7)
    figure = plt.figure(figsize=(9.5, 4.2), layout="constrained")
    panels = (
        (kernel, "heat from ★, t = 0.7", KERNEL, (0, 1)),
        (model.predict(vertices), "prediction and labels", VALUES, (-1.2, 1.2)),
    )
    for place, (values, title, colours, limits) in enumerate(panels, 1):
        axis = figure.add_subplot(1, 2, place, projection="3d", computed_zorder=False)
        drawn = axis.plot_trisurf(*vertices.T, triangles=faces, cmap=colours, linewidth=0, antialiased=False)
        drawn.set_array(values[faces].mean(axis=1))
        drawn.set_clim(*limits)
        axis.view_init(elev=82, azim=-90)
        axis.set_box_aspect(np.ptp(vertices, axis=0), zoom=1.5)
        axis.set_axis_off()
        axis.set_title(title, y=1.1)
        if place == 1:
            axis.plot(
                *vertices[star] + [0, 0, 0.3], "*", color="gold", markersize=15, markeredgecolor="k", zorder=9
            )
        else:
            seen = vertices[names["chosen"]]
            beside = np.linalg.norm(seen[:, None, :2] - vertices[:, :2], axis=2) < 0.15
            on_top = ~(beside & (vertices[:, 2] > seen[:, None, 2] + 0.2)).any(axis=1)
            axis.plot(*seen[on_top].T, "k.", markersize=5, zorder=9)
        figure.colorbar(drawn, ax=axis, shrink=0.7, extend="neither" if place == 1 else "both")
    save(figure, "geometry_mesh.png")


def graph(names):
    model, nodes, column, row = names["model"], names["nodes"], names["column"], names["row"]
    star = 7 * 10 + 3
    kernel = heat(names["town"], nodes[:, None], [[star]], 12.0)
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
    first, second = names["town"].adjacency.nonzero()
    panels = (
        (kernel, "heat from ★, t = 12", KERNEL, (0, 1)),
        (model.transduction_, "prediction and labels", VALUES, (-2.2, 2.2)),
    )
    for axis, (values, title, colours, limits) in zip(axes, panels, strict=True):
        axis.axvspan(7.3, 7.7, color="lightskyblue", alpha=0.7, linewidth=0, zorder=0)
        ends = [np.column_stack([place[first], place[second]]).T for place in (column, row)]
        axis.plot(*ends, color="0.45", linewidth=1.5, zorder=1)
        axis.plot([7, 8], [2, 2], color="saddlebrown", linewidth=5, zorder=1)  # the bridge
        drawn = axis.scatter(
            column, row, c=values, cmap=colours, s=75, zorder=2, edgecolors="0.4", linewidths=0.5
        )
        drawn.set_clim(*limits)
        axis.set(title=title, aspect="equal")
        axis.set_axis_off()
        figure.colorbar(drawn, ax=axis, shrink=0.85)
    axes[0].plot(column[star], row[star], "*", color="gold", markersize=17, markeredgecolor="k", zorder=3)
    asked = names["asked"]
    axes[1].scatter(column[asked], row[asked], marker="s", s=150, facecolors="none", edgecolors="k", zorder=3)
    save(figure, "geometry_graph.png")


def season(names):
    month, truth = names["best"], names["temperature"]
    model = names["fits"][month]

    def at(grid, when):
        return np.column_stack([grid, np.full(len(grid), when)])

    figure, axes = plt.subplots(1, 3, figsize=(12.5, 3.9), layout="constrained", width_ratios=[1, 1, 1.25])
    for axis, when, title in ((axes[0], 1.0, "January"), (axes[1], 7.0, "July")):
        drawn = draw_globe(
            axis,
            lambda grid, when=when: model.predict(at(grid, when) * [1, 1, month]),
            (10, 0),
            cmap="RdYlBu_r",
            vmin=-20,
            vmax=25,
        )
        axis.set_title(title)
    figure.colorbar(drawn, ax=axes[:2], label="°C", shrink=0.7, location="left", extend="both")
    months = np.linspace(0, 12, 100)
    for place, colour in ((60, "tab:blue"), (0, "tab:green"), (-45, "tab:orange")):
        X = np.column_stack([np.full(100, place), np.zeros(100), months])
        mean, variance = model.latent_mean_and_variance(X * [1, 1, month])
        spread = 1.96 * np.sqrt(variance)
        axes[2].fill_between(months, mean - spread, mean + spread, color=colour, alpha=0.25, linewidth=0)
        side = "N" if place > 0 else "S"
        axes[2].plot(months, mean, color=colour, label=f"{abs(place)}° {side}" if place else "equator")
        axes[2].plot(months, truth(X), "--", color=colour, linewidth=1)
    axes[2].set(xlabel="month", ylabel="°C", xlim=(0, 12), xticks=range(0, 13, 3), ylim=(-20, 30))
    axes[2].legend(frameon=False, ncols=3, loc="lower center")
    save(figure, "geometry_season.png")


def terms(names):
    X, model, parts = names["X"], names["model"], names["parts"]
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.3), layout="constrained", width_ratios=[1, 1, 1, 0.9])
    shore = X["km"].to_numpy()
    depth, site = X["depth"].to_numpy(), X["lab"].to_numpy()
    order = np.argsort(shore)

    def band(axis, x, part, order):
        spread = 2 * np.sqrt(part.variance[order])
        axis.fill_between(
            x[order], part.mean[order] - spread, part.mean[order] + spread, alpha=0.25, linewidth=0
        )
        axis.plot(x[order], part.mean[order])

    band(axes[0], shore, parts["manifold"], order)
    axes[0].plot(shore[order], names["along"][order], "k--", linewidth=1)
    axes[0].set(title="manifold: along the shore", xlabel="km", ylabel="part of f")
    order = np.argsort(depth)
    band(axes[1], depth, parts["linear"], order)
    axes[1].plot(depth[order], names["deeper"][order], "k--", linewidth=1)
    axes[1].set(title="linear: depth", xlabel="m")
    labs = np.unique(site)
    first = [int(np.flatnonzero(site == lab)[0]) for lab in labs]
    axes[2].errorbar(
        range(len(labs)), parts["groups"].mean[first], 2 * np.sqrt(parts["groups"].variance[first]), fmt="o"
    )
    axes[2].plot(range(len(labs)), names["bias"], "k_", markersize=14)
    axes[2].set(title="groups: laboratory", xticks=range(len(labs)), xticklabels=labs)
    shares = {name: share for name, share in model.term_shares_.items() if name != "constant"}
    axes[3].barh(list(shares), list(shares.values()), color="tab:blue")
    axes[3].invert_yaxis()
    axes[3].set(title="share of Var f", xlim=(0, 1))
    for axis in axes[:3]:
        axis.set_ylim(-2.6, 2.6)
    save(figure, "terms.png")


# A picture is drawn after the block of code with this line.
GEOMETRY = {
    "geometry=Sphere()).fit": globe,
    "geometry=Mesh(vertices, faces)": mesh,
    "geometry=town": graph,
    "best = max(fits": season,
}
TERMS = {"return_parts=True": terms}


def main() -> None:
    for page, pictures in (("geometry.md", GEOMETRY), ("terms.md", TERMS)):
        names: dict = {"__name__": "page"}
        for block in blocks(DOCS / page):
            if block.language != "python":
                continue
            exec(compile(block.text, page, "exec"), names)
            for mark in [mark for mark in pictures if mark in block.text]:
                pictures.pop(mark)(names)


if __name__ == "__main__":
    main()
