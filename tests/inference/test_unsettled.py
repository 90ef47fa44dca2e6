"""Expectation propagation that does not settle is no candidate, and never an answer."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import ring
from flgp import FLGPRegressor
from flgp.inference.expectation_propagation import ExpectationPropagation, Moments
from flgp.inference.laplace import _InWeights
from flgp.inference.posterior import Point
from flgp.inference.sites import make_solver
from flgp.likelihoods import AsymmetricLaplace, Observations, Poisson


def jumping(moments):
    """Sites that alternate between two values."""
    return np.where(moments.sites > 1.0, 0.01, 1e4)


def test_sites_that_run_away_have_no_evidence(monkeypatch):
    """The sites' precisions alternate between two values, in either kind of sweep."""
    rng = np.random.default_rng(0)
    inference = ExpectationPropagation(rng.standard_normal((6, 3)), Observations.of(rng.standard_normal(6)))

    assert np.isfinite(inference.evaluate(Point(np.ones(3), AsymmetricLaplace(scale=0.5))).log_evidence)
    monkeypatch.setattr(Moments, "targets", jumping)
    assert inference.evaluate(Point(np.ones(3), AsymmetricLaplace(scale=0.5))).log_evidence == -np.inf


def test_a_search_goes_on_beside_places_without_evidence():
    """Quantiles of ordinary labels: the first long step ends where nothing settles."""
    X, angle = ring(300, noise=0.0)
    rng = np.random.default_rng(0)
    truth = np.sin(3 * angle)
    y = truth + 0.1 * rng.standard_normal(300)
    y[np.arange(300) % 4 > 0] = np.nan
    model = FLGPRegressor(likelihood="asymmetric_laplace", random_state=0).fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - truth) ** 2)) < 0.1
    _, gradient = model.log_marginal_likelihood(eval_gradient=True)
    assert np.abs(gradient).max() < 2.0  # at the start of the search it is 45
    std = model.predict(X, return_std=True)[1]
    assert 0.08 < np.median(std) < 0.2


def test_what_settles_nowhere_is_refused_by_name(monkeypatch):
    X, angle = ring(40, noise=0.0)
    monkeypatch.setattr(Moments, "targets", jumping)
    model = FLGPRegressor(likelihood="poisson", inference="ep", residual=None, random_state=0)
    with pytest.raises(ValueError, match="does not settle for these labels"):
        model.fit(X, np.round(3 + np.sin(angle)))


@pytest.mark.parametrize("shape", [(30, 4), (6, 9)])
def test_the_posterior_mean_keeps_its_digits_under_precise_sites(shape):
    """Against least squares in extended precision: τ of 1e14 left rounding errors of the size of f."""
    rng = np.random.default_rng(1)
    features, d = rng.standard_normal(shape), rng.uniform(0.5, 2.0, shape[1])
    f = features @ rng.standard_normal(shape[1])
    tau = np.full(shape[0], 1e14)
    tau[0] = 0.0  # a site that says nothing but a shift
    nu = tau * f
    nu[0] = 1e-3
    solver = make_solver(features, d)
    _, posterior = solver.finish(solver.marginals(tau, nu), tau, nu)
    np.testing.assert_allclose((features @ posterior.mean)[1:], f[1:], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("count", [1e12, 1e15])
@pytest.mark.parametrize("variance", [1.0, 100.0])
def test_a_narrow_label_is_not_missed_by_the_quadrature(count, variance):
    """A zero-inflated count has the moments of a Poisson one, whose density is log-concave."""
    from flgp.likelihoods import ZeroInflatedPoisson

    obs = Observations.of(np.array([count]))
    at = np.array([np.log(count)]), np.array([variance])
    # Laplace: exact to 1/count.
    found = ZeroInflatedPoisson(0.01).tilted(obs, *at)
    assert abs(found.gradient[0]) < 1e-5
    np.testing.assert_allclose(found.curvature, 1.0 / (variance + 1.0 / count), rtol=1e-6)
    np.testing.assert_allclose(Poisson().tilted(obs, *at).curvature, found.curvature, rtol=1e-6)


def counted(monkeypatch, owner, name):
    """A list that grows with every call of a method."""
    calls, method = [], getattr(owner, name)

    def counting(self, *args, **kwargs):
        calls.append(name)
        return method(self, *args, **kwargs)

    monkeypatch.setattr(owner, name, counting)
    return calls


def test_sweeps_that_run_away_are_given_up_early(monkeypatch):
    """Then the sites begin at Laplace's approximation, one by one: large counts are as good as there."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((30, 4))
    obs = Observations.of(rng.poisson(np.exp(10.0 + features @ rng.standard_normal(4))).astype(float))
    expected = ExpectationPropagation(features, obs, 10.0).evaluate(Point(np.ones(4), Poisson()))
    sizes, honest = [], Moments.targets

    def runaway(self):
        sizes.append(len(self.mean))
        if len(self.mean) > 1:
            return 1e4 * (self.sites + 1.0)
        return honest(self)

    monkeypatch.setattr(Moments, "targets", runaway)
    found = ExpectationPropagation(features, obs, 10.0).evaluate(Point(np.ones(4), Poisson()))
    np.testing.assert_allclose(found.log_evidence, expected.log_evidence, rtol=1e-9)
    np.testing.assert_allclose(found.posterior.mean, expected.posterior.mean, rtol=1e-7)
    assert sizes.count(30) <= 11  # of all rows at once
    assert sizes.count(1) <= 3 * 30


def test_a_large_offset_of_the_labels_takes_no_steps(monkeypatch):
    """With 1e7 added, rounding of y - f hid what a step gained: each mode took 200 steps, in vain."""
    X, angle = ring(60, noise=0.0)
    y = np.sin(angle) + 0.1 * np.random.default_rng(0).standard_normal(60)
    steps, means = [], []
    for offset in (0.0, 1e7):
        calls = counted(monkeypatch, _InWeights, "objective")
        model = FLGPRegressor(likelihood="student_t", residual=None, random_state=0).fit(X, y + offset)
        steps.append(len(calls))
        means.append(model.predict(X) - offset)
        monkeypatch.undo()
    assert steps[1] < 2 * steps[0]
    np.testing.assert_allclose(means[1], means[0], atol=1e-5)


def test_sweeps_end_where_only_rounding_moves_the_sites(monkeypatch):
    """Counts of 1e7 that f cannot reach: sites were moved to and fro by 1e-4 in 100 and then 60 sweeps."""
    from flgp.likelihoods import ZeroInflatedPoisson

    obs = Observations.of(np.array([21920298.0, 12507954.0, 6746458.0, 6670836.0]))
    features = np.random.default_rng(0).standard_normal((4, 4, 2))[3]
    calls = counted(monkeypatch, ZeroInflatedPoisson, "tilted")
    found = ExpectationPropagation(features, obs).evaluate(Point(np.full(2, 1e3), ZeroInflatedPoisson(0.1)))
    assert np.isfinite(found.log_evidence)
    assert len(calls) < 60
