"""Time of `import flgp` against that of `import sklearn.cluster`, in alternating new processes."""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from statistics import median

from .catalogue import parser_for

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


def parser() -> ArgumentParser:
    """The options of the command."""
    options = parser_for("imports", __doc__)
    options.add_argument("--repeats", type=int, default=7)
    return options


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    seconds = import_seconds(**vars(parser().parse_args(argv)))
    ours, theirs = seconds["flgp"], seconds["sklearn.cluster"]
    print(f"flgp {ours:.3f} s, sklearn.cluster {theirs:.3f} s, ratio {ours / theirs:.2f}")
