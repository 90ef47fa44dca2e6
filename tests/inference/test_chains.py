"""Running chains, their warnings, their export, and mixtures over hyperparameters."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from flgp.inference import chains as chains_module
from flgp.inference.chains import make_sampler, run_chains
from flgp.inference.gibbs import gibbs_sampler
from flgp.inference.sampler import Sampler, State, WeightDensity
from flgp.inference.slice_sampling import slice_sampler
from flgp.likelihoods import Bernoulli, Categorical, Observations, Poisson, StudentT
from flgp.process.draws_field import mixed_draws

quietly = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def normal_sampler(m=3, shape=(2,), spread=0.0):
    """Independent normal draws, about a centre that is each chain's own if `spread` > 0."""

    def init(rng):
        centre = spread * rng.standard_normal()
        return State(np.full(shape, centre), np.full((m, *shape[1:]), centre), centre)

    def step(rng, state):
        if spread:
            return state
        weights, latent = rng.standard_normal(shape), rng.standard_normal((m, *shape[1:]))
        return State(weights, latent, rng.standard_normal())

    return Sampler(init, step)


def logistic_sampler():
    design = np.random.default_rng(0).standard_normal((8, 2))
    return gibbs_sampler(WeightDensity(design, Observations.of(np.arange(8) % 2), Bernoulli()))


def test_shapes_and_summaries():
    chains = run_chains(normal_sampler(m=120, shape=(4, 3)), seed=0, n_chains=3, n_draws=400)
    assert chains.draws.shape == (3, 400, 4, 3)
    assert chains.merged.shape == (1200, 4, 3)
    np.testing.assert_array_equal(chains.merged[400], chains.draws[1, 0])
    assert chains.log_density.shape == (3, 400)
    # 50 of the 120 rows, the first and the last among them; three latent functions each; the density.
    assert len(chains.rows) == 50
    assert chains.rows[0] == 0
    assert chains.rows[-1] == 119
    assert chains.rhat.shape == chains.ess_bulk.shape == chains.ess_tail.shape == (151,)
    assert chains.max_rhat < 1.05
    assert chains.min_ess == min(chains.ess_bulk.min(), chains.ess_tail.min()) > 600


@quietly
def test_a_seed_fixes_the_chains_whatever_their_number():
    run = {"n_draws": 20, "n_warmup": 5}
    two = run_chains(logistic_sampler(), seed=3, n_chains=2, **run)
    four = run_chains(logistic_sampler(), seed=3, n_chains=4, **run)
    np.testing.assert_array_equal(two.draws, four.draws[:2])
    assert not np.allclose(four.draws[0], four.draws[1])
    other = run_chains(logistic_sampler(), seed=4, n_chains=2, **run)
    assert not np.allclose(two.draws, other.draws)


@quietly
def test_warm_up_is_thrown_away():
    every = run_chains(logistic_sampler(), seed=5, n_chains=1, n_draws=30, n_warmup=0).draws
    some = run_chains(logistic_sampler(), seed=5, n_chains=1, n_draws=24, n_warmup=6).draws
    np.testing.assert_array_equal(some, every[:, 6:])


def test_non_convergence_warns_with_rhat_and_keeps_the_draws():
    # Each chain stands still at its own start.
    with pytest.warns(ConvergenceWarning, match=r"R-hat is inf for the latent value at labelled row 0"):
        chains = run_chains(normal_sampler(spread=1.0), seed=6, n_draws=50)
    assert chains.draws.shape == (4, 50, 2)
    assert chains.max_rhat == np.inf


def test_slow_chains_warn_with_a_number():
    # A random walk with small steps from dispersed starts.
    walk = Sampler(
        lambda rng: State(rng.standard_normal(1), np.zeros(1), 0.0),
        lambda rng, s: State(s.weights, s.latent, s.log_density + rng.standard_normal()),
    )
    with pytest.warns(ConvergenceWarning, match=r"R-hat is [1-9]\.\d+ for the log density \(limit 1.05\)"):
        run_chains(walk, seed=7, n_draws=200)


@pytest.mark.parametrize(
    ("likelihood", "kinds"),
    [
        (Bernoulli(), ["slice_sampler", "gibbs_sampler"]),
        (Categorical(2), ["gibbs_sampler"]),
        (Bernoulli(link="probit"), ["slice_sampler"]),
        (Poisson(), ["slice_sampler"]),
    ],
)
def test_sampler_that_suits_the_likelihood(monkeypatch, likelihood, kinds):
    made = []
    for name in ("slice_sampler", "gibbs_sampler"):
        real = getattr(chains_module, name)
        monkeypatch.setattr(
            chains_module, name, lambda *given, name=name, real=real: made.append(name) or real(*given)
        )
    target = WeightDensity(np.ones((3, 1)), Observations.of(np.array([0, 1, 1])), likelihood)
    sampler, rng = make_sampler(target), np.random.default_rng(8)
    state = sampler.step(rng, sampler.init(rng))
    assert made == kinds
    np.testing.assert_allclose(state.latent, target.design @ state.weights)


