"""Fit and predict rows of a memory-mapped float32 file: time, error and peak anonymous memory."""

from __future__ import annotations

import tempfile
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ... import FLGPClassifier
from ..._typing import Array, IntArray
from ..bench.child import PeakMemory, anonymous_bytes
from .catalogue import whole

BLOCK = 1_000_000


class Cost(NamedTuple):
    """One fit with the predictions of all rows."""

    fit_seconds: float
    predict_seconds: float
    peak_gigabytes: float
    error: float  # fraction of wrong classes


def six_circles(start: int, rows: int) -> tuple[Array, IntArray]:
    """Points of six circles and their classes, the same in every call."""
    rng = np.random.default_rng([start, 7])
    angle, circle = rng.uniform(0, 2 * np.pi, rows), rng.integers(0, 6, rows)
    X = (0.5 + 0.1 * circle)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X.astype(np.float32), circle % 2


def out_of_core(n: int, folder: Path | None = None, base_kernel: str = "lae") -> Cost:
    """Write n rows to a file in `folder`, fit a classifier to them and predict them."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        path = Path(name) / "X.bin"
        with path.open("wb") as file:
            for start in range(0, n, BLOCK):
                six_circles(start, min(BLOCK, n - start))[0].tofile(file)
        X = np.memmap(path, np.float32, "r", shape=(n, 2))
        labeled, y = six_circles(-BLOCK % 2**31, 50)
        model = FLGPClassifier(n_anchors=600, n_eigenpairs=100, base_kernel=base_kernel, random_state=0)
        before = anonymous_bytes() or 0
        with PeakMemory() as memory:
            started = time.perf_counter()
            model.fit(labeled, y, X)
            fitted = time.perf_counter()
            prediction = model.predict(X)
            ended = time.perf_counter()
        wrong = sum(
            np.count_nonzero(prediction[i : i + BLOCK] != six_circles(i, min(BLOCK, n - i))[1])
            for i in range(0, n, BLOCK)
        )
    peak = (before + (memory.added or 0)) / 2**30
    return Cost(fitted - started, ended - fitted, peak, wrong / n)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=whole, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=None, help="with space for 8 n bytes")
    parser.add_argument("--base-kernel", choices=["lae", "se"], default="lae")


def measure(options: Namespace) -> None:
    cost = out_of_core(**vars(options))
    print(
        f"n={options.n:,} {options.base_kernel}: fit {cost.fit_seconds:.1f} s, predict "
        f"{cost.predict_seconds:.1f} s, peak anonymous memory {cost.peak_gigabytes:.2f} GB, "
        f"error {cost.error:.5f}"
    )
