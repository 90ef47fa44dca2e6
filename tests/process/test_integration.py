"""The quadrature over hyperparameters, against exact integrals and dense grids."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import OptimizeResult
from scipy.special import logsumexp

from flgp.inference.gaussian import GaussianInference
from flgp.inference.posterior import Evaluation
from flgp.kernels import Heat
from flgp.likelihoods import Gaussian, Observations
from flgp.priors import Flat, HalfNormal, InverseGamma
from flgp.process.evidence import Evidence, HyperSpace, Target
from flgp.process.hyper_posterior import HyperparameterPosterior
from flgp.process.integration import integrate
from flgp.process.search import Optimum, maximize
from flgp.terms import Manifold, Terms


class KnownPosterior:
    """An evidence whose log posterior is a given function of theta."""

    def __init__(self, function, k, bound=20.0):
        names = tuple("abc"[:k])
        bounds = {name: (np.exp(-bound), np.exp(bound)) for name in names}
        self.space = HyperSpace(names, {}, bounds, {name: Flat() for name in names})
        self.function = function

    def evaluate(self, theta, one_of_many=False):
        value = self.function(theta)
        gradient = np.array(
            [(self.function(theta + h) - self.function(theta - h)) / 2e-5 for h in 1e-5 * np.eye(len(theta))]
        )
        return Evaluation(value, np.empty(0), np.empty(0), None), gradient

    def log_posterior(self, theta, rough=False):
        evaluation, gradient = self.evaluate(theta)
        return evaluation.log_evidence, gradient

    def likelihood_at(self, values):
        return None

    def mode(self, theta):
        theta = np.asarray(theta, float)
        result = self.evaluate(theta)[0]
        return Optimum(theta, self.space.values(theta), result, None, result.log_evidence, OptimizeResult())


def test_a_gaussian_posterior_is_integrated_exactly():
    precision = np.array([[2.0, 0.8], [0.8, 1.0]])
    center = np.array([1.0, -2.0])
    evidence = KnownPosterior(lambda x: 3.0 - 0.5 * (x - center) @ precision @ (x - center), 2)
    result = integrate(evidence, evidence.mode(center))
    thetas = np.array([point.theta for point in result.points])
    mean = result.weights @ thetas
    np.testing.assert_allclose(mean, center, atol=1e-3)
    covariance = (thetas - mean).T @ (result.weights[:, None] * (thetas - mean))
    np.testing.assert_allclose(covariance, np.linalg.inv(precision), rtol=0.02, atol=0.02)
    exact = 3.0 + np.log(2 * np.pi) - 0.5 * np.log(np.linalg.det(precision))
    assert result.log_normalizer == pytest.approx(exact, abs=1e-2)


def test_a_bent_ridge_and_a_second_hill_are_followed():
    """Moments against a dense grid, where a Gaussian around the mode is far off."""

    def banana(x):
        return -0.5 * x[0] ** 2 / 4 - 0.5 * (x[1] - 0.15 * x[0] ** 2) ** 2 / 0.25

    evidence = KnownPosterior(banana, 2)
    result = integrate(evidence, evidence.mode([0.0, 0.0]))
    thetas = np.array([point.theta for point in result.points])
    # x0 ~ N(0, 4), x1 given x0 ~ N(0.15 x0², 1/4)
    assert result.weights @ thetas[:, 1] == pytest.approx(0.6, rel=0.15)
    assert result.weights @ thetas[:, 0] ** 2 == pytest.approx(4.0, rel=0.15)
    assert result.log_normalizer == pytest.approx(np.log(2 * np.pi * 2 * 0.5), abs=0.1)

    def hills(x):
        return float(np.logaddexp(-0.5 * (x[0] / 0.5) ** 2, -1.0 - 0.5 * ((x[0] - 9.0) / 0.5) ** 2))

    evidence = KnownPosterior(hills, 1)
    mode = replace(evidence.mode([0.0]), rivals=[np.array([8.9])])
    result = integrate(evidence, mode)
    far = np.array([point.theta[0] > 4.5 for point in result.points])
    assert result.weights @ far == pytest.approx(np.exp(-1) / (1 + np.exp(-1)), abs=0.03)


def test_a_skewed_posterior_keeps_its_mean_and_spread():
    """x = log of a gamma variable: log density a x - e^x."""
    evidence = KnownPosterior(lambda x: 2.0 * x[0] - np.exp(x[0]), 1)
    result = integrate(evidence, evidence.mode([np.log(2.0)]))
    x = np.array([point.theta[0] for point in result.points])
    grid = np.linspace(-12, 4, 20_001)
    density = np.exp(2 * grid - np.exp(grid))
    density /= density.sum()
    mean = density @ grid
    assert result.weights @ x == pytest.approx(mean, abs=0.12)
    spread = np.sqrt(result.weights @ (x - result.weights @ x) ** 2)
    assert spread == pytest.approx(np.sqrt(density @ (grid - mean) ** 2), rel=0.15)


def test_a_plateau_up_to_the_bound_stays_inside_it():
    evidence = KnownPosterior(lambda x: -0.5 * min(x[0], 0.0) ** 2, 1, bound=5.0)
    result = integrate(evidence, evidence.mode([4.0]))
    x = np.array([point.theta[0] for point in result.points])
    assert (np.abs(x) <= 5.0 + 1e-9).all()
    assert x.min() < 2.0


def test_a_mode_in_the_corner_and_nothing_to_integrate():
    evidence = KnownPosterior(lambda x: x[0] + x[1], 2, bound=2.0)
    result = integrate(evidence, evidence.mode([2.0, 2.0]))
    assert result.weights.sum() == pytest.approx(1.0)
    assert all((point.theta <= 2.0 + 1e-9).all() for point in result.points)
    nothing = KnownPosterior(lambda x: 0.0, 0)
    only = integrate(nothing, nothing.mode([]))
    assert len(only.points) == 1
    assert only.weights.tolist() == [1.0]


def test_predictions_match_a_dense_grid_over_three_hyperparameters():
    """Regression with 25 labels: mean and variance of f under the mixture, and the evidence."""
    rng = np.random.default_rng(2)
    M, m = 12, 25
    eigenvalues = np.linspace(0, 1, M) ** 2
    features = rng.normal(size=(m, M))
    f = features @ (np.exp(-2 * eigenvalues) * rng.normal(size=M))
    obs = Observations.of(f + 0.5 * rng.normal(size=m))
    bounds = {"diffusion_time": (0.1, 60.0), "amplitude": (1e-3, 1e3), "noise_variance": (1e-3, 1e2)}
    priors = {
        "diffusion_time": Flat(),
        "amplitude": HalfNormal(3.0),
        "noise_variance": InverseGamma(2.0, 0.5),
    }
    space = HyperSpace(tuple(bounds), {}, bounds, priors)
    manifold = Manifold(SimpleNamespace(eigenvalues=eigenvalues, time_unit=1.0), Heat())
    target = Target(np.arange(m), obs, Gaussian())
    evidence = Evidence(
        GaussianInference(features, obs.y, obs.noise_scale), Terms((manifold,)), target, space
    )
    starts = [np.log([t, 1.0, 0.3]) for t in (0.5, 2.0, 8.0)]
    result = integrate(evidence, maximize(evidence, starts))

    axes = [np.linspace(*np.log(bounds[name]), 20) for name in bounds]
    logs, means, seconds = [], [], []
    new = rng.normal(size=(6, M))
    for theta in product(*axes):
        theta = np.array(theta)
        evaluation, _ = evidence.evaluate(theta)
        logs.append(evaluation.log_evidence + space.log_prior(theta)[0])
        mean = new @ evaluation.posterior.mean
        means.append(mean)
        seconds.append(((new @ evaluation.posterior.factor) ** 2).sum(axis=1) + mean**2)
    total = logsumexp(logs)
    weights = np.exp(np.array(logs) - total)
    mean = weights @ np.array(means)
    sd = np.sqrt(weights @ np.array(seconds) - mean**2)
    parts = [point.evaluation.posterior for point in result.points]
    own = np.array([new @ part.mean for part in parts])
    own_second = np.array([((new @ part.factor) ** 2).sum(axis=1) for part in parts]) + own**2
    own_mean = result.weights @ own
    np.testing.assert_allclose(own_mean, mean, atol=0.1 * sd.min())
    np.testing.assert_allclose(np.sqrt(result.weights @ own_second - own_mean**2), sd, rtol=0.05)
    cell = np.sum([np.log(axis[1] - axis[0]) for axis in axes])
    assert result.log_normalizer == pytest.approx(total + cell, abs=0.15)


def test_table_and_quantiles():
    rng = np.random.default_rng(0)
    logs = rng.normal([1.0, -2.0], [0.3, 0.5], size=(4000, 2))
    posterior = HyperparameterPosterior(("a", "b"), np.exp(logs), np.full(4000, 1 / 4000))
    table = posterior.table()
    assert table["a"]["q50"] == pytest.approx(np.exp(1.0), rel=0.03)
    assert table["b"]["q95"] == pytest.approx(np.exp(-2 + 1.645 * 0.5), rel=0.05)
    assert table["a"]["mean"] == pytest.approx(np.exp(1 + 0.045), rel=0.03)
    np.testing.assert_allclose(posterior.sd, np.exp(logs).std(axis=0))


def test_plot_draws_an_axis_for_each():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    posterior = HyperparameterPosterior(("a", "b"), np.array([[1.0, 2.0], [2.0, 2.0]]), np.array([0.4, 0.6]))
    axes = posterior.plot()
    assert [ax.get_xlabel() for ax in axes] == ["a", "b"]
    assert posterior.plot(axes) is not None
    pyplot.close("all")
