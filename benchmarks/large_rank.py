"""The paper's model alone on a rough signal, as anchors and eigenpairs grow: error, and what it costs.

    python benchmarks/large_rank.py [--n 60000] [--sizes 500:150 1500:500 5000:1500 10000:3000]

The folded sheet with a short-range signal (length scale 0.04 on a sheet of 1 by 12), a fifth of the points
labelled. `residual="auto"` is the better tool for such a signal; this shows what rank alone can do.
"""

import argparse
import resource
import time

import numpy as np

from flgp import FLGPRegressor
from flgp.datasets import folded_sheet


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=60_000)
    parser.add_argument("--sizes", nargs="+", default=["500:150", "1500:500", "5000:1500", "10000:3000"])
    arguments = parser.parse_args()
    data = folded_sheet(arguments.n, random_state=0)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(arguments.n) < 0.2, data.y, np.nan)
    rest = np.isnan(y)
    print(
        "| s | M | MSE of f | seconds to fit | to predict | peak GB |\n| --- | --- | --- | --- | --- | --- |"
    )
    for size in arguments.sizes:
        s, M = map(int, size.split(":"))
        model = FLGPRegressor(n_anchors=s, n_eigenpairs=M, residual=None, random_state=0)
        start = time.perf_counter()
        model.fit(data.X, y)
        middle = time.perf_counter()
        error = np.mean((model.predict(data.X[rest]) - data.f[rest]) ** 2)
        end = time.perf_counter()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        times = f"{middle - start:.1f} | {end - middle:.1f}"
        print(f"| {s:,} | {M:,} | {error:.4f} | {times} | {peak:.1f} |", flush=True)


if __name__ == "__main__":
    main()
