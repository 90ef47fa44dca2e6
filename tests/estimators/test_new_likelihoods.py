"""What users ask of ordinal, zero-inflated, Tweedie and quantile models, on a ring."""

import numpy as np
import pytest

from flgp import FLGPRegressor
from flgp.geometry import Circle
from flgp.likelihoods import (
    AsymmetricLaplace,
    HurdleNegativeBinomial,
    HurdlePoisson,
    Observations,
    Ordinal,
    Tweedie,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)

SMALL = {
    "n_anchors": 60,
    "n_neighbors": 4,
    "n_eigenpairs": 20,
    "random_state": 0,
    "linear": None,
    "residual": None,
}


def ring(n=400, seed=0):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]), angle, rng


def test_ordinal_levels_and_their_probabilities():
    X, angle, rng = ring()
    truth = Ordinal(levels=(1, 2, 3, 4), gaps=(1.0, 2.0))
    f = 3 * np.sin(angle)
    y = truth.sample(f, rng)
    y[200:] = np.nan
    model = FLGPRegressor(likelihood="ordinal", **SMALL).fit(X, y)
    assert model.likelihood_.levels == (1.0, 2.0, 3.0, 4.0)
    np.testing.assert_allclose(np.diff(model.likelihood_.cut_points), [1.0, 2.0], atol=0.7)
    p = model.predict_proba(X)
    assert p.shape == (400, 4)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict(X), p @ [1, 2, 3, 4], rtol=1e-10)
    assert np.mean(np.abs(p - truth.conditional_probabilities(f))) < 0.05
    ends = model.predict_interval(X[:20], 0.9)
    assert set(np.unique(ends)) <= {1.0, 2.0, 3.0, 4.0}
    assert set(np.unique(model.sample_y(X[:20], 5))) <= {1.0, 2.0, 3.0, 4.0}


def test_a_new_level_comes_with_more_labels():
    X, angle, _ = ring(300)
    y = np.round(1 + np.sin(angle))
    few = np.where(y < 2, y, np.nan)
    model = FLGPRegressor(likelihood="ordinal", **SMALL).fit(X, few)
    assert model.predict_proba(X).shape == (300, 2)
    model.update(X, y, replace=True)
    assert model.predict_proba(X).shape == (300, 3)
    assert not hasattr(FLGPRegressor(), "predict_proba")


def test_chains_agree_with_the_approximation():
    X, angle, rng = ring(150)
    y = Ordinal(levels=(0, 1, 2), gaps=(1.5,)).sample(2 * np.sin(angle), rng)
    y[75:] = np.nan
    options = {
        **SMALL,
        "diffusion_time": 15.0,
        "amplitude": 1.0,
        "likelihood": Ordinal(gaps=(1.5,), levels=(0, 1, 2)),
    }
    laplace = FLGPRegressor(**options).fit(X, y)
    chains = FLGPRegressor(inference="gibbs", n_chains=2, n_draws=400, n_warmup=100, **options).fit(X, y)
    np.testing.assert_allclose(chains.predict_proba(X), laplace.predict_proba(X), atol=0.08)


@pytest.mark.parametrize(
    "truth", [ZeroInflatedPoisson(zero_odds=0.6), HurdlePoisson(zero_odds=0.6)], ids=lambda k: k.name
)
def test_extra_zeros_are_told_from_counts(truth):
    X, angle, rng = ring()
    f = 1.5 + np.sin(angle)
    y = truth.sample(f, rng)
    model = FLGPRegressor(likelihood=truth.name, **SMALL).fit(X, y)
    assert abs(model.likelihood_.zero_share - truth.zero_share) < 0.1
    assert np.corrcoef(model.predict(X), np.exp(f))[0, 1] > 0.97
    plain = FLGPRegressor(likelihood="poisson", **SMALL).fit(X, y)
    assert model.log_marginal_likelihood_value_ > plain.log_marginal_likelihood_value_ + 50


