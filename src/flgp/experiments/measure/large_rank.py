"""The paper's model alone on a rough signal, as anchors and eigenpairs grow: error and cost.

The folded sheet with a short-range signal (length scale 0.04 on a sheet of 1 by 12), a fifth of the points
labelled. `residual="auto"` suits such a signal better; this shows what rank alone can do.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ... import FLGPRegressor
from ...datasets import folded_sheet
from ..reproduce.runner import peak_gigabytes
from .catalogue import whole


class Cost(NamedTuple):
    """One fit: its size, error and cost."""

    anchors: int
    eigenpairs: int
    error: float  # mean squared error of f at the unlabelled points
    fit_seconds: float
    predict_seconds: float
    peak_gigabytes: float  # of the process up to now


def large_rank(n: int, sizes: Sequence[str]) -> Iterator[Cost]:
    """Fit one model per size "anchors:eigenpairs"."""
    data = folded_sheet(n, random_state=0)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.2, data.y, np.nan)
    rest = np.isnan(y)
    for size in sizes:
        s, M = map(int, size.split(":"))
        model = FLGPRegressor(n_anchors=s, n_eigenpairs=M, residual=None, random_state=0)
        start = time.perf_counter()
        model.fit(data.X, y)
        middle = time.perf_counter()
        error = float(np.mean((model.predict(data.X[rest]) - data.f[rest]) ** 2))
        end = time.perf_counter()
        yield Cost(s, M, error, middle - start, end - middle, peak_gigabytes())


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=whole, default=60_000)
    parser.add_argument(
        "--sizes",
        nargs="+",
        default=["500:150", "1500:500", "5000:1500", "10000:3000"],
        help="anchors:eigenpairs, several of them",
    )


def measure(options: Namespace) -> None:
    print("| s | M | MSE of f | seconds to fit | to predict | peak GB |\n|" + " --- |" * 6)
    for row in large_rank(options.n, options.sizes):
        times = f"{row.fit_seconds:.1f} | {row.predict_seconds:.1f} | {row.peak_gigabytes:.1f}"
        print(f"| {row.anchors:,} | {row.eigenpairs:,} | {row.error:.4f} | {times} |", flush=True)
