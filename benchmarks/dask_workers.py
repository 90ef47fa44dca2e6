"""Fit and predict on one worker process and on two, in turn; the rows are made on the workers.

python benchmarks/dask_workers.py --n 1e7 --repeats 3
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from flgp import FLGPClassifier


def six_circles(block: np.ndarray, block_info=None) -> np.ndarray:
    """Points of six circles in place of a block of zeros, the same whenever they are made."""
    start = block_info[0]["array-location"][0][0] if block_info else 0
    rng = np.random.default_rng(start)
    angle, circle = rng.uniform(0, 2 * np.pi, len(block)), rng.integers(0, 6, len(block))
    return (0.5 + 0.1 * circle)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def run(n: int, workers: int) -> tuple[float, float, float]:
    """Seconds of fit, seconds of predict, and the share of wrong classes."""
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        zeros = da.zeros((n, 2), chunks=(min(500_000, n // 4), 2))
        X = zeros.map_blocks(six_circles, dtype=float, meta=np.empty((0, 2))).persist()
        X.sum().compute()  # the rows are there before the clock starts
        labeled = six_circles(np.zeros((50, 2)), [{"array-location": [(2**31, 0)]}])
        y = np.round(10 * np.hypot(*labeled.T) - 5).astype(int) % 2
        client.run(lambda: __import__("flgp.dask"))
        started = time.perf_counter()
        model = FLGPClassifier(n_anchors=600, n_eigenpairs=100, random_state=0).fit(labeled, y, X)
        fitted = time.perf_counter()
        truth = da.round(10 * da.hypot(X[:, 0], X[:, 1]) - 5) % 2
        error = (model.predict(X) != truth).mean().compute()
        return fitted - started, time.perf_counter() - fitted, float(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(options.repeats):
        for workers, taken in seconds.items():
            fit, predict, error = run(options.n, workers)
            taken.append(fit + predict)
            print(
                f"n={options.n:,} workers={workers}: fit {fit:.2f} s, predict {predict:.2f} s, "
                f"error {error:.5f}"
            )
    one, two = (median(seconds[workers]) for workers in (1, 2))
    print(f"one worker {one:.2f} s, two {two:.2f} s: {one / two:.2f} times as fast")


if __name__ == "__main__":
    main()
