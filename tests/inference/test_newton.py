"""Newton's method from zero, for many random and some extreme problems; overflow warnings are errors."""

import numpy as np
import pytest

from flgp.inference.laplace import LaplaceInference, _InWeights
from flgp.inference.newton import climb
from flgp.inference.posterior import Design
from flgp.inference.weighted import WeightedLikelihood
from flgp.likelihoods import (
    Bernoulli,
    Beta,
    Binomial,
    Exponential,
    Gamma,
    HurdleNegativeBinomial,
    HurdlePoisson,
    NegativeBinomial,
    Observations,
    Ordinal,
    Poisson,
    Tweedie,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)

LEVELS = Ordinal(levels=(0, 1, 2), gaps=(1.5,))
LOG_CONCAVE = [
    Bernoulli(),
    Bernoulli(link="probit"),
    Binomial(),
    Poisson(),
    NegativeBinomial(dispersion=0.3),
    Gamma(shape=3.0),
    Exponential(),
    LEVELS,
    Tweedie(dispersion=1.2),
    HurdlePoisson(zero_odds=0.5),
]
OTHERS = [
    Beta(precision=5.0),
    ZeroInflatedPoisson(zero_odds=0.5),
    ZeroInflatedNegativeBinomial(zero_odds=0.5, dispersion=0.5),
    HurdleNegativeBinomial(zero_odds=0.5, dispersion=0.5),
    HurdleNegativeBinomial(zero_odds=0.5, dispersion=3.0),
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
    elif likelihood.name == "ordinal":
        y = rng.choice(likelihood.levels, m)
    elif likelihood.name == "beta":
        y = np.clip(rng.beta(0.5, 0.5, m), 1e-6, 1 - 1e-6)
    elif "zero" in likelihood.name or "hurdle" in likelihood.name:
        y = rng.integers(0, 10 ** rng.integers(1, 4), m) * (rng.random(m) < 0.6)
    elif likelihood.discrete:
        y = rng.integers(0, 10 ** rng.integers(1, 7), m)
    else:
        y = 10.0 ** rng.uniform(-6, 6, m)
    return features, d, Observations.of(np.asarray(y, float), trials=trials)


def left_to_gain(likelihood, seed, start=None):
    """Twice what the log posterior could still gain by a Newton step where the climb ended, in nats."""
    features, d, obs = random_problem(likelihood, seed)
    inference = LaplaceInference(features, obs)
    design = Design.of(features, d)
    state = None if start is None else start.normal(0.0, 3.0, len(obs.y))
    _, v, f = inference._mode(design, likelihood, state)
    gradient = design.matrix.T @ likelihood.derivatives(obs, f).gradient - v
    curvature = likelihood.slope_and_expected_curvature(obs, f)[1]
    H = np.eye(len(v)) + (design.matrix.T * curvature) @ design.matrix
    return float(gradient @ np.linalg.solve(H, gradient))


def name_of(likelihood):
    return f"{likelihood.name}-{getattr(likelihood, 'link', '')}"


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", LOG_CONCAVE, ids=name_of)
def test_a_thousand_problems_converge_from_zero(likelihood):
    assert max(left_to_gain(likelihood, seed) for seed in range(1000)) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", [*OTHERS, LEVELS, HurdlePoisson(zero_odds=0.5)], ids=name_of)
def test_a_thousand_problems_converge_from_anywhere(likelihood):
    """Also where the density is not log-concave: a mode, if not always the same one."""
    start = np.random.default_rng(0)
    assert max(left_to_gain(likelihood, seed, start) for seed in range(1000)) < 1e-6


def test_steps_that_rounding_hides_are_not_searched_for():
    """Zero-inflated counts took dozens of evaluations of the objective for each of the last steps."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(40, 5))
    y = np.where(rng.random(40) < 0.3, 0.0, rng.poisson(np.exp(3 + features[:, 0])))
    target = WeightedLikelihood(ZeroInflatedPoisson(zero_odds=0.3), Observations.of(y))
    posterior = Counted(_InWeights(features, 3.0, target))
    x = climb(posterior, np.zeros(5), exact=False)
    assert posterior.evaluations < 40
    _, slope = posterior.step(x)
    assert 0.5 * slope < 1e-14


class Counted:
    """An objective that counts how often it is asked."""

    def __init__(self, posterior):
        self.step, self._objective, self.evaluations = posterior.step, posterior.objective, 0

    def objective(self, x):
        self.evaluations += 1
        return self._objective(x)
