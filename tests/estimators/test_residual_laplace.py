"""residual="local" with other likelihoods than the Gaussian: Laplace's method with a latent u."""

import numpy as np
import pytest
from scipy.stats import poisson

from flgp import FLGPClassifier, FLGPRegressor, load, save
from flgp.estimators._fitting import relearned
from flgp.likelihoods import Bernoulli, NegativeBinomial, Observations, Poisson
from flgp.terms.local.neighborhoods import compact_rows


def counts(n=500, m=150, seed=0, level=1.0, rough=0.8):
    """Log-rates f with a smooth and a rough part on a square, counts, and the first m of them as labels."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    f = level + np.sin(3 * X[:, 0]) + rough * np.cos(20 * X[:, 1]) * np.sin(15 * X[:, 0])
    y = rng.poisson(np.exp(f)).astype(float)
    return X, f, y, np.where(np.arange(n) < m, y, np.nan)


def model(**more):
    options = {
        "n_anchors": 60,
        "n_eigenpairs": 20,
        "random_state": 0,
        "likelihood": "poisson",
        "linear": None,
    }
    return FLGPRegressor(**(options | {"residual": "local", "residual_kernel": "matern32"} | more))


def dense_laplace(likelihood, obs, K, offset):
    """Evidence, dual vector and curvature by Newton's method on the dense kernel matrix."""
    a, f = np.zeros(len(K)), np.full(len(K), offset)
    for _ in range(100):
        slope = likelihood.derivatives(obs, f)
        W, root = slope.curvature, np.sqrt(slope.curvature)
        B = np.eye(len(K)) + root[:, None] * K * root
        b = W * (f - offset) + slope.gradient
        a = b - root * np.linalg.solve(B, root * (K @ b))
        f = offset + K @ a
    value = likelihood.log_density(obs, f).sum() - 0.5 * a @ (f - offset) - 0.5 * np.linalg.slogdet(B)[1]
    return value, a, likelihood.derivatives(obs, f).curvature


def prior_covariance(fitted, points, intercept=0.0):
    whole = fitted.covariance(points)
    parts = [fitted.covariance(points, term=name) for name in ("constant", "manifold", "local")]
    np.testing.assert_allclose(whole, np.sum(parts, axis=0), rtol=1e-12)
    np.testing.assert_allclose(parts[0], intercept)
    return whole


@pytest.mark.parametrize("likelihood", [Poisson(), NegativeBinomial()], ids=lambda part: part.name)
def test_all_neighbors_give_the_dense_approximation(likelihood):
    X, _, y, target = counts(m=70)
    exposure = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    fitted = model(likelihood=likelihood, n_residual_neighbors=70).fit(X, target, exposure=exposure)
    obs = Observations.of(y[:70], exposure=exposure[:70])
    (function,) = relearned(fitted)
    evidence, values = function.evidence, function.best.values
    some = compact_rows(evidence.inference.points, 22)
    found = evidence.inference.part(22).evaluate(evidence.point(values)).log_evidence
    K = prior_covariance(fitted, X[:110], likelihood.latent_scale(obs) ** 2)
    offset = likelihood.initial_mean(obs)
    evidence, dual, W = dense_laplace(fitted.likelihood_, obs, K[:70, :70], offset)
    assert fitted.log_marginal_likelihood_value_ == pytest.approx(evidence, abs=1e-5)
    of_some = dense_laplace(fitted.likelihood_, obs.take(some), K[np.ix_(some, some)], offset)[0]
    assert found == pytest.approx(of_some, abs=1e-5)
    expected = offset + K[70:, :70] @ dual
    covariance = K[70:, 70:] - K[70:, :70] @ np.linalg.solve(K[:70, :70] + np.diag(1 / W), K[:70, 70:])
    new = X[70:110]
    mean, variance = fitted.latent_mean_and_variance(new)
    np.testing.assert_allclose(mean, expected, atol=1e-5)
    np.testing.assert_allclose(variance, np.diag(covariance), atol=1e-5)
    np.testing.assert_allclose(fitted.predict(new), np.exp(mean + variance / 2), rtol=1e-10)
    joint = fitted._process_.functions[0].latent_covariance(fitted._process_.at(fitted._inputs(new)))
    np.testing.assert_allclose(joint, covariance, atol=1e-5)


