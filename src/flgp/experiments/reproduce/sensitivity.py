"""MNIST with other s, r and M: sensitivity to each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .classification import METRICS, measure
from .experiment import Experiment, Options, Row, combinations, seeds, threads_for
from .methods import LABELS, Setting, classifier
from .mnist import digits
from .published import SENSITIVITY
from .tables import MODELS, Table, cell, number, summarize

LABEL_COUNTS = (100, 200)
_COLUMNS = (
    *("s", "r", "M", "method", "model"),
    *("m = 100 published", "m = 100 here", "m = 200 published", "m = 200 here"),
)


class Sensitivity(Experiment):
    """The supplement's experiment: MNIST 70,000 with other s, r and M."""

    name = "sensitivity"
    keys = ("n", "s", "r", "M", "m", "method", "model", "repeat")
    metrics = METRICS
    methods = ("sr", "sk", "lr", "lk")
    models = MODELS

    def jobs(self, options: Options) -> list[Row]:
        models = ("paper",) if options.models is None else self.chosen_models(options)
        return [
            {"n": n, "s": s, "r": r, "M": M, "m": m, "method": method, "model": model, "repeat": repeat}
            for n in options.sizes_or((70_000,), (7000,))
            for repeat in range(options.repeats_or(10))
            for (s, r, M), published in SENSITIVITY.items()
            for m in LABEL_COUNTS
            for method, model in combinations(self.chosen_methods(options), models)
            if method in published and (not options.quick or method == "lk")
        ]

    def run(self, job: Mapping[str, Any], options: Options) -> Row:
        n = job["n"]
        subset, labels, anchors, _ = seeds(options, n, job["repeat"])
        data = digits(n, options, subset)
        setting = Setting(s=job["s"], r=job["r"], M=job["M"], seed=anchors, threads=threads_for(10 * n))
        return measure(classifier(job["method"], job["model"], setting), data.X, data.y, job["m"], labels)

    def tables(self, rows: Sequence[Row], options: Options) -> list[Table]:
        tables = []
        for n in sorted({row["n"] for row in rows}):
            lines: list[tuple[str, ...]] = []
            for (s, r, M), published in SENSITIVITY.items():
                for method, model in combinations(tuple(published), MODELS):
                    found = [
                        summarize(rows, "error", n=n, s=s, r=r, M=M, m=m, method=method, model=model)
                        for m in LABEL_COUNTS
                    ]
                    if all(value is None for value in found):
                        continue
                    theirs = published[method] if n == 70_000 else (None, None)
                    cells = [
                        text
                        for published_one, here in zip(theirs, found, strict=True)
                        for text in (number(published_one), cell(here))
                    ]
                    lines.append((str(s), str(r), str(M), LABELS[method], model, *cells))
            title = f"MNIST, n = {n:,}: error % for other s, r, M"
            tables.append(Table(f"sensitivity-{n}", title, _COLUMNS, lines, "mean(sd) over repeats."))
        return tables

    def figures(self, rows: Sequence[Row], options: Options) -> Iterator[tuple[str, Any]]:
        from .draw import classification as draw

        yield "sensitivity", draw.settings_figure(rows)


EXPERIMENT = Sensitivity()
