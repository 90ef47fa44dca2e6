"""One evaluation of the Gaussian evidence with its gradient, in units of an M×M Cholesky factorisation.

python benchmarks/evidence.py --eigenpairs 1000 --labels 2000,20000
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import numpy as np
from scipy.linalg import cholesky

from flgp.inference.learning import Settings, Task, fit_task
from flgp.likelihoods import Gaussian, Observations


def timed(function, repeats: int) -> float:
    taken = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        taken.append(time.perf_counter() - started)
    return median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eigenpairs", type=int, default=1000)
    parser.add_argument("--labels", default="2000,20000")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    M = options.eigenpairs
    rng = np.random.default_rng(0)
    square = rng.standard_normal((M, M))
    matrix = square @ square.T + M * np.eye(M)
    eigenvalues = np.linspace(0.0, 0.5, M)
    for m in map(int, options.labels.split(",")):
        features = rng.standard_normal((m, M))
        y = features @ (np.exp(-4.0 * eigenvalues) * rng.standard_normal(M)) + 0.1 * rng.standard_normal(m)
        task = Task(np.arange(m), Observations.of(y), Gaussian())
        head = fit_task(task, features, eigenvalues, Settings(M), start=np.log([8.0, 1.0, 0.01]))
        theta = head.fit.theta

        evaluation, factorisation = [], []
        for _ in range(options.repeats):  # in turn
            evaluation.append(timed(lambda t=theta, e=head.evidence: e.evaluate(t), 1))
            factorisation.append(timed(lambda: cholesky(matrix, lower=True, check_finite=False), 1))
        ratio = median(evaluation) / median(factorisation)
        print(
            f"M={M} m={m:,}: evidence and gradient {1e3 * median(evaluation):.1f} ms, Cholesky "
            f"{1e3 * median(factorisation):.1f} ms, ratio {ratio:.1f}"
        )


if __name__ == "__main__":
    main()
