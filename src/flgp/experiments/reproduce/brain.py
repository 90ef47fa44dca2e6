"""Brain activation maps: predict the activation region of each subject from some of its voxels."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..._typing import Array, BoolArray
from ...baselines import EGPRegressor
from ...rows.blocks import map_rows
from .brain_groups import group_table, subject_table
from .experiment import Experiment, Failure, Options, Row, seeds
from .methods import LABELS, Setting, regressor
from .published import BRAIN
from .subjects import seed_of, study_of
from .tables import DEFAULTS, MODELS, OURS, PAPER, Table, cell, cells, number, summarize

RATIOS = (0.2, 0.3, 0.4)
# The dense model learns its hyperparameters from this many labels; its predictions use all of them.
_PILOT = 1500
_SCORES = ("n_labeled", "n_held_out", "mse", "trimmed_mse", "nll", "trimmed_nll", "coverage")


class Brain(Experiment):
    """Section 4 of the experiments: reconstruction of activation maps from a fraction of their voxels."""

    name = "brain"
    keys = ("subject", "ratio", "method", "model", "repeat")
    metrics = (*_SCORES, "seconds")
    methods = ("egp", "glgp-star", "sk", "lk", DEFAULTS)
    models = MODELS
    survives_failures = True

    def left_out(self, options: Options) -> list[Failure]:
        """Maps that cannot be read, are on another grid, or have too small a region."""
        return study_of(options).left_out

    def settings(self, options: Options) -> dict[str, Any]:
        """The region; where the maps themselves choose it, also which they are."""
        if not options.maps:
            return {}
        study = study_of(options)
        return {
            "region": None if options.region is None else Path(options.region).name,
            "maps": list(study.maps) if options.region is None else "any",
        }

    def jobs(self, options: Options) -> list[Row]:
        study = study_of(options)
        kept = [name for name, kept in zip(study.maps, study.found.kept, strict=True) if kept]
        ratios = RATIOS[:1] if options.quick else RATIOS
        return self.crossed(options, subject=kept, repeat=range(options.repeats_or(10, 1)), ratio=ratios)

    def run(self, job: Mapping[str, Any], options: Options) -> Row:
        from ...neuro.completion import score_predictions

        X, y = study_of(options).data(job["subject"])
        labels, anchors, _, _ = seeds(options, seed_of(job["subject"]), job["repeat"])
        order = np.random.default_rng(labels).permutation(len(y))
        seen = np.zeros(len(y), dtype=bool)
        seen[order[: max(1, round(job["ratio"] * len(y)))]] = True
        if job["method"] != DEFAULTS:
            X = (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-12)  # as in the paper
        start = time.perf_counter()
        if job["method"] == "egp":
            mean, std = _euclidean(X, y, seen, "median" if job["model"] == PAPER else None, anchors)
        else:
            s = min(1500, len(y) // 2)
            setting = Setting(s=s, r=3, M=min(500, s // 3), seed=anchors)
            model = regressor(job["method"], job["model"], setting).fit(X, np.where(seen, y, np.nan))
            mean, std = model.predict(X[~seen], return_std=True)
        seconds = time.perf_counter() - start
        return {**asdict(score_predictions(y[~seen], mean, std, int(seen.sum()))), "seconds": seconds}

    def tables(self, rows: Sequence[Row], options: Options) -> list[Table]:
        """One table per ratio, with the published numbers; of maps given, also by subject and group."""
        subjects = sorted({str(row["subject"]) for row in rows})
        source = (
            f"{len(subjects)} map(s) given: " + ", ".join(subjects[:5]) + (" …" if len(subjects) > 5 else "")
            if options.maps
            else "the motor map bundled with nilearn"
        )
        three = ("published", "paper's model", "ours")
        columns = ("method", *(f"{what} {who}" for what in ("MSE", "NLL") for who in three), "95 % cover")
        columns = (*columns, *(f"s {who}" for who in three))
        note = (
            f"Data: {source}. Published: the paper's 134 HCP subjects, so other maps. mean(sd) "
            "over subjects and repeats; squared errors in the top and bottom 1 % left out of MSE and NLL. "
            "Coverage is of our model where there is one. EGP, paper: the length scale of a rule of thumb; "
            f"ours: tuned by evidence; both learn from {_PILOT} labels and predict from all. "
        )
        note += (
            "The region was given independently of the maps."
            if options.region
            else "The region is chosen by the response itself, held-out voxels included."
        )
        tables = []
        for ratio in sorted({row["ratio"] for row in rows}):
            lines = [self._line(rows, ratio, method) for method in self.methods]
            title = f"Brain maps, labelled ratio {ratio:g}"
            filled = [line for line in lines if line is not None]
            tables.append(Table(f"brain-{round(100 * ratio)}", title, columns, filled, note))
        if options.maps:
            tables += [subject_table(rows), group_table(rows)]
        return tables

    def _line(self, rows: Sequence[Row], ratio: float, method: str) -> tuple[str, ...] | None:
        here = [row for row in rows if (row["ratio"], row["method"]) == (ratio, method)]
        if not here:
            return None
        mse, nll, seconds = BRAIN.get(method, {}).get(ratio, (None, None, None))
        covered = summarize(here, "coverage", model=OURS) or summarize(here, "coverage", model=PAPER)
        return (
            *(LABELS[method], number(mse, 3), *cells(here, "trimmed_mse", 3)),
            *(number(nll, 3), *cells(here, "trimmed_nll", 3), cell(covered, 1, 100.0)),
            *(number(seconds, 1), *cells(here, "seconds", 1)),
        )

    def figures(self, rows: Sequence[Row], options: Options) -> Iterator[tuple[str, Any]]:
        from .draw import brain as draw

        yield "brain-errors", draw.errors_by_ratio(rows)


def _euclidean(X: Array, y: Array, seen: BoolArray, length_scale: Any, seed: int) -> tuple[Array, Array]:
    """Mean and standard deviation of a dense Euclidean GP at the unseen rows."""
    from sklearn.gaussian_process import GaussianProcessRegressor

    rows = np.flatnonzero(seen)
    pilot = np.random.default_rng(seed).permutation(rows)[:_PILOT]
    learned = EGPRegressor(length_scale=length_scale, n_restarts=0, random_state=seed).fit(X[pilot], y[pilot])
    model = GaussianProcessRegressor(learned.model_.kernel_, optimizer=None, normalize_y=True)
    model.fit(X[rows], y[rows])
    return map_rows(X[~seen], partial(model.predict, return_std=True), block_rows=4096)


EXPERIMENT = Brain()
