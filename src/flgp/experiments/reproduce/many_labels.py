"""Many labels: the cost of one evidence evaluation does not depend on their number."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ... import FLGPRegressor
from ...datasets import spiral
from ..labels import some_labels
from .experiment import Experiment, Options, Row, seeds, threads_for
from .tables import Table, cell, summarize

_EVALUATIONS = 20


class ManyLabels(Experiment):
    """The supplement's fast regression: time of one evidence evaluation against the number of labels."""

    name = "many-labels"
    keys = ("n", "M", "m", "repeat")
    metrics = ("evaluation_ms", "fit_seconds", "rmse")

    def jobs(self, options: Options) -> list[Row]:
        return [
            {"n": n, "M": M, "m": m, "repeat": repeat}
            for n in options.sizes_or((200_000,), (50_000,))
            for repeat in range(options.repeats_or(3))
            for M in (50, 200)
            for m in (500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000)
            if m <= n
        ]

    def run(self, job: Mapping[str, Any], options: Options) -> Row:
        """Milliseconds of an evaluation with its gradient."""
        n, m = job["n"], job["m"]
        place, labels, anchors, _ = seeds(options, n, job["repeat"])
        data = spiral(n, sampling="uniform", random_state=place)
        y, _ = some_labels(data.y, m, labels)
        model = FLGPRegressor(
            n_anchors=1000,
            n_eigenpairs=job["M"],
            linear=None,
            residual=None,
            scaling=None,
            random_state=anchors,
            n_jobs=threads_for(n),
        )
        started = time.perf_counter()
        model.fit(data.X, y)
        fit_seconds = time.perf_counter() - started
        theta = np.log([model.diffusion_time_, model.amplitude_, model.noise_variance_])
        times = []
        for step in range(_EVALUATIONS):
            started = time.perf_counter()
            model.log_marginal_likelihood(theta + 1e-3 * step, eval_gradient=True)
            times.append(time.perf_counter() - started)
        rmse = float(np.sqrt(np.mean((model.transduction_ - data.f) ** 2)))
        return {"evaluation_ms": 1e3 * float(np.median(times)), "fit_seconds": fit_seconds, "rmse": rmse}

    def tables(self, rows: Sequence[Row], options: Options) -> list[Table]:
        lines = []
        for n, M, m in dict.fromkeys((row["n"], row["M"], row["m"]) for row in rows):
            found = [summarize(rows, metric, n=n, M=M, m=m) for metric in self.metrics]
            cells = [cell(value, digits) for value, digits in zip(found, (3, 2, 3), strict=True)]
            lines.append((f"{n:,}", str(M), f"{m:,}", *cells))
        columns = ("n", "M", "m", "ms per evidence evaluation", "fit s", "RMSE")
        note = "Spiral, s = 1000, r = 3; an evaluation includes its gradient. mean(sd) over repeats."
        return [Table("many-labels", "Regression with many labels", columns, lines, note)]

    def figures(self, rows: Sequence[Row], options: Options) -> Iterator[tuple[str, Any]]:
        from .draw import many_labels as draw

        yield "many-labels", draw.evaluation_time(rows)


EXPERIMENT = ManyLabels()
