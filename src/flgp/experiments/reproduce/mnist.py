"""MNIST: ten classes, 200 labels, up to 700,000 points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ...datasets import MnistFeatures, mnist_pca
from .classification import METRICS, error_table, measure
from .experiment import Experiment, Options, Row, seeds, threads_for
from .methods import Setting, classifier
from .published import MNIST
from .tables import DEFAULTS, MODELS, OURS, Table

M_LABELS = 200
_LARGEST = {"sparse-glgp": 70_000}
_SLOW = ("sr", "sk")  # twenty bandwidths by EP, for ten classes: a minute each


@lru_cache(maxsize=1)
def _components(n: int, data_dir: str | None, seed: int) -> MnistFeatures:
    return mnist_pca(100, n, data_dir=data_dir, random_state=seed)


def digits(n: int, options: Options, seed: int) -> MnistFeatures:
    """100 principal components of n digits; subsets differ between repeats, the crops are drawn once."""
    return _components(n, options.data_dir, seed if n < 70_000 else 0)


def setting(n: int, seed: int) -> Setting:
    """The paper's numbers; beyond 100,000 points it uses mini-batch k-means."""
    return Setting(
        s=1000,
        r=3,
        M=100,
        r_sparse=max(n // 500, 3),  # as in the published script
        seed=seed,
        threads=threads_for(10 * n),  # 100 columns: worth all cores from 10,000 points on
        anchors="minibatch" if n > 100_000 else "kmeans",
    )


class MnistTable(Experiment):
    """Section 3 of the experiments: 200 labels; error, NLL and time of all methods."""

    name = "mnist"
    keys = ("n", "method", "model", "repeat")
    metrics = METRICS
    methods = ("egp", "glgp-star", "sparse-glgp", "sr", "sk", "lr", "lk", DEFAULTS)
    quick_methods = ("egp", "sr", "sk", "lr", "lk", DEFAULTS)
    models = MODELS

    def jobs(self, options: Options) -> list[Row]:
        sizes, repeats = options.sizes_or((7000, 70_000, 700_000), (7000,)), range(options.repeats_or(10))
        slow = _SLOW if options.quick and options.methods is None else ()
        return [
            job
            for job in self.crossed(options, n=sizes, repeat=repeats)
            if job["n"] <= _LARGEST.get(job["method"], job["n"])
            and not (job["method"] in slow and job["model"] == OURS)
        ]

    def run(self, job: Mapping[str, Any], options: Options) -> Row:
        n, repeat = job["n"], job["repeat"]
        subset, labels, anchors, _ = seeds(options, n, repeat)
        data = digits(n, options, subset)
        model = classifier(job["method"], job["model"], setting(n, anchors))
        return measure(model, data.X, data.y, M_LABELS, labels)

    def tables(self, rows: Sequence[Row], options: Options) -> list[Table]:
        return error_table("mnist", "MNIST, m = 200", rows, MNIST, self.methods, 10)

    def figures(self, rows: Sequence[Row], options: Options) -> Iterator[tuple[str, Any]]:
        from .draw import classification as draw

        yield "mnist-error-time", draw.error_and_time(rows)
        n = min(row["n"] for row in rows)
        subset, labels, anchors, _ = seeds(options, n, 0)
        data = digits(n, options, subset)
        yield "mnist-reliability", draw.reliability(data.X, data.y, M_LABELS, labels, setting(n, anchors))


EXPERIMENT = MnistTable()
