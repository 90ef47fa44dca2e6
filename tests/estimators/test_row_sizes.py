"""Predictions for rows with exposures or trials of their own."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, poisson

from conftest import ring
from flgp import FLGPRegressor

SMALL = {"n_anchors": 60, "n_eigenpairs": 25, "residual": None, "random_state": 0, "n_jobs": 1}
CHAINS = {"inference": "gibbs", "n_chains": 2, "n_draws": 150, "n_warmup": 50}
NODE, SHARE = np.polynomial.hermite_e.hermegauss(60)
SHARE = SHARE / SHARE.sum()


@pytest.fixture(scope="module")
def data():
    X, angle = ring(300, noise=0.02)
    rng = np.random.default_rng(5)
    size = rng.integers(1, 30, 300).astype(float)
    hidden = np.arange(300) % 4 != 0
    events = rng.poisson(size * np.exp(np.sin(angle))).astype(float)
    hits = rng.binomial(size.astype(int), 0.5 + 0.4 * np.sin(angle)).astype(float)
    return X, size, {"poisson": events, "binomial": hits}, hidden


ARGUMENT = {"poisson": "exposure", "binomial": "trials"}


def fitted(data, likelihood, **options):
    X, size, targets, hidden = data
    y = np.where(hidden, np.nan, targets[likelihood])
    return FLGPRegressor(likelihood=likelihood, **SMALL, **options).fit(X, y, **{ARGUMENT[likelihood]: size})


def _conditional(likelihood, f, size):
    return poisson(size * np.exp(f)) if likelihood == "poisson" else binom(size, expit(f))


@pytest.mark.parametrize("likelihood", ["poisson", "binomial"])
def test_moments_and_intervals_are_those_of_the_latent_gaussian(data, likelihood):
    X, size, _, _ = data
    model = fitted(data, likelihood)
    own = {ARGUMENT[likelihood]: size}
    mean, std = model.predict(X, return_std=True, **own)
    m, v = model.latent_mean_and_variance(X)
    given = _conditional(likelihood, m + np.sqrt(v) * NODE[:, None], size)
    exact = SHARE @ given.mean()
    np.testing.assert_allclose(mean, exact, rtol=1e-6)
    np.testing.assert_allclose(model.predict(X, **own), exact, rtol=1e-6)
    variance = SHARE @ given.var() + SHARE @ (given.mean() - exact) ** 2
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-5)
    ends = model.predict_interval(X, 0.8, **own)
    for level, end in zip((0.1, 0.9), ends.T, strict=True):
        assert (SHARE @ given.cdf(end) >= level - 1e-9).all()
        assert (SHARE @ given.cdf(end - 1) < level + 1e-9).all()
    draws = model.sample_y(X, 4000, **own)
    np.testing.assert_allclose(draws.mean(axis=1), exact, atol=6 * std.max() / np.sqrt(4000))


@pytest.mark.parametrize("likelihood", ["poisson", "binomial"])
@pytest.mark.parametrize("posterior", [CHAINS, {"hyperparameters": "integrate"}], ids=["chains", "integrate"])
def test_mixtures_and_chains(data, likelihood, posterior, monkeypatch):
    X, size, _, _ = data
    monkeypatch.setattr("flgp.process.draws_field._BLOCK_VALUES", 10_000)  # several parts in a block
    model = fitted(data, likelihood, **posterior)
    own = {ARGUMENT[likelihood]: size}
    one, spread = model.predict(X, return_std=True)
    mean, std = model.predict(X, return_std=True, **own)
    np.testing.assert_allclose(mean, size * one, rtol=1e-6)
    # Var y = n E[Var(y | f)] + n² Var(E[y | f]): at n = 1 the sum of both, and at n = 2 another.
    twice = model.predict(X, return_std=True, **{ARGUMENT[likelihood]: np.full(300, 2.0)})[1]
    between = (twice**2 - 2 * spread**2) / 2
    within = spread**2 - between
    np.testing.assert_allclose(std**2, size * within + size**2 * between, rtol=1e-4)
    low, high = model.predict_interval(X, **own).T
    assert (low <= mean).all()
    assert (mean <= high).all()


def test_sizes_stay_with_their_rows_across_blocks(data):
    model = fitted(data, "poisson")
    X, _ = ring(20_000, seed=3)
    size = np.random.default_rng(0).uniform(0.1, 9.0, len(X))
    model.set_params(n_jobs=2)
    np.testing.assert_allclose(model.predict(X, exposure=size), size * model.predict(X), rtol=1e-12)


def test_several_outputs_share_the_sizes(data):
    X, size, targets, hidden = data
    y = np.where(hidden, np.nan, targets["poisson"])
    model = FLGPRegressor(likelihood="poisson", **SMALL)
    model.fit(X, np.column_stack([y, y]), exposure=size)
    mean = model.predict(X, exposure=size)
    np.testing.assert_allclose(mean, size[:, None] * model.predict(X), rtol=1e-12)
    assert model.predict_interval(X, exposure=size).shape == (300, 2, 2)


def test_the_score_is_of_the_labels_at_their_sizes(data):
    X, size, targets, hidden = data
    model = fitted(data, "poisson")
    y = np.where(hidden, np.nan, targets["poisson"])
    seen = ~hidden
    error = y[seen] - size[seen] * model.predict(X[seen])
    expected = 1 - np.sum(error**2) / np.sum((y[seen] - y[seen].mean()) ** 2)
    broken = np.where(hidden, np.nan, size)  # what is not labelled is not looked at
    assert model.score(X, y, exposure=broken) == pytest.approx(expected)
    assert model.score(X, y) < expected - 0.1


CASES = {
    "zero": (
        "poisson",
        {"exposure": 0.0},
        "exposure must be positive and finite; this fails in row 7. Correct",
    ),
    "missing": ("poisson", {"exposure": np.nan}, "row 7"),
    "huge": ("poisson", {"exposure": 1e200}, "between"),
    "fraction": ("binomial", {"trials": 2.5}, "Binomial trials must be whole"),
    "not used": ("poisson", {"trials": 3.0}, "does not use trials"),
}


@pytest.mark.parametrize("name", CASES)
def test_broken_sizes_are_refused_by_name(data, name):
    likelihood, given, message = CASES[name]
    model = fitted(data, likelihood)
    ((argument, value),) = given.items()
    values = np.ones(300)
    values[7] = value
    for method in (model.predict, model.predict_interval, model.sample_y):
        with pytest.raises(ValueError, match=message):
            method(data[0], **{argument: values})
    with pytest.raises(ValueError, match="one number for each row"):
        model.predict(data[0], **{argument: values[:9]})


def test_ones_are_fine_where_there_is_no_use_for_them(data):
    X = data[0]
    model = FLGPRegressor(**SMALL).fit(X, X[:, 0])
    np.testing.assert_array_equal(model.predict(X, exposure=np.ones(300)), model.predict(X))
