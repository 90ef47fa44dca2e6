"""Make sample_paths.png, and print the table of docs/sample_paths.md: how smooth draws of f are."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from flgp import FLGPRegressor
from flgp.geometry import Circle, Graph, Sphere

N = 1440  # points of a closed curve, a quarter of a degree apart
DEGREES = 360.0 * np.arange(N) / N
KERNELS = [("matern", 1.0), ("matern", 1.5), ("matern", 2.0), ("matern", 2.5), ("heat", 1.0)]


class Case(NamedTuple):
    """A closed curve on some geometry."""

    geometry: object
    X: np.ndarray
    dimension: int
    n_eigenpairs: int
    long: float  # a time at which the Matérn spectrum is a power law
    short: float  # a time at which the heat kernel reaches a few degrees
    lags: tuple[int, ...]
    options: dict


def cases() -> dict[str, Case]:
    """The curves by name."""
    ones = np.ones(N - 1)
    cycle = sparse.diags_array([ones, ones, [1.0], [1.0]], offsets=[-1, 1, N - 1, 1 - N]).tocsr()
    angle = np.radians(DEGREES)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    near, far = (6, 8, 10, 14, 20, 28), (20, 28, 40, 56, 80)
    cloud = {"n_anchors": 480}
    return {
        "circle": Case(Circle(360.0), DEGREES[:, None], 1, 401, 3e3, 300.0, near, {}),
        "cycle of 1,440 nodes": Case(Graph(cycle), np.arange(float(N))[:, None], 1, 401, 3e4, 1e4, near, {}),
        "sphere": Case(Sphere(), np.column_stack([0 * DEGREES, DEGREES - 180]), 2, 3600, 300.0, 0.2, far, {}),
        "point cloud on a ring": Case(None, ring, 1, 201, 3e4, 1e4, near, cloud),
    }


def prior_draws(case: Case, kernel: str, nu: float, n_draws: int) -> np.ndarray:
    """Draws (N, n_draws) of f along the curve."""
    model = FLGPRegressor(
        geometry=case.geometry,
        kernel=kernel,
        nu=nu,
        n_eigenpairs=case.n_eigenpairs,
        diffusion_time=case.short if kernel == "heat" else case.long,
        amplitude=1.0,
        noise_variance=0.1,
        mean="zero",
        linear=None,
        residual=None,
        hyperparameters="fixed",
        random_state=0,
        **case.options,
    )
    model.fit(case.X, np.where(np.arange(N) < 2, 0.0, np.nan))
    return model.sample_f(case.X, n_draws, prior=True)


def structure(f: np.ndarray, lags: tuple[int, ...]) -> np.ndarray:
    """Mean squared second differences at some lags; they grow as lag^(2H), H up to 2."""
    second = [f - 2 * np.roll(f, lag, axis=0) + np.roll(f, 2 * lag, axis=0) for lag in lags]
    return np.array([np.mean(difference**2) for difference in second])


def exponent(f: np.ndarray, lags: tuple[int, ...]) -> float:
    """Hölder exponent H from the slope of the structure function."""
    return float(np.polyfit(np.log(lags), np.log(structure(f, lags)), 1)[0] / 2)


def decay(f: np.ndarray) -> float:
    """Exponent of the spectrum of f along the curve, between the 10th and the 80th wave."""
    power = np.mean(np.abs(np.fft.rfft(f, axis=0)) ** 2, axis=1)
    waves = np.arange(10, 81)
    return float(np.polyfit(np.log(waves), np.log(power[waves]), 1)[0])


def main() -> None:
    head = "| along | theory | " + " | ".join(f"ν = {nu:g}" for _, nu in KERNELS[:-1]) + " | heat |"
    print(head + "\n| --- | --- | --- | --- | --- | --- | --- |")
    found = {name: {k: prior_draws(case, *k, 60) for k in KERNELS} for name, case in cases().items()}
    for name, case in cases().items():
        cells = [f"{exponent(f, case.lags):.2f}" for f in found[name].values()]
        print(f"| {name} | ν - {case.dimension}/2 | " + " | ".join(cells) + " |")
    slopes = [f"{decay(found['circle'][k]):.2f}" for k in KERNELS]
    print("spectrum on the circle, theory -2ν: " + ", ".join(slopes))

    figure, axes = plt.subplots(2, 3, figsize=(12, 6.4), layout="constrained")
    for axis, key in zip(axes.flat, [("matern", 1.0), ("matern", 2.5), ("heat", 1.0)], strict=False):
        f = found["circle"][key][:, :3]
        axis.plot(DEGREES, f / f.std() + 4 * np.arange(3), linewidth=0.9)
        title = "heat" if key[0] == "heat" else f"Matérn, ν = {key[1]:g}"
        axis.set(title=f"circle, {title}", xlabel="degrees", yticks=[], xticks=range(0, 361, 90))
    rng = np.random.default_rng(0)
    at = np.sort(rng.choice(N, 9, replace=False))
    y = np.full(N, np.nan)
    y[at] = np.sin(2 * np.radians(DEGREES[at]))
    for axis, (kernel, nu) in zip(axes[1], [("matern", 1.0), ("heat", 1.0)], strict=False):
        model = FLGPRegressor(
            geometry=Circle(360.0), kernel=kernel, nu=nu, n_eigenpairs=401, noise_variance=1e-4, residual=None
        ).fit(DEGREES[:, None], y)
        axis.plot(DEGREES, model.sample_f(DEGREES[:, None], 8), linewidth=0.7, alpha=0.8)
        axis.plot(DEGREES[at], y[at], "ko", markersize=4)
        name = "Matérn, ν = 1" if kernel == "matern" else "heat"
        axis.set(title=f"posterior, {name}", xlabel="degrees", xticks=range(0, 361, 90))
    last = axes[1, 2]
    for (kernel, nu), color in zip(KERNELS, plt.cm.viridis(np.linspace(0, 0.9, 5)), strict=True):
        lags = (4, 6, 8, 12, 16, 24, 32)
        values = structure(found["circle"][kernel, nu], lags)
        name = "heat" if kernel == "heat" else f"ν = {nu:g}"
        last.loglog(np.array(lags) / 4, values / values[-1], "o-", color=color, markersize=3, label=name)
    last.set(title="squared second differences", xlabel="lag in degrees")
    last.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
    last.set_xticks([], minor=True)
    last.legend(frameon=False)
    figure.savefig(Path(__file__).with_name("sample_paths.png"), dpi=90)


if __name__ == "__main__":
    main()
