"""Six circles with 50 labels: errors at the fitted, unlabelled points, and at 10,000 new points.

`flgp bench circles` measures times, `flgp reproduce circles` makes the paper's table.
"""

from __future__ import annotations

import warnings
from argparse import ArgumentParser, Namespace
from typing import NamedTuple

import numpy as np

from ... import FLGPClassifier
from ...datasets import circles
from ...metrics import error_rate, negative_log_likelihood
from ..labels import some_labels
from .catalogue import whole


class Errors(NamedTuple):
    """Means over the seeds."""

    error: float  # fraction of wrong classes at the fitted points
    nll: float
    new_error: float  # at the new points


def new_points(n: int, base_kernel: str, seeds: int) -> Errors:
    """Fit n points with 50 labels, once per seed."""
    rows = []
    for seed in range(seeds):
        data, new = circles(n, random_state=seed), circles(10_000, random_state=10_000 + seed)
        labels, rest = some_labels(data.y, 50, seed)
        model = FLGPClassifier(n_anchors=600, n_eigenpairs=100, base_kernel=base_kernel, random_state=seed)
        p = model.fit(data.X, labels).predict_proba(data.X[rest])
        rows.append(
            (
                error_rate(data.y[rest], model.classes_[p.argmax(axis=1)]),
                negative_log_likelihood(data.y[rest], p, classes=model.classes_),
                error_rate(new.y, model.predict(new.X)),
            )
        )
    return Errors(*np.mean(rows, axis=0).tolist())


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=whole, nargs="+", default=[3000, 9000, 900_000])
    parser.add_argument("--seeds", type=int, default=10)


def measure(options: Namespace) -> None:
    print("| n | base kernel | error | NLL | error of new points |\n|" + " --- |" * 5)
    for n in options.n:
        for base_kernel in ("lae", "se"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                found = new_points(n, base_kernel, options.seeds)
            shares = f"{100 * found.error:.2f} % | {found.nll:.3f} | {100 * found.new_error:.2f} %"
            print(f"| {n:,} | {base_kernel} | {shares} |", flush=True)
