"""Six concentric circles: classes that only the manifold separates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ...datasets import CirclesData, circles
from .classification import METRICS, error_table, measure
from .experiment import Experiment, Options, Row, seeds, threads_for
from .methods import Setting, classifier
from .published import CIRCLES
from .tables import DEFAULTS, MODELS, Table

M_LABELS = 50
# Methods whose memory or time is not linear in n stop here, as in the paper.
_LARGEST = {"glgp": 10_000, "sparse-glgp": 10_000, "flgp-x": 10_000}


@lru_cache(maxsize=2)
def points(n: int, seed: int) -> CirclesData:
    """The data of a repeat."""
    return circles(n, random_state=seed)


def setting(n: int, seed: int) -> Setting:
    """The paper's numbers."""
    return Setting(
        s=600,
        r=3,
        M=100,
        r_all=20 if n <= 3000 else 60,
        r_sparse=max(n // 100, 3),
        seed=seed,
        threads=threads_for(n),
    )


class Circles(Experiment):
    """Section 2 of the experiments: 50 labels; error, NLL and time of all methods."""

    name = "circles"
    keys = ("n", "method", "model", "repeat")
    metrics = METRICS
    methods = ("egp", "glgp", "glgp-star", "sparse-glgp", "flgp-x", "sr", "sk", "lr", "lk", DEFAULTS)
    quick_methods = ("egp", "glgp-star", "sr", "sk", "lr", "lk", DEFAULTS)
    models = MODELS

    def jobs(self, options: Options) -> list[Row]:
        sizes, repeats = options.sizes_or((3000, 9000, 900_000), (3000,)), range(options.repeats_or(20, 2))
        jobs = self.crossed(options, n=sizes, repeat=repeats)
        return [job for job in jobs if job["n"] <= _LARGEST.get(job["method"], job["n"])]

    def run(self, job: Mapping[str, Any], options: Options) -> Row:
        n = job["n"]
        place, labels, anchors, _ = seeds(options, n, job["repeat"])
        data = points(n, place)
        model = classifier(job["method"], job["model"], setting(n, anchors))
        return measure(model, data.X, data.y, M_LABELS, labels)

    def tables(self, rows: Sequence[Row], options: Options) -> list[Table]:
        return error_table("circles", "Concentric circles", rows, CIRCLES, self.methods, 20)

    def figures(self, rows: Sequence[Row], options: Options) -> Iterator[tuple[str, Any]]:
        from .draw import circles as draw
        from .draw import classification

        n = options.figure_size(9000, 3000)
        place, labels, anchors, _ = seeds(options, n, 0)
        data = points(n, place)
        yield "circles-data", draw.data_figure(data)
        slow = options.figures == "all"
        yield "circles-covariance", draw.covariance_figure(data, labels, setting(n, anchors), slow)
        yield "circles-error-time", classification.error_and_time(rows)
        yield (
            "circles-reliability",
            classification.reliability(data.X, data.y, M_LABELS, labels, setting(n, anchors)),
        )


EXPERIMENT = Circles()
