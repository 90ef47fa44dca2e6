"""Six circles, 9000 points, 50 labels: the heat-kernel GP beside the Euclidean one."""

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from flgp import FLGPClassifier
from flgp.datasets import circles
from flgp.metrics import error_rate, negative_log_likelihood

N_POINTS, N_LABELS = 9000, 50
VERMILION, BLUE = "#d55e00", "#0072b2"


def main() -> None:
    data = circles(N_POINTS, random_state=0)
    labeled = np.random.default_rng(0).choice(N_POINTS, N_LABELS, replace=False)
    rest = np.setdiff1d(np.arange(N_POINTS), labeled)
    y = np.full(N_POINTS, -1)
    y[labeled] = data.y[labeled]

    started = time.perf_counter()
    ours = FLGPClassifier(random_state=0).fit(data.X, y)
    proba = {"FLGP (this library)": ours.predict_proba(data.X)}
    seconds = {"FLGP (this library)": time.perf_counter() - started}

    started = time.perf_counter()
    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(0.5, (1e-2, 1e2))
    euclidean = GaussianProcessClassifier(kernel, random_state=0).fit(data.X[labeled], data.y[labeled])
    proba["Euclidean GP (scikit-learn)"] = euclidean.predict_proba(data.X)
    seconds["Euclidean GP (scikit-learn)"] = time.perf_counter() - started

    print(f"six circles, {N_POINTS} points, {N_LABELS} labels; scores on the other {len(rest)} points\n")
    print(f"{'':30}{'error %':>9}{'NLL':>8}{'seconds':>9}")
    for name, p in proba.items():
        error = 100 * error_rate(data.y[rest], p[rest].argmax(axis=1))
        nll = negative_log_likelihood(data.y[rest], p[rest], classes=np.array([0, 1]))
        print(f"{name:30}{error:9.2f}{nll:8.3f}{seconds[name]:9.2f}")

    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), sharex=True, sharey=True, layout="constrained")
    axes[0].scatter(*data.X.T, s=1, color="0.8")
    for k, color in enumerate((VERMILION, BLUE)):
        axes[0].scatter(*data.X[labeled][data.y[labeled] == k].T, s=28, color=color, label=f"class {k}")
    axes[0].legend(loc="center", frameon=False)
    axes[0].set_title(f"{N_POINTS} points, {N_LABELS} labels")
    for axis, (name, p) in zip(axes[1:], proba.items(), strict=True):
        shown = axis.scatter(*data.X.T, s=2, c=p[:, 1], cmap="RdYlBu", vmin=0, vmax=1)
        axis.set_title(name)
    figure.colorbar(shown, ax=axes, label="P(class 1)", shrink=0.8)
    for axis in axes:
        axis.set_aspect("equal")
        axis.set_axis_off()
    figure.savefig("demo.png", dpi=110)
    print(f"\nwrote {Path('demo.png')}")


if __name__ == "__main__":
    main()
