"""Outputs that share their hyperparameters: one evidence to search, and what it says about each output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .._typing import Array
from ..inference.shared import SharedInference
from ..likelihoods import Gaussian, Heteroscedastic, StudentT
from ..terms import TIME, Terms
from ..terms.local.term import VARIANCE
from .evidence import NOISE, Evidence
from .search import Optimum


def share(evidences: Sequence[Evidence]) -> Evidence:
    """The sum of the evidences of several outputs, over hyperparameters in the units of the first."""
    first = evidences[0]
    inference = SharedInference([evidence.inference for evidence in evidences], unit_ratios(evidences))
    return Evidence(inference, first.terms, first.target, first.space, first.local)


def unit_ratios(evidences: Sequence[Evidence]) -> Array:
    """Squared sizes (C,) of the outputs relative to that of the first.

    1 where f has no unit, as the logarithm of a rate has none, or where a variance is given: it is meant as
    it stands.
    """
    first = evidences[0]
    in_units = isinstance(first.target.likelihood, Gaussian | Heteroscedastic | StudentT)
    if not in_units or set(first.space.fixed) - {TIME}:
        return np.ones(len(evidences))
    sizes = np.array([e.target.likelihood.latent_scale(e.target.obs) for e in evidences])
    return (sizes / sizes[0]) ** 2


def in_units(values: Mapping[str, float], terms: Terms, gain: float, noise: float) -> dict[str, float]:
    """Hyperparameters with variances of f times `gain`, and that of the noise times `noise`."""
    factors = dict.fromkeys((*terms.parameters, VARIANCE), gain) | {TIME: 1.0}
    factors |= {NOISE: noise, "scale": float(np.sqrt(noise))}
    return {name: value * factors.get(name, 1.0) for name, value in values.items()}


def split(shared: Evidence, evidences: Sequence[Evidence], found: Optimum) -> list[Optimum]:
    """What was found for all outputs, as an optimum of each of them in its own units."""
    inference = shared.inference
    assert isinstance(inference, SharedInference)
    result = []
    triples = zip(evidences, inference.ratios.tolist(), found.evaluation.outputs, strict=True)
    for evidence, ratio, evaluation in triples:
        theta = evidence.space.theta(in_units(found.values, shared.terms, ratio, ratio))
        result.append(Optimum.of(evidence, theta, evaluation, found.report))
    return result
