"""Time of `import flgp` against that of `import sklearn.cluster`, in alternating new processes."""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser, Namespace
from statistics import median

CODE = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def import_seconds(repeats: int = 7) -> dict[str, float]:
    """Median seconds to import each module."""
    taken: dict[str, list[float]] = {"sklearn.cluster": [], "flgp": []}
    for repeat in range(repeats + 1):
        for module, seconds in taken.items():
            done = subprocess.run(
                [sys.executable, "-c", CODE.format(module)], capture_output=True, text=True, check=True
            )
            if repeat:  # the first one compiles and fills the disk cache
                seconds.append(float(done.stdout))
    return {module: median(seconds) for module, seconds in taken.items()}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--repeats", type=int, default=7)


def measure(options: Namespace) -> None:
    seconds = import_seconds(**vars(options))
    ours, theirs = seconds["flgp"], seconds["sklearn.cluster"]
    print(f"flgp {ours:.3f} s, sklearn.cluster {theirs:.3f} s, ratio {ours / theirs:.2f}")
