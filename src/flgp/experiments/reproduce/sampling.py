"""The spiral under three sampling distributions: the cost of an uneven density."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...datasets import spiral
from ...datasets.spiral import SpiralSampling
from .experiment import Experiment, Options, Row, combinations, seeds, threads_for
from .methods import LABELS, Setting, regressor
from .published import SAMPLING
from .regression import METRICS, measure
from .tables import DEFAULTS, MODELS, Table, cell, number, summarize

LAWS: tuple[SpiralSampling, ...] = ("uniform", "blocks", "sine")
M_LABELS = 100


class Sampling(Experiment):
    """The supplement's experiment on the sampling distribution: MSE of all methods under three densities."""

    name = "sampling"
    keys = ("law", "n", "method", "model", "repeat")
    metrics = METRICS
    methods = ("egp", "sr", "sk", "lr", "lk", DEFAULTS)
    models = MODELS

    def jobs(self, options: Options) -> list[Row]:
        sizes, repeats = options.sizes_or((2000, 10_000), (2000,)), range(options.repeats_or(50, 2))
        return self.crossed(options, n=sizes, repeat=repeats, law=LAWS)

    def run(self, job: Mapping[str, Any], options: Options) -> Row:
        n = job["n"]
        place, labels, anchors, _ = seeds(options, n, job["repeat"], LAWS.index(job["law"]))
        data = spiral(n, sampling=job["law"], random_state=place)
        setting = Setting(s=500, r=5, M=50, seed=anchors, threads=threads_for(n))
        return measure(regressor(job["method"], job["model"], setting), data, M_LABELS, labels)

    def tables(self, rows: Sequence[Row], options: Options) -> list[Table]:
        tables = []
        for n in sorted({row["n"] for row in rows}):
            lines = []
            for method, model in combinations(self.methods, MODELS):
                found = [summarize(rows, "mse", law=law, n=n, method=method, model=model) for law in LAWS]
                if all(value is None for value in found):
                    continue
                cells = []
                for law, value in zip(LAWS, found, strict=True):
                    cells += [number(SAMPLING.get(method, {}).get((law, n)), 2), cell(value, 3)]
                lines.append((LABELS[method], model, *cells))
            columns = ["method", "model"]
            for law in LAWS:
                columns += [f"{law} published", f"{law} here"]
            repeats = max(row["repeat"] for row in rows if row["n"] == n) + 1
            note = "MSE against f without noise on the rest; mean(sd) over repeats. s = 500, r = 5, M = 50."
            title = f"Spiral, three sampling laws, n = {n:,}, m = {M_LABELS}, {repeats} repeat(s)"
            tables.append(Table(f"sampling-{n}", title, tuple(columns), lines, note))
        return tables

    def figures(self, rows: Sequence[Row], options: Options) -> Iterator[tuple[str, Any]]:
        from .draw import sampling as draw

        yield "sampling-densities", draw.densities(seeds(options, 0)[0])
        yield "sampling-errors", draw.errors_by_law(rows)


EXPERIMENT = Sampling()