def test_amounts_with_zeros_have_an_exposure():
    X, angle, rng = ring()
    exposure = rng.uniform(0.5, 4.0, 400)
    y = Tweedie(dispersion=0.8).of_size(exposure).sample(np.sin(angle), rng)
    assert np.mean(y == 0) > 0.05
    model = FLGPRegressor(likelihood="tweedie", **SMALL).fit(X, y, exposure=exposure)
    assert np.mean(np.abs(model.predict(X) - np.exp(np.sin(angle)))) < 0.2
    low = model.predict_interval(X[:60], 0.9, exposure=exposure[:60])[:, 0]
    assert np.all(low >= 0)
    assert np.any(low == 0)


def test_quantiles_and_what_they_refuse():
    X, angle, rng = ring()
    y = np.sin(angle) + rng.exponential(size=400)
    wanted = np.sin(angle) - np.log(0.25)
    model = FLGPRegressor(likelihood=AsymmetricLaplace(quantile=0.75), **SMALL).fit(X, y)
    assert np.mean(np.abs(model.predict(X) - wanted)) < 0.25
    assert abs(np.mean(y < model.predict(X)) - 0.75) < 0.06
    for options in ({"inference": "laplace"}, {"residual": "local"}):
        with pytest.raises(ValueError, match=r"no curvature.*inference='auto'"):
            FLGPRegressor(likelihood="asymmetric_laplace", **{**SMALL, **options}).fit(X, y)


def test_the_evidence_has_the_gradient_it_says():
    """Of every new likelihood, through Laplace or expectation propagation: to 1e-5."""
    X, angle, rng = ring(120)
    f = np.sin(angle)
    for name, y in (
        ("ordinal", Ordinal(levels=(0, 1, 2), gaps=(1.0,)).sample(2 * f, rng)),
        ("beta", np.clip(1 / (1 + np.exp(-f)) + 0.1 * rng.normal(size=120), 0.01, 0.99)),
        ("tweedie", Tweedie(dispersion=1.0).sample(f, rng)),
        ("zero_inflated_poisson", ZeroInflatedPoisson(zero_odds=0.3).sample(f + 1, rng)),
        ("zero_inflated_negative_binomial", ZeroInflatedPoisson(zero_odds=0.3).sample(f + 1, rng)),
        ("hurdle_poisson", HurdlePoisson(zero_odds=0.3).sample(f, rng)),
        ("hurdle_negative_binomial", HurdlePoisson(zero_odds=0.3).sample(f, rng)),
        ("asymmetric_laplace", f + 0.3 * rng.normal(size=120)),
    ):
        model = FLGPRegressor(likelihood=name, **SMALL).fit(X, y)
        theta = model.optimizer_result_.theta + 0.1
        value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
        for j in range(len(theta)):
            step = 1e-4 * np.eye(len(theta))[j]
            up, down = (model.log_marginal_likelihood(theta + s * step) for s in (1, -1))
            assert gradient[j] == pytest.approx((up - down) / 2e-4, abs=2e-5 * max(abs(value), 1.0)), name


def test_densities_do_not_depend_on_the_rows_beside():
    """Levels, series and truncations are found row by row."""
    obs = Observations.of([0.0, 1.0, 2.0, 0.0])
    for likelihood in (
        Tweedie(dispersion=1.0),
        HurdlePoisson(zero_odds=1.0),
        Ordinal(levels=(0, 1, 2), gaps=(1.0,)),
    ):
        f = np.array([-0.3, 0.2, 0.9, 4.0])
        whole = likelihood.log_density(obs, f)
        each = [likelihood.log_density(obs.take([i]), f[[i]])[0] for i in range(4)]
        np.testing.assert_allclose(whole, each, rtol=1e-13)


@pytest.mark.parametrize("kind", [HurdleNegativeBinomial, ZeroInflatedNegativeBinomial])
def test_small_positive_counts_do_not_hide_the_dispersion(kind):
    # Most positive counts are 1 or 2, which vary less than Poisson counts: taken at their word, they put the
    # prior of the dispersion at nearly none.
    rng = np.random.default_rng(3)
    angle = rng.uniform(0, 2 * np.pi, (12, 80))
    labels = kind(zero_odds=0.5, dispersion=0.5).sample(np.sin(angle), rng)
    learned = [
        FLGPRegressor(geometry=Circle(), mean="zero", likelihood=kind(), random_state=0)
        .fit(x[:, None], y)
        .likelihood_.dispersion
        for x, y in zip(angle, labels, strict=True)
    ]
    assert 0.25 < np.median(learned) < 1.0
