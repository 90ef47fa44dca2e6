"""Fit and predict on one and on two worker processes, in turn; the rows are made on the workers."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from statistics import median
from typing import Any

import numpy as np

from ... import FLGPClassifier
from ..._typing import Array
from .catalogue import whole
from .out_of_core import six_circles


def points(block: Array, block_info: Any = None) -> Array:
    """Points of six circles instead of a block of zeros."""
    start = block_info[0]["array-location"][0][0] if block_info else 0
    return six_circles(start, len(block))[0].astype(float)


def dask_seconds(n: int, workers: int) -> tuple[float, float, float]:
    """Seconds of fit, seconds of predict, and the fraction of wrong classes."""
    import dask.array as da
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        zeros = da.zeros((n, 2), chunks=(min(500_000, n // 4), 2))
        X = zeros.map_blocks(points, dtype=float, meta=np.empty((0, 2))).persist()
        X.sum().compute()  # make the rows before the clock starts
        labeled, y = six_circles(2**31, 50)
        client.run(lambda: __import__("flgp.rows.dask"))
        started = time.perf_counter()
        model = FLGPClassifier(n_anchors=600, n_eigenpairs=100, random_state=0).fit(labeled, y, X)
        fitted = time.perf_counter()
        truth = da.round(10 * da.hypot(X[:, 0], X[:, 1]) - 5) % 2
        error = (model.predict(X) != truth).mean().compute()
        return fitted - started, time.perf_counter() - fitted, float(error)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=whole, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)


def measure(options: Namespace) -> None:
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(options.repeats):
        for workers, taken in seconds.items():
            fit, predict, error = dask_seconds(options.n, workers)
            taken.append(fit + predict)
            print(
                f"n={options.n:,} workers={workers}: fit {fit:.2f} s, predict {predict:.2f} s, "
                f"error {error:.5f}"
            )
    one, two = (median(seconds[workers]) for workers in (1, 2))
    print(f"one worker {one:.2f} s, two {two:.2f} s: {one / two:.2f} times as fast")
