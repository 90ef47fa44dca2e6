"""The Gibbs sampler against quadrature of the exact posterior, and itself (calibration)."""

import sys

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2

from flgp.inference.chains import run_chains
from flgp.inference.gibbs import augment, can_augment, gibbs_sampler
from flgp.inference.sampler import WeightDensity
from flgp.likelihoods import Bernoulli, Binomial, Categorical, NegativeBinomial, Observations, Poisson


def example(name, seed=0):
    """A likelihood and six rows with everything that it may know about them."""
    rng = np.random.default_rng(seed)
    weight = np.array([1.0, 1.0, 0.5, 2.0, 1.3, 1.0])
    if name == "bernoulli":
        return Bernoulli(), Observations.of(np.array([1, 0, 1, 1, 0, 1]), weight=weight)
    if name == "binomial":
        trials = np.array([1, 3, 7, 20, 30, 60])
        return Binomial(), Observations.of(rng.binomial(trials, 0.4), trials=trials, weight=weight)
    exposure = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 1.0])
    y = rng.negative_binomial(1.4, 1.4 / (1.4 + exposure))
    return NegativeBinomial(dispersion=1 / 1.4), Observations.of(y, exposure=exposure, weight=weight)


NAMES = ["bernoulli", "binomial", "negative_binomial"]
LIKELIHOODS = [*NAMES, "categorical"]  # that is four for Bonferroni


@pytest.mark.parametrize("name", NAMES)
def test_augmentation_is_the_likelihood_up_to_a_constant(name):
    # exp(κψ) ∫ exp(-ωψ²/2) PG(ω; b, 0) dω = exp(κψ) / (2^b cosh^b(ψ/2)) · 2^b, whatever f is.
    likelihood, obs = example(name)
    shape, kappa, shift = augment(likelihood, obs)

    def difference(f):
        psi = f + shift
        mixture = kappa * psi - shape * np.logaddexp(psi / 2, -psi / 2)
        return obs.weight * likelihood.log_density(obs, f) - mixture

    reference = difference(np.zeros(6))
    for f in (-3.0, 0.4, 5.0):
        np.testing.assert_allclose(difference(np.full(6, f)), reference, rtol=1e-9, atol=1e-9)


def grid_moments(likelihood, obs, design, offset, shape, size):
    """Mean and covariance of the raveled v by summing over a fine grid."""
    axis = np.linspace(-7, 7, size)
    dimension = int(np.prod(shape))
    points = np.stack(np.meshgrid(*[axis] * dimension), axis=-1).reshape(-1, dimension)
    log_p = np.array(
        [
            obs.weight @ likelihood.log_density(obs, design @ point.reshape(shape) + offset)
            - point @ point / 2
            for point in points
        ]
    )
    p = np.exp(log_p - logsumexp(log_p))
    mean = p @ points
    return mean, (points - mean).T @ ((points - mean) * p[:, None])


def assert_moments(chains, mean, covariance):
    flat = chains.merged.reshape(-1, len(mean))
    sd = np.sqrt(np.diag(covariance))
    error = sd / np.sqrt(chains.min_ess)
    assert np.all(np.abs(flat.mean(axis=0) - mean) < 4 * error)
    assert np.all(np.abs(np.cov(flat.T).reshape(covariance.shape) - covariance) < 8 * np.outer(error, sd))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("q", [1, 2])
def test_posterior_moments_equal_quadrature(name, q):
    likelihood, obs = example(name)
    rng = np.random.default_rng(3)
    design, offset = 1.2 * rng.standard_normal((6, q)), 0.3 * rng.standard_normal(6)
    exact = grid_moments(likelihood, obs, design, offset, (q,), 1401 if q == 1 else 101)
    sampler = gibbs_sampler(WeightDensity(design, obs, likelihood, offset))
    assert_moments(run_chains(sampler, seed=4, n_draws=1000, n_warmup=50), *exact)


def test_probit_posterior_moments_equal_quadrature():
    likelihood = Categorical(3)
    obs = Observations.of(np.array([0, 1, 2, 2, 0]))
    design, offset = np.array([[1.5], [-1.0], [0.5], [2.0], [1.0]]), np.array([0.5, 0.0, -0.5])
    exact = grid_moments(likelihood, obs, design, offset, (1, 3), 23)
    sampler = gibbs_sampler(WeightDensity(design, obs, likelihood, offset))
    chains = run_chains(sampler, seed=4, n_draws=3000, n_warmup=50)
    assert chains.draws.shape == (4, 3000, 1, 3)
    assert_moments(chains, *exact)


