"""One evaluation of the Gaussian evidence with its gradient, in units of an M×M Cholesky factorisation."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from statistics import median

import numpy as np
from scipy.linalg import cholesky

from ...inference.gaussian import GaussianInference
from ...inference.posterior import Point
from ...likelihoods import Gaussian


def timed(function: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def evidence_seconds(m: int, M: int, repeats: int = 7) -> tuple[float, float]:
    """Median seconds of the evidence with its gradient, and of the factorisation."""
    rng = np.random.default_rng(0)
    square = rng.standard_normal((M, M))
    matrix = square @ square.T + M * np.eye(M)
    eigenvalues = np.linspace(0.0, 0.5, M)
    features = rng.standard_normal((m, M))
    y = features @ (np.exp(-4.0 * eigenvalues) * rng.standard_normal(M)) + 0.1 * rng.standard_normal(m)
    inference = GaussianInference(features, y, np.ones(m))
    at = Point(np.exp(-4.0 * eigenvalues), Gaussian(noise_variance=0.01))
    evaluation, factorisation = [], []
    for _ in range(repeats):  # in turn
        evaluation.append(timed(lambda: inference.evaluate(at)))
        factorisation.append(timed(lambda: cholesky(matrix, lower=True, check_finite=False)))
    return median(evaluation), median(factorisation)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--eigenpairs", type=int, default=1000)
    parser.add_argument("--labels", default="2000,20000", help="numbers of labels, separated by commas")
    parser.add_argument("--repeats", type=int, default=7)


def measure(options: Namespace) -> None:
    M = options.eigenpairs
    for m in map(int, options.labels.split(",")):
        ours, unit = evidence_seconds(m, M, options.repeats)
        print(
            f"M={M} m={m:,}: evidence and gradient {1e3 * ours:.1f} ms, Cholesky {1e3 * unit:.1f} ms, "
            f"ratio {ours / unit:.1f}"
        )
