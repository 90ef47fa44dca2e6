"""The engine's bars, measured: python benchmarks/engine.py [circles] [spiral] [mnist] [speed] [--seeds 10].

MNIST needs FLGP_MNIST_DIR. Times are ratios to a KD-tree query of the same points, alternating in one run.
"""

import argparse
import time
import warnings

import numpy as np
from scipy.spatial import cKDTree

from flgp import FLGPClassifier, FLGPRegressor
from flgp.datasets import circles, mnist_pca, spiral
from flgp.metrics import error_rate, negative_log_likelihood

PAPER_CIRCLES = {"n_anchors": 600, "n_eigenpairs": 100}


def masked(y, m, seed, missing):
    """Targets with all but m random rows hidden, and the rows that were hidden."""
    labeled = np.random.default_rng(seed).choice(len(y), m, replace=False)
    hidden = np.full(len(y), missing, dtype=type(missing) if missing == -1 else float)
    hidden[labeled] = y[labeled]
    return hidden, np.setdiff1d(np.arange(len(y)), labeled)


def bench_circles(seeds, sizes=(3000, 9000, 900_000)):
    print("circles, m = 50, s = 600, r = 3, M = 100: mean error %, mean NLL, error % of 10,000 fresh points")
    for n in sizes:
        for base_kernel in ("lae", "se"):
            rows = []
            for seed in range(seeds):
                data, fresh = circles(n, random_state=seed), circles(10_000, random_state=10_000 + seed)
                y, rest = masked(data.y, 50, seed, -1)
                model = FLGPClassifier(**PAPER_CIRCLES, base_kernel=base_kernel, random_state=seed)
                p = model.fit(data.X, y).predict_proba(data.X[rest])
                rows.append(
                    (
                        100 * error_rate(data.y[rest], p.argmax(axis=1)),
                        negative_log_likelihood(data.y[rest], p, classes=model.classes_),
                        100 * error_rate(fresh.y, model.predict(fresh.X)),
                    )
                )
            print(f"  n = {n:7d} {base_kernel}: " + "  ".join(f"{v:.3f}" for v in np.mean(rows, axis=0)))


def bench_spiral(seeds):
    print("spiral, n = 4000, m = 200, noise sd 0.5, s = 500, M = 50: mean RMSE of f on the rest")
    data = spiral(4000, sampling="grid", noise_sd=0.0)
    for base_kernel in ("lae", "se"):
        errors = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            labeled = rng.choice(4000, 200, replace=False)
            y = np.full(4000, np.nan)
            y[labeled] = data.f[labeled] + 0.5 * rng.standard_normal(200)
            model = FLGPRegressor(
                n_anchors=500, n_eigenpairs=50, base_kernel=base_kernel, residual=None, random_state=seed
            ).fit(data.X, y)
            rest = np.setdiff1d(np.arange(4000), labeled)
            errors.append(np.sqrt(np.mean((model.predict(data.X) - data.f)[rest] ** 2)))
        print(f"  {base_kernel}: {np.mean(errors):.3f}  {np.round(errors, 3)}")


def bench_mnist(draws):
    print("MNIST 70,000, PCA 100, m = 200, LK, amplitude 1: error %")
    data = mnist_pca(100, n=70_000)
    X, truth = np.asarray(data.X), data.y.astype(int)
    for s in (1000, 3000):
        for inference in ("laplace", "ep"):
            errors = []
            for seed in range(draws):
                y, rest = masked(truth, 200, seed, -1)
                model = FLGPClassifier(
                    n_anchors=s, n_eigenpairs=100, amplitude=1.0, inference=inference, random_state=seed
                ).fit(X, y)
                errors.append(100 * error_rate(truth[rest], model.transduction_[rest]))
            print(f"  s = {s} {inference}: {np.mean(errors):.2f}  {np.round(errors, 2)}")


def bench_speed(repeats, n=900_000):
    print(f"circles, n = {n}: (fit + predict of all points) / cKDTree(anchors).query(X, k=3, workers=2)")
    data = circles(n, random_state=0)
    y, rest = masked(data.y, 50, 0, -1)
    for base_kernel in ("lae", "se"):
        ratios, seconds = [], []
        for _ in range(repeats):
            started = time.perf_counter()
            model = FLGPClassifier(**PAPER_CIRCLES, base_kernel=base_kernel, random_state=0).fit(data.X, y)
            prediction = model.predict(data.X)
            ours = time.perf_counter() - started
            started = time.perf_counter()
            cKDTree(model.anchors_).query(data.X, k=3, workers=2)
            query = time.perf_counter() - started
            ratios.append(ours / query)
            seconds.append((ours, query))
        error = 100 * error_rate(data.y[rest], prediction[rest])
        middle = np.median(seconds, axis=0).round(2)
        print(f"  {base_kernel}: median ratio {np.median(ratios):.2f}, seconds {middle}, error {error:.2f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["circles", "spiral", "mnist", "speed"])
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    for part in arguments.parts:
        seeds = min(arguments.seeds, {"mnist": 3, "speed": 5}.get(part, arguments.seeds))
        {"circles": bench_circles, "spiral": bench_spiral, "mnist": bench_mnist, "speed": bench_speed}[part](
            seeds
        )


if __name__ == "__main__":
    main()
