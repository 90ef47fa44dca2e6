"""The spiral of Figure 1: a function that is smooth along the curve but not across its turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...datasets import spiral
from .experiment import Experiment, Options, Row, seeds, threads_for
from .methods import LABELS, Setting, regressor
from .published import SPIRAL
from .regression import METRICS, measure
from .tables import DEFAULTS, MODELS, Table, cells, number

M_LABELS = 200


class Spiral(Experiment):
    """Section 1 of the experiments: regression on the spiral of Figure 1, with its four panels."""

    name = "spiral"
    keys = ("n", "method", "model", "repeat")
    metrics = METRICS
    methods = ("egp", "glgp-star", "sr", "sk", "lr", "lk", DEFAULTS)
    models = MODELS

    def jobs(self, options: Options) -> list[Row]:
        return self.crossed(
            options, n=options.sizes_or((4000,), (4000,)), repeat=range(options.repeats_or(20, 2))
        )

    def run(self, job: Mapping[str, Any], options: Options) -> Row:
        n = job["n"]
        noise, labels, anchors, _ = seeds(options, n, job["repeat"])
        data = spiral(n, random_state=noise)
        setting = Setting(s=500, r=3, M=50, seed=anchors, threads=threads_for(n))
        return measure(regressor(job["method"], job["model"], setting), data, M_LABELS, labels)

    def tables(self, rows: Sequence[Row], options: Options) -> list[Table]:
        tables = []
        for n in sorted({row["n"] for row in rows}):
            lines = []
            for method in self.methods:
                here = [row for row in rows if (row["n"], row["method"]) == (n, method)]
                if here:
                    published = number(SPIRAL.get(method) if n == 4000 else None, 3)
                    scores = (*cells(here, "rmse", 3), *cells(here, "nll", 3), *cells(here, "seconds", 2))
                    lines.append((LABELS[method], published, *scores))
            columns = (
                *("method", "RMSE published", "paper's model", "ours"),
                *("NLL paper's model", "NLL ours", "s paper's model", "s ours"),
            )
            note = (
                "RMSE against f without noise (noise sd 0.5) on the rest; mean(sd) over repeats. Paper's "
                "model: amplitude 1, zero mean, s = 500, r = 3, M = 50; its EGP has kernlab's defaults, "
                "nothing learned."
            )
            tables.append(Table(f"spiral-{n}", f"Spiral, n = {n:,}, m = {M_LABELS}", columns, lines, note))
        return tables

    def figures(self, rows: Sequence[Row], options: Options) -> Iterator[tuple[str, Any]]:
        from .draw import spiral as draw

        n = options.figure_size(4000)
        noise, labels, anchors, _ = seeds(options, n, 0)
        data = spiral(n, random_state=noise)
        yield "spiral-panels", draw.four_panels(data, anchors)
        yield "spiral-fit", draw.fit_along_the_curve(data, labels, anchors)


EXPERIMENT = Spiral()
