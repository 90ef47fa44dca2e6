"""Time of `import flgp` against that of `import sklearn.cluster`, fresh processes in turn.

python benchmarks/imports.py
"""

from __future__ import annotations

import subprocess
import sys
from statistics import median

CODE = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def main(repeats: int = 7) -> None:
    taken: dict[str, list[float]] = {"sklearn.cluster": [], "flgp": []}
    for repeat in range(repeats + 1):
        for module, seconds in taken.items():
            done = subprocess.run(
                [sys.executable, "-c", CODE.format(module)], capture_output=True, text=True, check=True
            )
            if repeat:  # the first one compiles and fills the disk cache
                seconds.append(float(done.stdout))
    ours, theirs = median(taken["flgp"]), median(taken["sklearn.cluster"])
    print(f"flgp {ours:.3f} s, sklearn.cluster {theirs:.3f} s, ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
