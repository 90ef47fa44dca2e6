"""Kinds of posteriors behind one surface: integrated hyperparameters, fixed ones, chains, samples."""

import builtins
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from flgp import FLGPClassifier, FLGPRegressor, load, save
from flgp.priors import LogNormal
from flgp.process.mixture import LatentFunction

SMALL = {"n_anchors": 60, "n_eigenpairs": 25, "random_state": 0, "n_jobs": 1}
REGRESSION = {**SMALL, "residual": None}
CHAINS = {"n_chains": 2, "n_draws": 150, "n_warmup": 50}


@pytest.fixture(scope="module")
def ring_data():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, 300)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    f = np.sin(2 * angle)
    return X, f, rng


def partly(y, m=50):
    return np.where(np.arange(len(y)) < m, y, np.nan)


def test_integrating_widens_and_reports(ring_data):
    X, f, rng = ring_data
    y = partly(f + 0.3 * rng.normal(size=300))
    best = FLGPRegressor(**REGRESSION).fit(X, y)
    whole = FLGPRegressor(hyperparameters="integrate", **REGRESSION).fit(X, y)
    widths = [np.ptp(model.latent_interval(X), axis=1).mean() for model in (best, whole)]
    assert 1.0 < widths[1] / widths[0] < 1.6
    posterior = whole.hyperparameter_posterior_
    assert posterior.names == ("diffusion_time", "amplitude", "noise_variance")
    assert posterior.weights.sum() == pytest.approx(1.0)
    table = posterior.table()["noise_variance"]
    assert table["q05"] < 0.09 < table["q95"]
    assert table["q05"] < whole.noise_variance_ < table["q95"]
    assert not hasattr(best, "hyperparameter_posterior_")
    mean, covariance = whole.predict(X[:5], return_cov=True)
    _, sd = whole.predict(X[:5], return_std=True)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), sd, rtol=1e-8)
    np.testing.assert_allclose(mean, whole.predict(X[:5]))


def test_nothing_to_integrate(ring_data, tmp_path):
    X, f, _ = ring_data
    known = {"diffusion_time": 20.0, "amplitude": 0.5, "noise_variance": 0.1, "linear": None, **REGRESSION}
    model = FLGPRegressor(hyperparameters="integrate", **known).fit(X, partly(f))
    np.testing.assert_allclose(model.predict(X), FLGPRegressor(**known).fit(X, partly(f)).predict(X))
    save(model, tmp_path / "model.flgp")
    for one in (model, load(tmp_path / "model.flgp")):
        assert one.hyperparameter_posterior_.table() == {}


def test_integrating_the_bandwidth(ring_data):
    X, f, rng = ring_data
    model = FLGPRegressor(hyperparameters="integrate", base_kernel="se", **REGRESSION)
    model.fit(X, partly(f + 0.2 * rng.normal(size=300)))
    posterior = model.hyperparameter_posterior_
    assert posterior.names[-1] == "bandwidth"
    assert len(np.unique(posterior.nodes[:, -1])) > 1
    assert np.sqrt(np.mean((model.predict(X) - f) ** 2)) < 0.2
    np.testing.assert_allclose(model.transduction_, model.predict(X), atol=1e-10)
    assert model.sample_f(X[:4], 30, prior=True).shape == (4, 30)


def test_fixed_names_what_is_missing(ring_data):
    X, f, _ = ring_data
    with pytest.raises(ValueError, match="diffusion_time, amplitude, bandwidth, noise_variance has no value"):
        FLGPRegressor(hyperparameters="fixed", base_kernel="se", **REGRESSION).fit(X, partly(f))
    given = {"diffusion_time": 20.0, "amplitude": 0.5}
    model = FLGPRegressor(hyperparameters="fixed", noise_variance=0.1, **given, **REGRESSION).fit(
        X, partly(f)
    )
    assert model.diffusion_time_ == 20.0
    with pytest.raises(ValueError, match="dispersion has no value"):
        FLGPRegressor(likelihood="negative_binomial", hyperparameters="fixed", **given, **REGRESSION).fit(
            X, partly(np.ones(300))
        )
    with pytest.raises(ValueError, match="hyperparameters"):
        FLGPRegressor(hyperparameters="guess", **REGRESSION).fit(X, partly(f))


def test_priors_of_time(ring_data):
    X, f, rng = ring_data
    y = partly(f + 0.3 * rng.normal(size=300), 15)
    times = {}
    for prior in ("graph", "paper", "flat", LogNormal(5.0, 0.01)):
        model = FLGPRegressor(time_prior=prior, **REGRESSION).fit(X, y)
        times[str(prior)] = model.diffusion_time_
    assert times[str(LogNormal(5.0, 0.01))] == pytest.approx(5.0, rel=0.02)
    model = FLGPRegressor(time_prior="paper", **REGRESSION).fit(X, y)
    assert model.intrinsic_dimension_ == pytest.approx(1.0, abs=0.2)
    slowest = model.eigenvalues_[model.eigenvalues_ > 1e-12].min()
    assert model.diffusion_time_ <= 1.0 / slowest * (1 + 1e-9)
    given = FLGPRegressor(time_prior="paper", intrinsic_dimension=3.0, **REGRESSION).fit(X, y)
    assert not hasattr(given, "intrinsic_dimension_")
    with pytest.raises(ValueError, match="time_prior"):
        FLGPRegressor(time_prior="jeffreys", **REGRESSION).fit(X, y)


