"""How sure predictions should be, as the labels themselves say: each is predicted from all others.

With few labels the evidence is content with a posterior that is too wide: it knows that the labels are
likely, not that they are easy. Expectation propagation's cavities predict every label from the others at no
cost; where these predictions are better when the mean of f counts more (or less), it does so everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._typing import Array
from ..likelihoods import Bernoulli, Categorical
from .learning import LearnedFunction

# Factors that are compared; what they are thought to be where no label tells, and how far from it, in
# logarithms.
_FACTORS = np.exp(np.linspace(-1.2, 2.4, 37))
_MEDIAN, _SPREAD = 1.5, 0.7


def best_sharpness(functions: Sequence[LearnedFunction]) -> float:
    """The factor of E f with which labels that are left out are predicted best; 1 if none is known."""
    if any(function.best.evaluation.left_out is None for function in functions):
        return 1.0
    scores = [
        sum(_left_out_score(function, factor) for function in functions)
        - 0.5 * (np.log(factor / _MEDIAN) / _SPREAD) ** 2
        for factor in _FACTORS.tolist()
    ]
    return float(_FACTORS[int(np.argmax(scores))])


def _left_out_score(function: LearnedFunction, factor: float) -> float:
    """Σ_i log p(y_i | all other labels), over labels that are not the only one of their class."""
    best, obs = function.best, function.target.obs
    left_out, likelihood = best.evaluation.left_out, best.likelihood
    assert left_out is not None
    mean, variance = factor * left_out.mean, left_out.variance
    if np.any(obs.offset):  # it is what it is: only what is added to it may be too sure
        mean = mean + (1.0 - factor) * obs.offset
    if isinstance(likelihood, Categorical):
        p: Array = likelihood.probabilities(mean, variance)[np.arange(len(mean)), obs.y.astype(int)]
    else:
        assert isinstance(likelihood, Bernoulli)
        yes = likelihood.predictive_mean(mean, variance)
        p = np.where(obs.y > 0.5, yes, 1.0 - yes)
    codes = obs.y.astype(int)
    counted = np.where(np.bincount(codes)[codes] > 1, obs.weight, 0.0)
    return float(counted @ np.log(np.maximum(p, 1e-300)))
