"""Several outputs with the same hyperparameters: one evidence, the sum of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from .._typing import Array
from ..likelihoods import AnyLikelihood, Gaussian, Heteroscedastic, StudentT
from ..terms.local.euclidean import LocalModel
from .posterior import Evaluation


class OneOutput(Protocol):
    """An approximation for one output."""

    def evaluate(
        self,
        d: Array,
        likelihood: AnyLikelihood,
        state: Array | None = None,
        rough: bool = False,
        local: LocalModel | None = None,
    ) -> Evaluation:
        """Evidence, derivatives, posterior."""
        ...


@dataclass(frozen=True)
class SharedInference:
    """Independent posteriors of outputs in their own units, at hyperparameters in the units of the first.

    The variances of output k are `ratios[k]` times those of the first, so that shared hyperparameters do not
    depend on whether an output is in metres or in miles. `posterior` of an evaluation lists the evaluations
    of the outputs.
    """

    outputs: Sequence[OneOutput]
    ratios: Array  # (C,)
    points: Array = field(default_factory=lambda: np.empty((0, 0)))  # of the first, for a local term

    def evaluate(
        self,
        d: Array,
        likelihood: AnyLikelihood,
        state: Array | None = None,
        rough: bool = False,
        local: LocalModel | None = None,
    ) -> Evaluation:
        """Evidence and derivatives, summed over the outputs, for prior variances d (M,) of the first."""
        states = [None] * len(self.outputs) if state is None else list(state)
        parts = [
            inference.evaluate(
                ratio * d, scaled_likelihood(likelihood, ratio), before, rough, scaled_local(local, ratio)
            )
            for inference, ratio, before in zip(self.outputs, self.ratios.tolist(), states, strict=True)
        ]
        ends = np.empty(len(parts), dtype=object)  # one for each output, of different sizes
        for i, part in enumerate(parts):
            ends[i] = part.state
        return Evaluation(
            float(sum(part.log_evidence for part in parts)),
            np.sum([part.gradient_log_d for part in parts], axis=0),
            np.sum([part.gradient_parameters for part in parts], axis=0),
            parts,
            ends,
            gradient_local=np.sum([part.gradient_local for part in parts], axis=0),
        )


def scaled_likelihood(likelihood: AnyLikelihood, ratio: float) -> AnyLikelihood:
    """The likelihood of labels whose unit is √ratio times as large."""
    if isinstance(likelihood, Gaussian | Heteroscedastic) and likelihood.noise_variance is not None:
        return likelihood.with_parameters(noise_variance=ratio * likelihood.noise_variance)
    if isinstance(likelihood, StudentT) and likelihood.scale is not None:
        return likelihood.with_parameters(scale=np.sqrt(ratio) * likelihood.scale)
    return likelihood


def scaled_local(local: LocalModel | None, ratio: float) -> LocalModel | None:
    """The local term in that unit."""
    return None if local is None else replace(local, variance=ratio * local.variance)