def test_separable_labels_with_a_wide_prior_converge():
    # The Gibbs sampler alone would need some 20 times as many sweeps; warnings are errors here.
    x = np.linspace(0, 1, 30)
    covariance = 30.0**2 * np.exp(-((x[:, None] - x) ** 2) / 0.02) + 1e-6 * np.eye(30)
    target = WeightDensity(np.linalg.cholesky(covariance), Observations.of(np.sin(12 * x) > 0), Bernoulli())
    chains = run_chains(make_sampler(target), seed=16, n_draws=300, n_warmup=100)
    assert chains.min_ess > 100


def test_gibbs_and_slices_agree():
    rng = np.random.default_rng(9)
    design, offset = rng.standard_normal((8, 2)), 0.5
    obs = Observations.of(np.arange(8) % 2, weight=rng.uniform(0.5, 2, 8))
    target = WeightDensity(design, obs, Bernoulli(), offset)
    gibbs = run_chains(gibbs_sampler(target), seed=10, n_draws=500, n_warmup=50)
    slices = run_chains(slice_sampler(target), seed=11, n_draws=1500)
    sd = gibbs.merged.std(axis=0)
    error = sd * np.sqrt(1 / gibbs.min_ess + 1 / slices.min_ess)
    assert np.all(np.abs(gibbs.merged.mean(axis=0) - slices.merged.mean(axis=0)) < 4 * error)
    assert np.all(np.abs(gibbs.merged.std(axis=0) - slices.merged.std(axis=0)) < 4 * error)


@pytest.mark.parametrize("likelihood", [Poisson(), StudentT(scale=0.3)], ids=["poisson", "student_t"])
def test_many_weights_mix_on_the_ellipses_of_an_approximation(likelihood):
    rng = np.random.default_rng(12)
    m, q = 100, 30
    design, offset = rng.standard_normal((m, q)) / np.sqrt(q), rng.standard_normal(m)
    f = design @ rng.standard_normal(q) + offset
    y = rng.poisson(np.exp(f)) if isinstance(likelihood, Poisson) else f + 0.3 * rng.standard_t(4, m)
    sampler = make_sampler(WeightDensity(design, Observations.of(y), likelihood, offset))
    chains = run_chains(sampler, seed=13, n_draws=250, n_warmup=50)  # warnings are errors here
    assert np.median(chains.ess_bulk) > 300
    # f given y covers the truth as its own draws say.
    low, high = np.quantile(chains.merged @ design.T + offset, [0.05, 0.95], axis=0)
    assert 0.8 < np.mean((low < f) & (f < high)) <= 1.0


def test_arviz_export_speaks_both_dialects(monkeypatch):
    chains = run_chains(normal_sampler(shape=(2, 3)), seed=12, n_draws=200)

    def before_one(posterior=None, *, sample_stats=None, coords=None, dims=None):
        return {"posterior": posterior, "sample_stats": sample_stats}, coords, dims

    def from_one_on(data, *, coords=None, dims=None):
        return data, coords, dims

    for from_dict in (before_one, from_one_on):
        monkeypatch.setitem(sys.modules, "arviz", SimpleNamespace(from_dict=from_dict))
        groups, coords, dims = chains.to_arviz()
        assert groups["posterior"]["weights"] is chains.draws
        assert groups["posterior"]["latent"].shape == (4, 200, 3, 3)
        assert groups["sample_stats"]["lp"] is chains.log_density
        np.testing.assert_array_equal(coords["row"], [0, 1, 2])
        assert dims == {"weights": ["feature", "class"], "latent": ["row", "class"]}


def test_missing_arviz_is_named(monkeypatch):
    chains = run_chains(normal_sampler(), seed=13, n_draws=200)
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match="pip install arviz"):
        chains.to_arviz()


def test_a_mixture_takes_draws_in_proportion():
    sizes, weights = [200, 100, 40, 3], np.array([0.5, 0.0, 0.3, 0.2])
    parts = [np.column_stack([np.full(size, k), np.arange(size)]) for k, size in enumerate(sizes)]
    component, index = mixed_draws(parts, 7 * weights, 14).T
    counts = np.bincount(component, minlength=4)
    assert counts.sum() == 200
    assert np.all(np.abs(counts - 200 * weights) <= 1)
    assert counts[1] == 0
    for k, size in enumerate(sizes):
        taken = np.bincount(index[component == k], minlength=size)
        assert taken.max() - taken.min() <= 1


def test_a_mixture_is_unbiased_where_draws_are_few():
    weights, parts = np.array([0.6, 0.3, 0.1]), [np.full(2, k) for k in range(3)]
    taken = np.concatenate([mixed_draws(parts, weights, seed) for seed in range(4000)])
    np.testing.assert_allclose(np.bincount(taken) / len(taken), weights, atol=0.03)
