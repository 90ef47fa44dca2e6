"""Fit and predict rows of a memory-mapped float32 file; report time, error and peak anonymous memory.

python benchmarks/out_of_core.py --n 1e8 --folder /somewhere/with/space
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from flgp import FLGPClassifier
from flgp.bench.child import PeakMemory, anonymous_bytes

BLOCK = 1_000_000


def block_of(start: int, rows: int):
    """Points of six circles and their classes, the same whenever they are made."""
    rng = np.random.default_rng([start, 7])
    angle, circle = rng.uniform(0, 2 * np.pi, rows), rng.integers(0, 6, rows)
    X = (0.5 + 0.1 * circle)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X.astype(np.float32), circle % 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--base-kernel", choices=["lae", "se"], default="lae")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "X.bin"
        with path.open("wb") as file:
            for start in range(0, options.n, BLOCK):
                block_of(start, min(BLOCK, options.n - start))[0].tofile(file)
        X = np.memmap(path, np.float32, "r", shape=(options.n, 2))
        labeled, y = block_of(-BLOCK % 2**31, 50)
        model = FLGPClassifier(
            n_anchors=600, n_eigenpairs=100, base_kernel=options.base_kernel, random_state=0
        )
        before = anonymous_bytes() or 0
        with PeakMemory() as memory:
            started = time.perf_counter()
            model.fit(labeled, y, X)
            fitted = time.perf_counter() - started
            prediction = model.predict(X)
            seconds = time.perf_counter() - started
        wrong = sum(
            np.count_nonzero(prediction[i : i + BLOCK] != block_of(i, min(BLOCK, options.n - i))[1])
            for i in range(0, options.n, BLOCK)
        )
        peak = (before + (memory.added or 0)) / 2**30
        print(
            f"n={options.n:,} {options.base_kernel}: fit {fitted:.1f} s, predict {seconds - fitted:.1f} s, "
            f"peak anonymous memory {peak:.2f} GB, error {wrong / options.n:.5f}"
        )


if __name__ == "__main__":
    main()