def test_chains_agree_with_expectation_propagation(ring_data):
    pytest.importorskip("polyagamma")
    X, f, rng = ring_data
    labels = np.where(np.arange(300) < 60, rng.random(300) < 1 / (1 + np.exp(-3 * f)), -1)
    plain = {"residual": None, "multi_class": "one_vs_rest"}  # both with a logit
    exact = FLGPClassifier(inference="gibbs", **plain, **CHAINS, **SMALL).fit(X, labels)
    approximate = FLGPClassifier(**plain, **SMALL).fit(X, labels)
    gap = np.abs(exact.predict_proba(X) - approximate.predict_proba(X))
    assert gap.mean() < 0.03
    chains = exact.chains_
    assert chains.draws.shape[:2] == (2, 150)
    assert chains.max_rhat < 1.2
    mean, variance = exact.latent_mean_and_variance(X[:3])
    other, other_variance = approximate.latent_mean_and_variance(X[:3])
    np.testing.assert_allclose(mean, other, atol=np.sqrt(other_variance).max())
    assert (variance > 0).all()
    draws = exact.sample_f(X[:3], 300)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=1e-9)  # each draw of the chains once
    assert exact.sample_f(X[:3], 700).shape == (3, 700)
    far = exact.predict_proba(np.array([[50.0, 50.0]]))
    assert 0.2 < far[0, 1] < 0.8