def test_gradient_of_the_evidence():
    X, _, _, target = counts(m=80)
    options = {"likelihood": "negative_binomial", "residual_kernel": "rational_quadratic"}
    fitted = model(n_residual_neighbors=10, **options).fit(X, target)
    theta, h = fitted.optimizer_result_.theta + 0.1, 1e-4
    assert len(theta) == 6
    _, gradient = fitted.log_marginal_likelihood(theta, eval_gradient=True)
    for i, step in enumerate(h * np.eye(6)):
        numeric = fitted.log_marginal_likelihood(theta + step) - fitted.log_marginal_likelihood(theta - step)
        assert gradient[i] == pytest.approx(numeric / (2 * h), abs=1e-4)


def negative_log_predictive(fitted, X, y):
    mean, variance = fitted.latent_mean_and_variance(X)
    nodes, shares = np.polynomial.hermite_e.hermegauss(40)
    rates = np.exp(mean + np.sqrt(variance) * nodes[:, None])
    return -np.log(shares / shares.sum() @ poisson.pmf(y, rates)).mean()


def test_counts_with_a_short_range_part_are_predicted_better():
    X, f, y, target = counts(n=1200, m=500)
    options = {"n_anchors": 150, "n_eigenpairs": 50, "residual_kernel": "auto"}
    both = model(**options).fit(X, target)
    paper = model(residual=None, **options).fit(X, target)
    rest = slice(500, None)
    loss = [negative_log_predictive(fitted, X[rest], y[rest]) for fitted in (both, paper)]
    assert loss[0] < loss[1] - 0.1
    assert both.log_marginal_likelihood_value_ > paper.log_marginal_likelihood_value_ + 30
    assert both.optimizer_result_.n_evaluations <= 60
    mean, variance = both.latent_mean_and_variance(X[rest])
    assert 0.9 < np.mean(np.abs(mean - f[rest]) < 1.959964 * np.sqrt(variance)) < 0.99
    ends = both.predict_interval(X[rest], 0.9)
    assert 0.88 < np.mean((y[rest] >= ends[:, 0]) & (y[rest] <= ends[:, 1])) < 0.97


def test_few_neighbors_are_nearly_exact():
    X, _, _, target = counts(n=200, m=80)
    exact, few = (model(n_residual_neighbors=k).fit(X, target) for k in (80, 12))
    theta = exact.optimizer_result_.theta
    assert few.log_marginal_likelihood(theta) == pytest.approx(exact.log_marginal_likelihood(theta), abs=0.3)
    np.testing.assert_allclose(few.predict(X), exact.predict(X), rtol=0.05)