def test_the_state_describes_the_sweep():
    likelihood, obs = example("negative_binomial")
    design = np.random.default_rng(5).standard_normal((6, 3))
    sampler = gibbs_sampler(WeightDensity(design, obs, likelihood, 0.7))
    rng = np.random.default_rng(6)
    before = sampler.init(rng)
    kept = before.weights.copy()
    state = sampler.step(rng, before)
    np.testing.assert_array_equal(before.weights, kept)
    np.testing.assert_allclose(state.latent, design @ state.weights + 0.7)
    density = obs.weight @ likelihood.log_density(obs, state.latent) - state.weights @ state.weights / 2
    assert state.log_density == pytest.approx(density)


def simulate(name, f, rng):
    """Data from the model, by NumPy's own generators."""
    m = len(f)
    if name == "categorical":
        p = np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)
        return Categorical(3), Observations.of([rng.choice(3, p=row) for row in p])
    if name == "bernoulli":
        return Bernoulli(), Observations.of(rng.binomial(1, 1 / (1 + np.exp(-f))))
    if name == "binomial":
        trials = np.arange(m) % 6 + 1
        return Binomial(), Observations.of(rng.binomial(trials, 1 / (1 + np.exp(-f))), trials=trials)
    exposure, r = np.linspace(0.5, 3, m), 1.7
    y = rng.negative_binomial(r, r / (r + exposure * np.exp(f)))
    return NegativeBinomial(dispersion=1 / r), Observations.of(y, exposure=exposure)


def quantities(weights, latent, likelihood, obs):
    return np.r_[weights.ravel(), latent[0].ravel(), likelihood.log_density(obs, latent).sum()]


@pytest.mark.slow
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_simulation_based_calibration(name):
    # v ~ prior, y ~ p(y | v), draws ~ sampler: the rank of v's quantities among the draws is uniform. The
    # log-likelihood is one of them, since it sees errors that cancel in the others.
    n_draws, n_warmup, thin, n_bins = 23, 15, 3, 8
    shape, n_replicates = ((2, 3), 200) if name == "categorical" else ((3,), 400)
    rng = np.random.default_rng(7)
    design = 1.5 * rng.standard_normal((10, shape[0])) / np.sqrt(shape[0])
    ranks = []
    for _ in range(n_replicates):
        truth = rng.standard_normal(shape)
        f = design @ truth + 0.4
        likelihood, obs = simulate(name, f, rng)
        sampler = gibbs_sampler(WeightDensity(design, obs, likelihood, 0.4))
        true = quantities(truth, f, likelihood, obs)
        state, below = sampler.init(rng), np.zeros(len(true))
        for _ in range(n_warmup):
            state = sampler.step(rng, state)
        for _ in range(n_draws):
            for _ in range(thin):
                state = sampler.step(rng, state)
            below += quantities(state.weights, state.latent, likelihood, obs) < true
        ranks.append(below)
    bins = (np.array(ranks) * n_bins // (n_draws + 1)).astype(int)
    expected = n_replicates / n_bins
    statistic = [((np.bincount(b, minlength=n_bins) - expected) ** 2 / expected).sum() for b in bins.T]
    n_tests = bins.shape[1] * len(LIKELIHOODS)
    assert np.max(statistic) < chi2.isf(0.01 / n_tests, n_bins - 1)


def test_which_likelihoods_can_be_augmented():
    assert can_augment(Bernoulli())
    assert can_augment(NegativeBinomial())
    assert can_augment(Categorical(3))
    assert not can_augment(Bernoulli(link="probit"))
    assert not can_augment(Poisson())
    with pytest.raises(ValueError, match="no Pólya-Gamma form"):
        augment(Poisson(), Observations.of(np.ones(2)))
    with pytest.raises(ValueError, match="dispersion"):
        augment(NegativeBinomial(), Observations.of(np.ones(2)))


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "polyagamma", None)
    likelihood, obs = example("bernoulli")
    with pytest.raises(ImportError, match=r"pip install flgp\[mcmc\]"):
        gibbs_sampler(WeightDensity(np.ones((6, 1)), obs, likelihood))