def test_chains_for_counts_and_over_hyperparameters(ring_data):
    X, f, rng = ring_data
    y = partly(rng.poisson(np.exp(f)).astype(float), 40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = FLGPRegressor(
            likelihood="poisson", inference="gibbs", hyperparameters="integrate", n_chains=2, n_draws=40,
            n_warmup=10, **REGRESSION,
        ).fit(X, y)  # fmt: skip
    assert len(model.chains_) == len(model.hyperparameter_posterior_.weights)
    reference = FLGPRegressor(likelihood="poisson", hyperparameters="integrate", **REGRESSION).fit(X, y)
    assert np.abs(model.predict(X) - reference.predict(X)).mean() < 0.25
    mean, sd = model.predict(X, return_std=True)
    assert (sd**2 > 0.8 * mean).all()  # Poisson noise and more
    low, high = model.predict_interval(X, 0.9).T
    assert np.mean((low <= mean) & (mean <= high)) > 0.95
    ends = model.latent_interval(X)
    assert (ends[:, 0] < ends[:, 1]).all()


def test_chains_that_do_not_converge_warn_and_stay(ring_data):
    X, f, rng = ring_data
    y = partly(rng.poisson(np.exp(f)).astype(float), 40)
    with pytest.warns(ConvergenceWarning, match="R-hat"):
        model = FLGPRegressor(
            likelihood="poisson", inference="gibbs", n_chains=4, n_draws=4, n_warmup=0, **REGRESSION
        ).fit(X, y)
    assert model.chains_.draws.shape[:2] == (4, 4)
    assert np.isfinite(model.predict(X)).all()


def test_coupled_classes_over_hyperparameters(ring_data):
    X, f, _ = ring_data
    truth = np.digitize(f, [-0.5, 0.5])
    labels = np.where(np.arange(300) < 40, truth, -1)
    whole = FLGPClassifier(multi_class="coupled", hyperparameters="integrate", **SMALL).fit(X, labels)
    p = whole.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.mean(whole.predict(X) == truth) > 0.85
    at_best = FLGPClassifier(linear=None, residual=None, calibrate=False, **SMALL).fit(X, labels)
    gap = np.abs(p - at_best.predict_proba(X)).mean()
    assert 0.0 < gap < 0.1


def test_a_missing_package_is_named(ring_data, monkeypatch):
    X, f, _ = ring_data
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("polyagamma"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    labels = np.where(np.arange(300) < 20, f > 0, -1)
    with pytest.raises(ImportError, match=r"flgp\[mcmc\]"):
        FLGPClassifier(inference="gibbs", **SMALL).fit(X, labels)


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("hyperparameters", ["optimize", "integrate"])
def test_samples_have_the_moments_of_the_posterior(ring_data, prior, hyperparameters):
    X, f, rng = ring_data
    y = partly(f + 0.3 * rng.normal(size=300))
    model = FLGPRegressor(hyperparameters=hyperparameters, mean="zero", **REGRESSION).fit(X, y)
    points = np.concatenate([X[:5], [[30.0, 0.0]]])  # the last one off the cloud
    draws = model.sample_f(points, 6000, random_state=3, prior=prior)
    if prior:
        mean, variance = np.zeros(6), np.diag(model.covariance(points))
    else:
        mean, variance = model.latent_mean_and_variance(points)
    sd = np.sqrt(variance)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=5 * sd.max() / np.sqrt(6000))
    np.testing.assert_allclose(draws.std(axis=1), sd, rtol=0.08)
    labels = model.sample_y(points, 6000, random_state=4, prior=prior)
    noise = model.noise_variance_
    np.testing.assert_allclose(labels.var(axis=1), variance + noise, rtol=0.15)


def test_chains_keep_the_prior_where_no_label_sees(ring_data):
    X, f, rng = ring_data
    y = partly(rng.poisson(np.exp(f)).astype(float), m=6)
    model = FLGPRegressor(
        likelihood="poisson", inference="gibbs", mean="zero", **REGRESSION, **(CHAINS | {"n_draws": 1500})
    ).fit(X, y)
    field = model._process_.functions[0].components[0].field

    def values(points):
        return field.values(model._process_.at(model._inputs(points))[0])

    # β given f at the labels: what the labels do not see has its prior variance, Σ - k K^-1 k'.
    seen = model.covariance(X[:6])
    cross = model.covariance(X, X[:6]) @ np.linalg.inv(seen)
    free = np.diag(model.covariance(X)) - np.sum(cross * model.covariance(X, X[:6]), axis=1)
    rest = values(X) - cross @ values(X[:6])
    np.testing.assert_allclose(rest.var(axis=1), free, rtol=0.15, atol=1e-3)
    assert np.abs(rest.mean(axis=1)).max() < 5 * np.sqrt(free.max() / 3000) + 1e-6
    draws = model.sample_f(X[:5], 6000, random_state=3, prior=True)
    np.testing.assert_allclose(draws.std(axis=1), np.sqrt(np.diag(model.covariance(X[:5]))), rtol=0.08)


def test_the_joint_covariance_over_several_bandwidths(ring_data):
    X, f, rng = ring_data
    y = partly(f + 0.3 * rng.normal(size=300))
    model = FLGPRegressor(base_kernel="se", hyperparameters="integrate", **REGRESSION).fit(X, y)
    assert len(model._process_.layers) > 1
    covariance = model.predict(X[:6], return_cov=True)[1]
    np.testing.assert_allclose(
        np.sqrt(np.diag(covariance)), model.predict(X[:6], return_std=True)[1], rtol=1e-8
    )
    draws = model.sample_y(X[:6], 20_000, random_state=1)
    np.testing.assert_allclose(np.cov(draws), covariance, atol=0.05 * covariance.max())


def test_draws_of_a_mixture_are_in_no_order(ring_data):
    X, _, _ = ring_data
    model = FLGPRegressor(mean="zero", **REGRESSION).fit(X, partly(X[:, 0]))
    process = model._process_
    (part,) = process.functions[0].components
    # Two components that cannot be mistaken for each other.
    high = replace(part, weight=0.3, field=replace(part.field, constant=1000.0))
    mixture = LatentFunction((high, replace(part, weight=0.7)))
    model._process_ = replace(process, functions=(mixture,))
    for draws in (model.sample_f(X[:3], 3000), model.sample_y(X[:3], 3000)):
        above = draws > 500.0
        assert (above == above[0]).all()  # every draw is of one component at all points
        assert [half.mean() for half in np.split(above[0], 2)] == pytest.approx([0.3, 0.3], abs=0.05)


def test_a_joint_covariance_is_for_gaussian_labels(ring_data):
    X, f, _ = ring_data
    model = FLGPRegressor(likelihood="poisson", **REGRESSION).fit(X, partly(np.round(np.exp(f))))
    with pytest.raises(ValueError, match="return_cov needs Gaussian noise"):
        model.predict(X, return_cov=True)


BAD = [
    ("poisson", -1.0, {}, "row 7"),
    ("poisson", 1.5, {}, "row 7"),
    ("gamma", 0.0, {}, "row 7"),
    ("bernoulli", 2.0, {}, "row 7"),
    ("binomial", 4.0, {"trials": 3.0}, "row 7"),
    ("poisson", 1.0, {"exposure": 0.0}, "row 7"),
    ("gaussian", 1.0, {"noise_scale": -1.0}, "row 7"),
    ("gaussian", 1.0, {"sample_weight": -1.0}, "row 7"),
]


@pytest.mark.parametrize(("likelihood", "value", "known", "match"), BAD)
def test_bad_labels_are_named_by_row(ring_data, likelihood, value, known, match):
    X, _, _ = ring_data
    y = partly(np.ones(300), 20)
    y[7] = value
    arrays = {name: np.where(np.arange(300) == 7, bad, 5.0) for name, bad in known.items()}
    if likelihood == "binomial" and "trials" not in arrays:
        arrays["trials"] = np.full(300, 5.0)
    with pytest.raises(ValueError, match=match):
        FLGPRegressor(likelihood=likelihood, **REGRESSION).fit(X, y, **arrays)
