"""Known geometries and terms: errors and times on a globe, a graph, a mesh and grouped data.

`groups` is simulated. The others read public data from --data-dir: `sphere/reanalysis.npz` (fields on a grid
of latitudes and longitudes; `globe` takes the height, `winds` the winds), `graphs/cora.npz` (a citation
network), `meshes/stanford-bunny.obj`.
"""

from __future__ import annotations

import time
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh
from scipy.spatial import cKDTree

from ... import FLGPClassifier, FLGPRegressor
from ..._threads import thread_count, threads
from ..._typing import Array, IntArray
from ...geometry import Graph, Mesh, Sphere, TangentSphere
from ...geometry.cotangent import stiffness_and_mass
from ...metrics import gaussian_coverage
from ..labels import only_at

# A local term alone is a Euclidean GP: exact enough with many neighbours, kriging with few.
LOCAL_ALONE: dict[str, Any] = {"amplitude": 0, "linear": None, "residual": "local"}
# Points that errors of the winds are measured at.
_WIND_POINTS = 20_000


def reanalysis(folder: Path, *names: str) -> tuple[Array, Array]:
    """Latitudes and longitudes of the grid (n, 2), and fields on it (n, k)."""
    data = np.load(folder / "sphere" / "reanalysis.npz")
    grid = np.meshgrid(data["latitude"], data["longitude"], indexing="ij")
    degrees = np.column_stack([angle.ravel() for angle in grid])
    return degrees, np.column_stack([data[name].ravel() for name in names]).astype(float)


