"""Many classes, few labels: hyperparameters that all classes share.

One class against the rest learns little about the kernel: most of its labels say "no", and a base rate
explains nearly all of them. So the shape of the prior (the diffusion time, and how the terms share the
variance) comes from the pooled evidence of one-hot labels. Its size, which least squares cannot know, is the
one that predicts left-out labels best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import log_softmax

from .._typing import Array
from ..inference.one_hot import OneHotInference
from ..likelihoods import Gaussian, Observations
from ..priors import HalfNormal
from ..terms import TIME, Constant, Terms
from .evidence import Evidence, HyperSpace, Target
from .search import Optimum, maximize, optimum_at, starting_points

# Standard deviations of the latent functions that are compared, smallest first.
_SIZES = np.geomspace(0.5, 32.0, 13)
# Every so many of them are looked at first.
_COARSE = 3


def pooled_optimum(
    targets: Sequence[Target], features: Array, terms: Terms, fixed: Mapping[str, float], rough: bool = False
) -> Optimum:
    """The best hyperparameters for one-hot labels, over all classes.

    Parameters
    ----------
    targets : sequence of Target
        "Is it class c?" for every class, of the same rows.
    features : array of shape (m, M)
    terms : Terms
    fixed : mapping
        Hyperparameters that are given; a given amplitude is on the scale of log odds, not of these labels.
    rough : bool
        Good enough to compare bases.
    """
    labels = np.column_stack([target.obs.y for target in targets])
    weight = targets[0].obs.weight
    centred = labels - np.average(labels, axis=0, weights=weight)
    obs = Observations.of(centred.ravel(), weight=np.repeat(weight, labels.shape[1]))
    constant = Constant(0.0, Gaussian().latent_scale(obs) ** 2)
    pooled = Target(targets[0].rows, obs, Gaussian(), constant)
    inference = OneHotInference(pooled.with_constant(features), centred, weight)
    given = {name: value for name, value in fixed.items() if name == TIME}
    evidence = Evidence(inference, terms, pooled, HyperSpace.of(pooled, terms, given))
    starts, alternatives = starting_points(evidence, None, None)
    return maximize(evidence, starts, alternatives, rough)


def sized_functions(evidences: Sequence[Evidence], shared: Optimum) -> list[Optimum]:
    """Every class at the shared hyperparameters, all variances times the factor that predicts best.

    `evidences` are those of the binary problems "is it class c?".
    """
    first = evidences[0]
    space, target = first.space, first.target
    total = sum(
        term.gap_variance(first.terms.variances(shared.values)[span])
        for term, span in zip(first.terms.parts, first.terms.spans(), strict=True)
    )
    prior = HalfNormal(3.0 * target.likelihood.latent_scale(target.obs))
    seen: dict[int, tuple[float, list[Optimum]]] = {}

    def look(k: int) -> None:
        if k in seen or not 0 <= k < len(_SIZES):
            return
        factor = _SIZES[k] ** 2 / total
        values = {name: v if name == TIME else v * factor for name, v in shared.values.items()}
        theta = space.inside(values)
        points = [optimum_at(evidence, theta, None) for evidence in evidences]
        seen[k] = left_out_score(points, evidences) + prior(2.0 * float(np.log(_SIZES[k])))[0], points

    # A coarse grid first, each size starting from the previous sites; then the neighbours of the best.
    for k in range(0, len(_SIZES), _COARSE):
        look(k)
    best, last = max(seen, key=lambda k: seen[k][0]), -1
    while best != last:
        last = best
        look(best - 1)
        look(best + 1)
        best = max(seen, key=lambda k: seen[k][0])
    points = seen[best][1]
    for point in points:
        point.report.message = "shared by all classes"
    return points


def left_out_score(points: Sequence[Optimum], evidences: Sequence[Evidence]) -> float:
    """Σ_i log P(class of i | all other labels), where exactly one class is right."""
    yes = np.column_stack([evidence.target.obs.y for evidence in evidences]) > 0.5
    left_out = [point.evaluation.log_left_out for point in points]
    log_p = np.column_stack([values for values in left_out if values is not None])  # of what was seen
    log_other = np.log(-np.expm1(np.minimum(log_p, -1e-12)))
    log_odds = np.where(yes, log_p - log_other, log_other - log_p)
    return float(evidences[0].target.obs.weight @ log_softmax(log_odds, axis=1)[yes])