def test_parts_draws_and_files(tmp_path):
    X, _, _, target = counts()
    fitted = model().fit(X, target)
    assert isinstance(fitted.likelihood_, Poisson)
    assert fitted.residual_kernel_ == "matern32"
    assert fitted.residual_length_scale_ > 0
    mean, variance = fitted.latent_mean_and_variance(X)
    expected, parts = fitted.predict(X, return_parts=True)
    np.testing.assert_allclose(parts.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(parts.variance, variance, rtol=1e-12)
    np.testing.assert_allclose(sum(part.mean for part in parts.terms.values()), mean, rtol=1e-10)
    np.testing.assert_allclose(expected, np.exp(mean + variance / 2), rtol=1e-10)
    np.testing.assert_array_equal(fitted.transduction_, expected)
    new = X[200:220]
    draws = fitted.sample_f(new, 20_000)
    np.testing.assert_allclose(draws.mean(axis=1), mean[200:220], atol=0.03)
    np.testing.assert_allclose(draws.var(axis=1), variance[200:220], rtol=0.06)
    assert np.all(fitted.sample_y(new, 3) >= 0)
    assert fitted.sample_y(new, 3, prior=True).shape == (20, 3)
    save(fitted, tmp_path / "counts.flgp")
    again = load(tmp_path / "counts.flgp")
    np.testing.assert_array_equal(again.predict(X), expected)
    np.testing.assert_array_equal(again.sample_f(new, 2), fitted.sample_f(new, 2))
    assert again.log_marginal_likelihood() == pytest.approx(fitted.log_marginal_likelihood(), abs=1e-9)


def test_labels_at_the_same_place_average():
    X, f, _, _ = counts(n=100)
    rng = np.random.default_rng(0)
    y = rng.poisson(np.exp(np.repeat(f, 4))).astype(float)
    fitted = model().fit(np.repeat(X, 4, axis=0), y)
    error, rough = fitted.predict(X) - np.exp(f), y.reshape(100, 4).mean(axis=1) - np.exp(f)
    assert np.mean(error**2) < 0.8 * np.mean(rough**2)


def test_all_labels_in_one_place():
    X, _, _, target = counts(m=40)
    X[:40] = X[0]
    fitted = model().fit(X, target)
    assert fitted.predict(X[:1])[0] == pytest.approx(target[:40].mean(), rel=0.1)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_few_labels(m):
    X, _, _, target = counts(m=m)
    mean, std = model().fit(X, target).predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert np.all(std > 0)


def test_equal_labels():
    X, _, _, target = counts(m=80)
    mean = model().fit(X, np.where(np.isnan(target), np.nan, 0.0)).predict(X)
    assert mean.max() < 0.1


def test_integrated_hyperparameters_and_several_targets():
    X, _, _, target = counts(n=300, m=60)
    options = {"hyperparameters": "integrate", "residual_kernel": "matern12", "n_residual_neighbors": 10}
    fitted = model(**options).fit(X, np.column_stack([target, target + 1]))
    mean, std = fitted.predict(X[:9], return_std=True)
    assert mean.shape == std.shape == (9, 2)
    assert fitted.predict(X[:9], return_parts=True)[1]["local"].mean.shape == (9, 2)
    assert len(fitted._process_.functions[0].components) > 3


def test_two_classes():
    X, f, _, _ = counts(n=900, rough=1.5)
    y = (np.random.default_rng(0).random(900) < 1 / (1 + np.exp(-4 * (f - 2)))).astype(int)
    target = np.where(np.arange(900) < 400, y, -1)
    options = {
        "n_anchors": 100,
        "n_eigenpairs": 20,
        "random_state": 0,
        "residual_kernel": "matern52",
        "linear": None,
    }
    both = FLGPClassifier(residual="local", inference="laplace", **options).fit(X, target)
    paper = FLGPClassifier(residual=None, **options).fit(X, target)
    assert paper.residual_variance_ == 0
    losses = []
    for fitted in (both, paper):
        p = fitted.predict_proba(X[400:])
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        losses.append(-np.log(p[np.arange(500), y[400:]]).mean())
    assert losses[0] < losses[1] - 0.05
    K = prior_covariance(both, X[:400])
    obs = Observations.of(y[:400].astype(float))
    evidence, _, _ = dense_laplace(Bernoulli(), obs, K, 0.0)
    assert both.log_marginal_likelihood_value_ == pytest.approx(evidence, abs=0.5)
    assert both.sample_y(X[:5], 4).shape == (5, 4)


def test_one_against_the_rest():
    X, f, _, _ = counts(n=300)
    y = np.digitize(f, [1.3, 2.0])
    options = {"n_anchors": 50, "n_eigenpairs": 20, "random_state": 0, "residual_kernel": "matern52"}
    model = FLGPClassifier(residual="local", inference="laplace", **options)
    fitted = model.fit(X, np.where(np.arange(300) < 120, y, -1))
    assert fitted.residual_variance_.shape == (3,)
    assert fitted.score(X[120:], y[120:]) > 0.6


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (model(inference="ep"), "fitted by Laplace's method, but inference='ep'"),
        (model(inference="gibbs"), "fitted by Laplace's method, but inference='gibbs'"),
        (model(hyperparameters="fixed"), "residual=None, or hyperparameters='optimize'"),
        (FLGPClassifier(inference="laplace", multi_class="coupled"), "or multi_class='one_vs_rest'"),
        (FLGPClassifier(residual="yes"), "residual='yes'"),
        (FLGPClassifier(residual="local", residual_columns=[7]), "columns 0 to 1"),
    ],
)
def test_what_it_does_not_do(estimator, message):
    X, _, _, target = counts(n=100, m=100)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, np.minimum(target, 2.0).astype(int))


def test_too_large_a_factor_is_refused(monkeypatch):
    X, _, _, target = counts()
    monkeypatch.setattr("flgp.inference.local._MAX_ENTRIES", 1000)
    with pytest.raises(ValueError, match="for these 150 points"):
        model().fit(X, target)


def test_more_labels_on_the_same_graph():
    X, _, y, target = counts(n=300, m=80)
    fitted = model(n_residual_neighbors=10).fit(X, target)
    length_scale = fitted.residual_length_scale_
    _, before = fitted.latent_mean_and_variance(X[80:100])
    fitted.update(X[80:100], y[80:100], relearn=False)
    assert fitted.residual_length_scale_ == length_scale
    _, after = fitted.latent_mean_and_variance(X[80:100])
    assert np.mean(after) < 0.7 * np.mean(before)
    fitted.update(X[100:110], y[100:110])
    assert fitted.residual_length_scale_ != length_scale
