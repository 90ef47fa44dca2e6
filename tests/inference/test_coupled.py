"""Factorised expectation propagation for coupled classes."""

from __future__ import annotations

import numpy as np
import pytest

from flgp.inference.chains import run_chains
from flgp.inference.coupled import CoupledEP
from flgp.inference.gibbs import gibbs_sampler
from flgp.inference.posterior import Point
from flgp.inference.sampler import WeightDensity
from flgp.likelihoods import Categorical, Observations


def problem(m=24, M=9, C=3, seed=0, weight=None):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((m, M)) / np.sqrt(M)
    beta = 2.0 * rng.standard_normal((M, C))
    y = (features @ beta + rng.standard_normal((m, C))).argmax(axis=1)
    return features, Observations.of(y, weight=weight), np.exp(rng.normal(1.0, 0.3, M))


@pytest.mark.parametrize(("m", "M"), [(24, 9), (9, 24)], ids=["primal", "dual"])
def test_the_gradient_is_that_of_the_evidence(m, M):
    features, obs, d = problem(m, M)
    inference, likelihood = CoupledEP(features, obs, 3), Categorical(3)
    found, h = inference.evaluate(Point(d, likelihood)), 1e-4
    for i in range(0, M, 3):
        up, down = d.copy(), d.copy()
        up[i] *= np.exp(h)
        down[i] *= np.exp(-h)
        values = [inference.evaluate(Point(part, likelihood)).log_evidence for part in (up, down)]
        assert found.gradient_log_d[i] == pytest.approx((values[0] - values[1]) / (2 * h), abs=1e-4)


def test_the_evidence_is_that_of_importance_sampling():
    features, obs, d = problem(6, 4, seed=1)
    found = CoupledEP(features, obs, 3).evaluate(Point(d, Categorical(3)))
    rng = np.random.default_rng(0)
    draws = features @ (np.sqrt(d)[:, None] * rng.standard_normal((100_000, 4, 3)))
    draws = draws + rng.standard_normal(draws.shape)
    exact = np.log((draws.argmax(axis=2) == obs.y).all(axis=1).mean())
    assert found.log_evidence == pytest.approx(exact, abs=0.15)


def test_a_weight_counts_as_copies():
    features, obs, d = problem(10, 5)
    twice = np.repeat(np.arange(10), 2)
    copied = CoupledEP(features[twice], obs.take(twice), 3).evaluate(Point(d, Categorical(3)))
    weighted = CoupledEP(features, Observations.of(obs.y, weight=np.full(10, 2.0)), 3)
    found = weighted.evaluate(Point(d, Categorical(3)))
    assert found.log_evidence == pytest.approx(copied.log_evidence, abs=1e-4)
    for one, other in zip(found.posteriors, copied.posteriors, strict=True):
        np.testing.assert_allclose(one.mean, other.mean, atol=1e-4)


def test_probabilities_are_those_of_long_chains():
    features, obs, d = problem(40, 6, 4, seed=2)
    found, likelihood = CoupledEP(features, obs, 4).evaluate(Point(d, Categorical(4))), Categorical(4)
    new = np.random.default_rng(3).standard_normal((30, 6)) / np.sqrt(6)
    mean = np.stack([new @ part.mean for part in found.posteriors], axis=1)
    spread = [new @ part.factor for part in found.posteriors]
    p = likelihood.probabilities(mean, np.stack([(s**2).sum(axis=1) for s in spread], axis=1))
    chains = run_chains(
        gibbs_sampler(WeightDensity(features * np.sqrt(d), obs, likelihood)),
        seed=0,
        n_draws=2000,
        n_warmup=500,
    )
    f = np.einsum("bq,sqc->sbc", new * np.sqrt(d), chains.merged[::7])
    exact = np.mean([likelihood.conditional(part) for part in f], axis=0)
    assert np.abs(p - exact).mean() < 0.015
    assert np.abs(p - exact).max() < 0.08


def test_labels_that_are_left_out():
    features, obs, d = problem(20, 5, seed=4)
    likelihood = Categorical(3)
    found = CoupledEP(features, obs, 3).evaluate(Point(d, likelihood))
    for i in (0, 7, 19):
        rest = np.delete(np.arange(20), i)
        without = CoupledEP(features[rest], obs.take(rest), 3).evaluate(Point(d, likelihood))
        mean = np.array([[features[i] @ part.mean for part in without.posteriors]])
        variance = np.array([[((features[i] @ part.factor) ** 2).sum() for part in without.posteriors]])
        p = likelihood.probabilities(mean, variance)[0, int(obs.y[i])]
        assert found.left_out.log_density[i] == pytest.approx(np.log(p), abs=0.1)


def test_separable_labels_under_a_wide_prior_settle():
    features, obs, d = problem(30, 40, 5, seed=5)
    found = CoupledEP(features, obs, 5).evaluate(Point(1e6 * d, Categorical(5)))
    assert np.isfinite(found.log_evidence)
    assert np.isfinite(found.gradient_log_d).all()