def globe(folder: Path, draws: int) -> None:
    """A field with 1 % of the grid labelled: root mean squared error and coverage of 95 % intervals."""
    degrees, height = reanalysis(folder, "height")
    f = height[:, 0]
    vectors, _, _ = _directions(degrees)
    models: dict[str, tuple[Array, dict[str, Any]]] = {
        "sphere + local": (degrees, {"geometry": Sphere(), "residual": "local"}),
        "point cloud on unit vectors": (vectors, {"linear": None}),
        "Euclidean GP on (lat, lon)": (degrees, {**LOCAL_ALONE, "n_residual_neighbors": 60}),
        "30-neighbour kriging on unit vectors": (vectors, {**LOCAL_ALONE, "n_residual_neighbors": 15}),
    }
    print("| model | draw | RMSE | coverage | s |\n| --- | --- | --- | --- | --- |")
    for draw in range(draws):
        labelled = np.random.default_rng(draw).choice(len(f), len(f) // 100, replace=False)
        y = only_at(labelled, f)
        rest = np.setdiff1d(np.arange(len(f)), labelled)
        for name, (X, options) in models.items():
            start = time.perf_counter()
            model = FLGPRegressor(random_state=0, **options).fit(X, y)
            mean, std = model.predict(X[rest], return_std=True)
            rmse, inside = np.sqrt(np.mean((f[rest] - mean) ** 2)), gaussian_coverage(f[rest], mean, std)
            print(f"| {name} | {draw} | {rmse:.2f} | {inside:.3f} | {time.perf_counter() - start:.0f} |")


def winds(folder: Path, draws: int) -> None:
    """East and north winds with 1 % of the grid labelled: errors and coverage of 95 % intervals."""
    degrees, wind = reanalysis(folder, "wind_east", "wind_north")
    print("| model | draw | RMSE | east, north | coverage | s of CPU |\n|" + " --- |" * 6)
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        order = rng.permutation(len(wind))
        labelled, rest = order[: len(wind) // 100], order[len(wind) // 100 :][:_WIND_POINTS]
        for name, model in WIND_MODELS.items():
            start = time.process_time()
            mean, std = model(degrees[labelled], wind[labelled], degrees[rest])
            error = wind[rest] - mean
            each = np.sqrt(np.mean(error**2, axis=0))
            inside = [gaussian_coverage(*column) for column in zip(wind[rest].T, mean.T, std.T, strict=True)]
            print(
                f"| {name} | {draw} | {np.sqrt(np.mean(error**2)):.3f} | {each[0]:.3f}, {each[1]:.3f} "
                f"| {inside[0]:.3f}, {inside[1]:.3f} | {time.process_time() - start:.0f} |",
                flush=True,
            )


def _directions(degrees: Array) -> tuple[Array, Array, Array]:
    """Unit vectors (n, 3) up, east and north."""
    a, b = np.radians(degrees).T
    up = np.column_stack([np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)])
    east = np.column_stack([-np.sin(b), np.cos(b), np.zeros(len(a))])
    return up, east, np.cross(up, east)


def _kriging(at: Array, wind: Array, new: Array) -> tuple[Array, Array]:
    """Each component alone, by its 30 nearest labels."""
    model = FLGPRegressor(random_state=0, **LOCAL_ALONE, n_residual_neighbors=15)
    model.fit(_directions(at)[0], wind)
    return model.predict(_directions(new)[0], return_std=True)


def _cartesian(at: Array, wind: Array, new: Array) -> tuple[Array, Array]:
    """Three components in space that share their hyperparameters, projected onto east and north."""
    _, east, north = _directions(at)
    vectors = wind[:, :1] * east + wind[:, 1:] * north
    model = FLGPRegressor(geometry=Sphere(), residual="local", n_residual_neighbors=15, shared=True)
    mean, std = model.fit(at, vectors).predict(new, return_std=True)
    frame = _directions(new)[1:]
    means = [np.einsum("ij,ij->i", mean, e) for e in frame]
    return np.column_stack(means), np.sqrt(np.column_stack([((std * e) ** 2).sum(axis=1) for e in frame]))


def _fields(at: Array, wind: Array, new: Array) -> tuple[Array, Array]:
    """One vector field: gradients and curls of harmonics up to degree 40."""

    def rows(places: Array) -> Array:
        return np.concatenate([np.column_stack([places, np.full(len(places), b)]) for b in (90.0, 0.0)])

    model = FLGPRegressor(
        geometry=TangentSphere(divergent=0.05), kernel="matern", nu=2.5, n_eigenpairs=3360, mean="zero"
    ).fit(rows(at), wind.T.ravel())
    mean, std = model.predict(rows(new), return_std=True)
    return mean.reshape(2, -1).T, std.reshape(2, -1).T


WIND_MODELS: dict[str, Callable[[Array, Array, Array], tuple[Array, Array]]] = {
    "30-neighbour kriging of each component": _kriging,
    "sphere + local, three components in space, shared": _cartesian,
    "tangential field": _fields,
}


def graph(folder: Path, draws: int) -> None:
    """Accuracy on the citation network's 1,000 test nodes from its 140 labels."""
    data = np.load(folder / "graphs" / "cora.npz")
    n = int(data["n"])

    def ones_at(indices: IntArray, starts: IntArray, columns: int) -> Any:
        return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(n, columns))

    edges = ones_at(data["indices"], data["indptr"], n)
    adjacency = ((edges + edges.T) > 0).astype(float)
    words = ones_at(data["feature_indices"], data["feature_indptr"], int(data["n_features"]))
    X, y = np.column_stack([np.arange(n), words.toarray()]), data["y"]
    labels = only_at(data["train"], y)
    print("| terms | classes | accuracy % | s |\n| --- | --- | --- | --- |")
    models: dict[str, tuple[Array, dict[str, Any]]] = {
        "graph": (X[:, :1], {}),
        "graph + words": (X, {"linear_steps": 0}),
        "graph + words after two steps": (X, {"linear_steps": 2}),
        "graph + words, all defaults": (X, {}),
    }
    for name, (rows, options) in models.items():
        for classes in ("auto", "one_vs_rest"):
            start = time.perf_counter()
            own = {"geometry": Graph(adjacency), "geometry_columns": [0], "multi_class": classes, **options}
            model = FLGPClassifier(random_state=0, **own).fit(rows, labels)
            right = np.mean(model.predict(rows[data["test"]]) == y[data["test"]])
            print(f"| {name} | {classes} | {100 * right:.1f} | {time.perf_counter() - start:.1f} |")


