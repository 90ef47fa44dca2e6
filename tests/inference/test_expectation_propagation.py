"""EP where it is hard: separable labels under wide priors, near duplicates, both forms of the algebra."""

from dataclasses import replace

import numpy as np
import pytest

from flgp.inference import expectation_propagation
from flgp.inference.expectation_propagation import ExpectationPropagation
from flgp.inference.posterior import Point
from flgp.inference.sites import DualSolver, PrimalSolver
from flgp.likelihoods import Bernoulli, NegativeBinomial, Observations, Poisson


def test_separable_labels_under_a_very_wide_prior():
    """The evidence is the share of directions that separate the labels: five in ten million."""
    rng = np.random.default_rng(7)
    features = rng.normal(size=(16, 7))
    obs = Observations.of((features[:, 0] > 0).astype(float))
    result = ExpectationPropagation(features, obs).evaluate(Point(np.full(7, 4947.0), Bernoulli()))
    assert result.log_evidence == pytest.approx(-14.5, abs=0.5)


@pytest.mark.parametrize("m", [12, 40])
def test_one_by_one_ends_where_all_at_once_does(m, monkeypatch):
    rng = np.random.default_rng(3)
    features = rng.normal(size=(m, 20))
    d = np.exp(-np.linspace(0, 3, 20))
    obs = Observations.of(rng.poisson(np.exp(features @ (np.sqrt(d) * rng.normal(size=20)))))
    inference = ExpectationPropagation(features, obs, 0.3)
    together = inference.evaluate(Point(d, Poisson()))
    monkeypatch.setattr(expectation_propagation, "_PARALLEL_SWEEPS", 0)
    apart = inference.evaluate(Point(d, Poisson()))
    assert apart.log_evidence == pytest.approx(together.log_evidence, abs=1e-7)
    np.testing.assert_allclose(apart.posterior.mean, together.posterior.mean, atol=1e-6)
    np.testing.assert_allclose(apart.gradient_log_d, together.gradient_log_d, atol=1e-6)


def test_near_duplicates_settle_in_few_sweeps(monkeypatch):
    """Fifteen labels on one spot all correct the same error at once."""
    monkeypatch.setattr(expectation_propagation, "_PARALLEL_SWEEPS", 60)
    monkeypatch.setattr(ExpectationPropagation, "_sequential", None)
    for amplitude in (1.0, 1e2, 1e4):
        rng = np.random.default_rng(0)
        features = np.repeat(rng.normal(size=(10, 20)), 15, axis=0) + 1e-2 * rng.normal(size=(150, 20))
        obs = Observations.of((features[:, 0] > 0).astype(float))
        result = ExpectationPropagation(features, obs).evaluate(Point(np.full(20, amplitude), Bernoulli()))
        assert result.log_evidence < 0


def test_one_of_many_points_costs_less_and_is_as_good(monkeypatch, rng):
    features, d = rng.normal(size=(40, 20)), np.exp(-np.linspace(0, 3, 20))
    obs = Observations.of(rng.poisson(np.exp(features @ (np.sqrt(d) * rng.normal(size=20)))))
    inference, at = ExpectationPropagation(features, obs), Point(d, NegativeBinomial(dispersion=0.5))
    sweeps, moments = [], ExpectationPropagation._moments
    monkeypatch.setattr(ExpectationPropagation, "_moments", lambda *a: (sweeps.append(1), moments(*a))[1])
    fine = inference.evaluate(at)
    count = len(sweeps)
    monkeypatch.setattr("flgp.likelihoods._base.Likelihood.tilted_parameter_gradient", None)
    quick = inference.evaluate(replace(at, one_of_many=True))
    assert len(sweeps) - count < count
    assert quick.log_evidence == pytest.approx(fine.log_evidence, abs=1e-6)
    sd = np.linalg.norm(features @ fine.posterior.factor, axis=1)
    assert np.abs(features @ (quick.posterior.mean - fine.posterior.mean) / sd).max() < 3e-4


def test_both_forms_give_the_same_marginals():
    rng = np.random.default_rng(1)
    features, d = rng.normal(size=(15, 15)), rng.uniform(0.1, 3.0, 15)
    tau, nu = rng.uniform(0, 2, 15), rng.normal(size=15)
    primal, dual = PrimalSolver(features, d), DualSolver(features, d)
    one, other = primal.marginals(tau, nu), dual.marginals(tau, nu)
    np.testing.assert_allclose(one.mean, other.mean)
    np.testing.assert_allclose(one.variance, other.variance)
    assert one.log_det == pytest.approx(other.log_det)
    (gradient, posterior), (same_gradient, same_posterior) = (
        solver.finish(marginals, tau, nu) for solver, marginals in ((primal, one), (dual, other))
    )
    np.testing.assert_allclose(gradient, same_gradient)
    np.testing.assert_allclose(posterior.mean, same_posterior.mean)
    covariance, same = (part.factor @ part.factor.T for part in (posterior, same_posterior))
    np.testing.assert_allclose(covariance, same, atol=1e-10)
