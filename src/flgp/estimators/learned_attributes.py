"""What a fit leaves in the estimator: its learned attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._threads import blas_for
from .._typing import Array
from ..process.evidence import KnownValues
from ..process.learning import LearnedModel
from ..rows.sample import Sample
from ..rows.sources import in_memory
from ..terms import AMPLITUDE, TIME, Manifold
from ..terms.local.term import LENGTH_SCALE, VARIANCE
from .composition import Composition
from .labels import Labels

if TYPE_CHECKING:
    from ._latent import LatentModel

# Rows over which the terms' shares are measured.
SHARE_ROWS = 2_000
# Coordinates of labelled points that a model keeps for `update`, about 400 MB.
_KEPT_NUMBERS = 50_000_000
# Attributes that a new posterior does not always set, or that it leaves out of date.
DATED = ("transduction_", "transduction_proba_", "chains_", "hyperparameter_posterior_", "_evidence_")


def keep_composition(model: LatentModel, composition: Composition) -> None:
    """Which terms there are."""
    model._linear_ = composition.linear
    model._local_kind_, model._local_scale_ = composition.local_kind, composition.local_scale
    model.__dict__.pop("feature_relevance_", None)
    if composition.relevance is not None:
        model.feature_relevance_ = composition.relevance


def keep_learned(model: LatentModel, learned: LearnedModel, labels: Labels) -> None:
    """Hyperparameters and what the search says about them, one entry for each latent function."""
    manifold = learned.terms.find(Manifold)
    if manifold is not None:
        model.kernel_ = manifold[0].kernel
    functions = learned.functions
    model._known_ = [
        KnownValues(f.best.values, f.best.likelihood, f.evidence.local, learned.least_squares)
        for f in functions
    ]
    values = [function.best.values for function in functions]
    model.diffusion_time_ = scalar_or_array([each.get(TIME, np.nan) for each in values])
    model.amplitude_ = scalar_or_array([each.get(AMPLITUDE, 0.0) for each in values])
    model.residual_length_scale_ = scalar_or_array([each.get(LENGTH_SCALE, np.nan) for each in values])
    model.residual_variance_ = scalar_or_array([each.get(VARIANCE, 0.0) for each in values])
    local = [function.evidence.local for function in functions]
    model.residual_kernel_ = single_or_list([None if each is None else each.kernel for each in local])
    model.bandwidth_trace_ = learned.bandwidth_trace
    model.log_marginal_likelihood_value_ = learned.log_evidence
    model.optimizer_result_ = single_or_list([function.best.report for function in functions])
    model._labels_ = labels if labels.points.size <= _KEPT_NUMBERS else None


def term_shares(model: LatentModel, sample: Sample | None) -> dict[str, float]:
    """The share of each term in the variance of f over a sample of the fitted points.

    Over the labelled ones where the rows are not at hand, or would have to be read once more.
    """
    process = model._process_
    if sample is None or not in_memory(sample.X):
        X = model._labels_.points[:SHARE_ROWS] if model._labels_ is not None else model._examples_
    else:
        X = sample.first(SHARE_ROWS)
    total = np.zeros(len(process.names))
    with blas_for(len(model.eigenvalues_)):
        views = process.at(model._inputs(np.asarray(X, dtype=np.float64)))
        for parts in process.variations(views):  # a constant does not vary
            total[1 : 1 + len(parts)] += parts / max(float(parts.sum()), 1e-300)
    shares = total / max(float(total.sum()), 1e-300)
    return dict(zip(process.names, shares.tolist(), strict=True))


def scalar_or_array(values: Sequence[float]) -> float | Array:
    """A number for one function, an array (k,) for several."""
    return float(values[0]) if len(values) == 1 else np.array(values)


def single_or_list(values: list[Any]) -> Any:
    """What one function has, or the list of several."""
    return values[0] if len(values) == 1 else values