def mesh(folder: Path, draws: int) -> None:
    """500 eigenpairs of the bunny against `eigsh` on the same matrices, and a graph of a million edges."""
    vertices, faces = read_obj(folder / "meshes" / "stanford-bunny.obj")
    used = np.unique(faces)
    vertices, faces = vertices[used], np.searchsorted(used, faces)
    stiffness, mass = stiffness_and_mass(vertices, faces)
    fitted = Mesh(vertices, faces).fit(vertices, np.random.default_rng(0))
    start = time.perf_counter()
    basis = fitted.basis(500)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    eigsh(stiffness, 500, M=sparse.diags_array(mass), sigma=-1.0 / float(mass.sum()))
    theirs = time.perf_counter() - start
    print(
        f"bunny, {len(vertices):,} vertices, {len(basis.eigenvalues)} eigenpairs: {ours:.1f} s, eigsh "
        f"{theirs:.1f} s, ratio {ours / theirs:.2f}"
    )
    points = np.random.default_rng(0).uniform(size=(125_000, 2))
    _, near = cKDTree(points).query(points, k=17)
    pairs = (np.repeat(np.arange(len(near)), 16), near[:, 1:].ravel())
    links = sparse.csr_array((np.ones(len(pairs[0])), pairs))
    links = links.maximum(links.T)
    start = time.perf_counter()
    Graph(links).fit(np.arange(len(points), dtype=float)[:, None], np.random.default_rng(0)).basis(200)
    print(f"graph, {links.nnz // 2:,} edges, 200 eigenpairs: {time.perf_counter() - start:.1f} s")


def groups(folder: Path, draws: int) -> None:
    """Simulated random intercepts beside a ring: their variance, and coverage of their 95 % intervals."""
    n, levels = 5000, 200
    ratios, inside = [], []
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        angle, group = rng.uniform(0, 2 * np.pi, n), rng.integers(0, levels, n)
        effects = 0.8 * rng.standard_normal(levels)
        y = np.sin(2 * angle) + effects[group] + 0.5 * rng.standard_normal(n)
        X = np.column_stack([np.cos(angle), np.sin(angle), group])
        model = FLGPRegressor(groups=[2], residual=None, random_state=0).fit(X, y)
        values = dict(zip(model.optimizer_result_.names, np.exp(model.optimizer_result_.theta), strict=True))
        ratios.append(values["group_variance"] / 0.64)
        every = np.column_stack([np.ones(levels), np.zeros(levels), np.arange(levels)])
        part = model.predict(every, return_parts=True)[1]["groups"]
        inside.append(gaussian_coverage(effects, part.mean, np.sqrt(part.variance)))
    print(
        f"{levels} groups, n = {n:,}, {draws} draws: variance {np.mean(ratios):.3f} of the truth, coverage "
        f"{np.mean(inside):.3f}"
    )


def read_obj(path: Path) -> tuple[Array, IntArray]:
    """Vertices (n, 3) and triangles (f, 3) of a Wavefront file."""
    vertices, faces = [], []
    for line in path.read_text().splitlines():
        kind, *words = line.split() or [""]
        if kind == "v":
            vertices.append([float(word) for word in words[:3]])
        elif kind == "f":
            corners = [int(word.split("/")[0]) - 1 for word in words]
            faces += [[corners[0], corners[k], corners[k + 1]] for k in range(1, len(corners) - 1)]
    return np.array(vertices), np.array(faces)


PARTS: dict[str, Callable[[Path, int], None]] = {
    "groups": groups,
    "globe": globe,
    "winds": winds,
    "graph": graph,
    "mesh": mesh,
}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("parts", nargs="*", default=["groups"], help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--data-dir", type=Path, default=Path("."))
    parser.add_argument("--draws", type=int, default=5)


def measure(options: Namespace) -> None:
    if unknown := set(options.parts) - set(PARTS):
        raise ValueError(f"Unknown parts {', '.join(sorted(unknown))}. Use some of {', '.join(PARTS)}.")
    for part in options.parts:
        with warnings.catch_warnings(), threads(thread_count(None)):
            warnings.filterwarnings("ignore", ".*connected part", UserWarning)
            PARTS[part](options.data_dir, options.draws)
