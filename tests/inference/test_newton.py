"""Newton's method from zero, for many random and some extreme problems; overflow warnings are errors."""

import numpy as np
import pytest

from flgp.inference.laplace import LaplaceInference
from flgp.inference.posterior import Design
from flgp.likelihoods import (
    Bernoulli,
    Binomial,
    Exponential,
    Gamma,
    NegativeBinomial,
    Observations,
    Poisson,
)

LOG_CONCAVE = [
    Bernoulli(),
    Bernoulli(link="probit"),
    Binomial(),
    Poisson(),
    NegativeBinomial(dispersion=0.3),
    Gamma(shape=3.0),
    Exponential(),
]


def random_problem(likelihood, seed):
    """Labels that need not come from the model: separable classes, counts up to 1e6, tiny positive values."""
    rng = np.random.default_rng(seed)
    m, M = rng.integers(1, 16, 2)
    features = rng.normal(size=(m, M))
    d = np.full(M, 10.0 ** rng.uniform(-3, 4) / M)
    trials = None
    if likelihood.name == "bernoulli":
        y = (features[:, 0] > 0) if seed % 2 else rng.random(m) < 0.5
    elif likelihood.name == "binomial":
        trials = rng.integers(1, 10 ** rng.integers(1, 6), m).astype(float)
        y = np.where(rng.random(m) < 0.5, trials, rng.binomial(trials.astype(int), 0.5))
    elif likelihood.discrete:
        y = rng.integers(0, 10 ** rng.integers(1, 7), m)
    else:
        y = 10.0 ** rng.uniform(-6, 6, m)
    return features, d, Observations.of(np.asarray(y, float), trials=trials)


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", LOG_CONCAVE, ids=lambda lik: f"{lik.name}-{getattr(lik, 'link', '')}")
def test_a_thousand_problems_converge_from_zero(likelihood):
    worst = 0.0
    for seed in range(1000):
        features, d, obs = random_problem(likelihood, seed)
        inference = LaplaceInference(features, obs)
        design = Design.of(features, d)
        _, v, f = inference._mode(design, likelihood, None)
        gradient = design.matrix.T @ likelihood.derivatives(obs, f).gradient - v
        curvature = likelihood.expected_curvature(obs, f)
        H = np.eye(len(v)) + (design.matrix.T * curvature) @ design.matrix
        worst = max(worst, float(gradient @ np.linalg.solve(H, gradient)))
    assert worst < 1e-6  # twice what the log posterior could still gain, in nats
