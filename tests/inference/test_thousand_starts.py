"""From wherever Newton's method or expectation propagation starts, on labels drawn from the model."""

from __future__ import annotations

import numpy as np
import pytest

from flgp.inference.expectation_propagation import ExpectationPropagation
from flgp.inference.laplace import _InWeights
from flgp.inference.newton import climb
from flgp.inference.posterior import Point
from flgp.inference.weighted import WeightedLikelihood
from flgp.likelihoods import (
    AsymmetricLaplace,
    Beta,
    HurdleNegativeBinomial,
    HurdlePoisson,
    Observations,
    Ordinal,
    Tweedie,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)

ORDINAL = Ordinal(levels=(0, 1, 2, 3), gaps=(1.5, 1.5))
SMOOTH = [
    ORDINAL,
    Beta(precision=10.0),
    Tweedie(dispersion=1.0),
    HurdlePoisson(zero_odds=0.5),
    HurdleNegativeBinomial(zero_odds=0.5, dispersion=0.5),
    ZeroInflatedPoisson(zero_odds=0.5),
    ZeroInflatedNegativeBinomial(zero_odds=0.5, dispersion=0.5),
]
COUNT = 1000


def simulated(likelihood, seed=0, m=80, n_features=12):
    """Smooth functions on an interval with a variance of 1, and labels of one of them."""
    rng = np.random.default_rng(seed)
    x, k = rng.uniform(0, 1, m), np.arange(n_features)
    features = np.sqrt(2) * np.cos(np.pi * k * x[:, None])
    d = np.exp(-0.05 * k**2)
    d /= d.sum()
    f = features @ (np.sqrt(d) * rng.normal(size=n_features))
    return features, d, Observations.of(likelihood.sample(f, rng))


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", SMOOTH, ids=lambda likelihood: likelihood.name)
def test_newton_ends_at_one_mode(likelihood):
    """The log posterior of labels that come from the model has one mode, log-concave or not."""
    features, d, obs = simulated(likelihood)
    A, rng = features * np.sqrt(d), np.random.default_rng(1)
    posterior = _InWeights(A, 0.0, WeightedLikelihood(likelihood, obs))
    best = posterior.objective(climb(posterior, np.zeros(len(d)), likelihood.log_concave))
    ends = [
        posterior.objective(climb(posterior, rng.normal(0.0, 3.0, len(d)), likelihood.log_concave))
        for _ in range(COUNT)
    ]
    np.testing.assert_allclose(ends, best, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "likelihood",
    [ORDINAL, AsymmetricLaplace(scale=0.3, quantile=0.7)],
    ids=lambda likelihood: likelihood.name,
)
def test_propagation_ends_at_one_evidence(likelihood):
    """Starts for the sites, of precisions and shifts up to ten times those that are found."""
    features, d, obs = simulated(likelihood, m=30)
    inference, rng = ExpectationPropagation(features, obs), np.random.default_rng(1)
    found = inference.evaluate(Point(d, likelihood))
    sizes = np.abs(found.state).mean(axis=1)
    for _ in range(COUNT):
        start = np.array([rng.gamma(0.5, 10 * sizes[0], 30), rng.normal(0.0, 10 * sizes[1], 30)])
        end = inference.evaluate(Point(d, likelihood, state=start)).log_evidence
        np.testing.assert_allclose(end, found.log_evidence, atol=1e-5)
