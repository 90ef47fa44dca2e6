"""Several outputs with the same hyperparameters: one evidence, the sum of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .._typing import Array
from ..likelihoods import AnyLikelihood, Gaussian, Heteroscedastic, StudentT
from .posterior import Evaluation, Inference, Point


@dataclass(frozen=True)
class SharedInference:
    """Independent posteriors of outputs in their own units, at hyperparameters in the units of the first.

    The variances of output k are `ratios[k]` times those of the first, so that shared hyperparameters do not
    depend on whether an output is in metres or in miles.
    """

    outputs: Sequence[Inference]
    ratios: Array  # (C,)
    points: Array = field(default_factory=lambda: np.empty((0, 0)))  # of the first, for a local term

    def evaluate(self, at: Point) -> Evaluation:
        """Evidence and derivatives, summed over the outputs; `at` is in the units of the first."""
        states = [None] * len(self.outputs) if at.state is None else list(at.state)
        parts = [
            inference.evaluate(replace(scaled(at, ratio), state=before))
            for inference, ratio, before in zip(self.outputs, self.ratios.tolist(), states, strict=True)
        ]
        ends = np.empty(len(parts), dtype=object)  # one for each output, of different sizes
        for i, part in enumerate(parts):
            ends[i] = part.state
        return Evaluation(
            float(sum(part.log_evidence for part in parts)),
            np.sum([part.gradient_log_d for part in parts], axis=0),
            np.sum([part.gradient_parameters for part in parts], axis=0),
            (),
            ends,
            gradient_local=np.sum([part.gradient_local for part in parts], axis=0),
            correction=float(sum(part.correction for part in parts)),
            outputs=tuple(parts),
        )


def scaled(at: Point, ratio: float) -> Point:
    """Hyperparameters for labels whose unit is √ratio times as large."""
    local = None if at.local is None else replace(at.local, variance=ratio * at.local.variance)
    return replace(at, d=ratio * at.d, likelihood=_scaled(at.likelihood, ratio), local=local)


def _scaled(likelihood: AnyLikelihood, ratio: float) -> AnyLikelihood:
    if isinstance(likelihood, Gaussian | Heteroscedastic) and likelihood.noise_variance is not None:
        return likelihood.with_parameters(noise_variance=ratio * likelihood.noise_variance)
    if isinstance(likelihood, StudentT) and likelihood.scale is not None:
        return likelihood.with_parameters(scale=np.sqrt(ratio) * likelihood.scale)
    return likelihood
