"""Elliptical slice sampling against closed forms and quadrature."""

from typing import ClassVar

import numpy as np
import pytest
from scipy.special import logsumexp

from flgp.inference.chains import run_chains
from flgp.inference.posterior import WeightPosterior
from flgp.inference.sampler import WeightDensity
from flgp.inference.slice_sampling import slice_sampler
from flgp.likelihoods import Likelihood, Observations, Poisson, StudentT


class Written(Likelihood):
    """What a user may write: nothing but a density."""

    name: ClassVar[str] = "written"

    def __init__(self, density):
        self.density = density

    def log_density(self, obs, f):
        return self.density(obs, f)

    def conditional_mean(self, f):
        return f

    def conditional_variance(self, f):
        return np.ones_like(f)


def grid(likelihood, obs, design, offset, width=6.0, size=81):
    """Weighted grid points of v for the exact posterior."""
    axis = np.linspace(-width, width, size)
    points = np.stack(np.meshgrid(*[axis] * design.shape[1]), axis=-1).reshape(-1, design.shape[1])
    log_p = np.array(
        [
            obs.weight @ likelihood.log_density(obs, design @ point + offset) - point @ point / 2
            for point in points
        ]
    )
    return points, np.exp(log_p - logsumexp(log_p))


def assert_moments(chains, points, p):
    flat = chains.merged.reshape(len(chains.merged), -1)
    mean = p @ points
    sd = np.sqrt(p @ (points - mean) ** 2)
    error = sd / np.sqrt(chains.min_ess)
    assert np.all(np.abs(flat.mean(axis=0) - mean) < 4 * error)
    assert np.all(np.abs(flat.var(axis=0) - sd**2) < 8 * error * sd)


# The third is wrong on purpose: off centre, correlated the wrong way, and too narrow.
APPROXIMATIONS = [
    None,
    WeightPosterior(np.array([0.5, 0.2]), 0.5 * np.eye(2)),
    WeightPosterior(np.array([-0.5, 1.0]), np.array([[0.4, 0.0], [0.3, 0.35]])),
]


@pytest.mark.parametrize("approximation", APPROXIMATIONS, ids=["prior", "good", "bad"])
def test_poisson_posterior_equals_quadrature(approximation):
    rng = np.random.default_rng(0)
    design, offset = 0.8 * rng.standard_normal((5, 2)), 0.3 * np.arange(5)
    obs = Observations.of(
        np.array([0, 2, 1, 5, 3]), exposure=np.array([1, 2, 0.5, 1, 1]), weight=np.array([1, 1, 2, 0.5, 1])
    )
    sampler = slice_sampler(WeightDensity(design, obs, Poisson(), offset), approximation)
    chains = run_chains(sampler, seed=1, n_draws=600, n_warmup=50)
    assert_moments(chains, *grid(Poisson(), obs, design, offset))


def test_heavy_tails_and_two_modes():
    # Two labels that contradict each other: the posterior of a Student-t is bimodal.
    likelihood = StudentT(scale=0.3, degrees_of_freedom=2.0)
    obs = Observations.of(np.array([-2.0, 2.0]))
    design = np.full((2, 1), 1.5)
    sampler = slice_sampler(WeightDensity(design, obs, likelihood))
    chains = run_chains(sampler, seed=2, n_draws=3000, n_warmup=100)
    assert_moments(chains, *grid(likelihood, obs, design, 0.0, size=1001))
    assert 0.3 < np.mean(chains.merged > 0) < 0.7


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_exact_approximation_gives_nearly_independent_draws():
    # A Gaussian likelihood with its own posterior: the first point on the ellipse is always accepted.
    rng = np.random.default_rng(4)
    m, q, noise = 30, 8, 0.2
    design = rng.standard_normal((m, q))
    y = design @ rng.standard_normal(q) + noise**0.5 * rng.standard_normal(m)
    likelihood = Written(lambda obs, f: -0.5 * (obs.y - f) ** 2 / noise - 0.5 * np.log(2 * np.pi * noise))
    covariance = np.linalg.inv(np.eye(q) + design.T @ design / noise)
    mean = covariance @ (design.T @ y / noise)
    approximation = WeightPosterior(mean, np.linalg.cholesky(covariance))
    obs = Observations.of(y)
    run, target = {"n_draws": 500, "n_warmup": 50}, WeightDensity(design, obs, likelihood)
    with_it = run_chains(slice_sampler(target, approximation), seed=5, **run)
    without = run_chains(slice_sampler(target), seed=5, **run)
    assert np.median(with_it.ess_bulk) > 1500 > 10 * np.median(without.ess_bulk)
    sd = np.sqrt(np.diag(covariance))
    error = sd / np.sqrt(with_it.min_ess)
    assert np.all(np.abs(with_it.merged.mean(axis=0) - mean) < 4 * error)
    assert np.all(np.abs(np.cov(with_it.merged.T) - covariance) < 8 * np.outer(error, sd))


def test_state_stays_consistent_over_many_moves():
    rng = np.random.default_rng(6)
    design, obs = rng.standard_normal((4, 3)), Observations.of(np.array([0, 1, 4, 2]))
    sampler = slice_sampler(
        WeightDensity(design, obs, Poisson(), 0.5), WeightPosterior(np.ones(3), np.eye(3))
    )
    state = sampler.init(rng)
    for _ in range(500):
        state = sampler.step(rng, state)
    np.testing.assert_allclose(state.latent, design @ state.weights + 0.5, atol=1e-10)
    density = Poisson().log_density(obs, state.latent).sum() - state.weights @ state.weights / 2
    assert state.log_density == pytest.approx(density, abs=1e-8)


def test_starts_where_the_prior_overflows():
    # exp(f) of this prior overflows almost everywhere; warnings are errors here.
    obs = Observations.of(np.array([3.0, 1.0]))
    sampler = slice_sampler(WeightDensity(np.array([[4000.0], [4000.0]]), obs, Poisson()))
    rng = np.random.default_rng(7)
    state = sampler.init(rng)
    for _ in range(200):
        state = sampler.step(rng, state)
    assert np.all(np.abs(state.latent) < 20)


def test_a_slice_that_holds_nothing_else_keeps_the_point():
    # Its own density is all there is: every other point is impossible.
    obs = Observations.of(np.zeros(1))
    sampler = slice_sampler(WeightDensity(np.ones((1, 1)), obs, Written(lambda obs, f: np.zeros(1))))
    rng = np.random.default_rng(8)
    start = sampler.init(rng)
    spike = Written(lambda obs, f: np.where(f == start.latent, 0.0, -np.inf))
    state = slice_sampler(WeightDensity(np.ones((1, 1)), obs, spike)).step(rng, start)
    assert state is start


def test_data_without_any_density_are_reported():
    nowhere = Written(lambda obs, f: f * np.nan)
    sampler = slice_sampler(WeightDensity(np.ones((1, 1)), Observations.of(np.zeros(1)), nowhere))
    with pytest.raises(ValueError, match="no finite density"):
        sampler.init(np.random.default_rng(9))
