"""FLGPRegressor(residual=...): against the dense model, and what the evidence decides."""

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal

from flgp import FLGPRegressor
from flgp.datasets import folded_sheet, spiral
from flgp.estimators import prior_variances
from flgp.estimators._fitting import relearned
from flgp.inference.local import JointInference
from flgp.process import local_search
from flgp.terms.local.neighborhoods import compact_rows


def square(n=400, m=60, seed=0, noise=0.1):
    """A smooth and a rough part on a square; labels on the first m rows."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    f = np.sin(3 * X[:, 0]) + 0.5 * np.cos(25 * X[:, 1])
    y = f + noise * rng.standard_normal(n)
    target = np.full(n, np.nan)
    target[:m] = y[:m]
    return X, y, target


def model(**more):
    options = {
        "n_anchors": 60,
        "n_eigenpairs": 20,
        "residual": "local",
        "linear": None,
        "random_state": 0,
    } | more
    return FLGPRegressor(**options)


def dense_posterior(fitted, X, y, new, noise_scale=None):
    """Evidence, and mean and covariance of f at new points, by the formulas with full matrices.

    The prior covariance is that of h (with the constant) plus that of u.
    """
    everything = np.vstack([X, new])
    local = fitted._process_.functions[0].components[0].local
    u = local.covariance(cdist(everything, everything))
    np.testing.assert_allclose(fitted.covariance(everything, term="local"), u, rtol=1e-12)
    K = fitted.covariance(everything, term="manifold") + np.var(y, ddof=0) + u
    np.testing.assert_allclose(fitted.covariance(everything), K, rtol=1e-12)
    m = len(X)
    S = K[:m, :m] + np.diag(fitted.noise_variance_ * (np.ones(m) if noise_scale is None else noise_scale))
    offset = y.mean()
    gain = np.linalg.solve(S, K[:m, m:]).T
    evidence = multivariate_normal(cov=S).logpdf(y - offset)
    return evidence, offset + gain @ (y - offset), K[m:, m:] - gain @ K[:m, m:]


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern32", "rational_quadratic"])
def test_all_neighbors_give_the_dense_joint_model(kernel):
    X, y, target = square()
    fitted = model(residual_kernel=kernel, n_residual_neighbors=60).fit(X, target)
    new = X[60:100]
    evidence, mean, covariance = dense_posterior(fitted, X[:60], y[:60], new)
    assert fitted.log_marginal_likelihood_value_ == pytest.approx(evidence, abs=1e-5)
    predicted, cov = fitted.predict(new, return_cov=True)
    noise = fitted.noise_variance_ * np.eye(len(new))
    np.testing.assert_allclose(predicted, mean, atol=1e-6)
    np.testing.assert_allclose(cov, covariance + noise, atol=1e-6)
    _, std = fitted.predict(new, return_std=True)
    np.testing.assert_allclose(std**2, np.diag(covariance + noise), atol=1e-6)
    np.testing.assert_allclose(fitted.latent_mean_and_variance(new)[1], np.diag(covariance), atol=1e-6)
    ends = fitted.predict_interval(new, 0.95)
    np.testing.assert_allclose(ends.mean(axis=1), mean, atol=1e-6)
    np.testing.assert_allclose(ends[:, 1] - ends[:, 0], 2 * 1.959964 * std, rtol=1e-5)


def test_gradient_of_the_evidence():
    X, _, target = square(m=80)
    fitted = model(residual_kernel="rational_quadratic", n_residual_neighbors=10).fit(X, target)
    theta, h = fitted.optimizer_result_.theta + 0.1, 1e-5
    assert len(theta) == 6
    _, gradient = fitted.log_marginal_likelihood(theta, eval_gradient=True)
    for i, step in enumerate(h * np.eye(6)):
        numeric = fitted.log_marginal_likelihood(theta + step) - fitted.log_marginal_likelihood(theta - step)
        assert gradient[i] == pytest.approx(numeric / (2 * h), abs=1e-4)


def test_parts_add_up():
    X, _, target = square()
    fitted = model().fit(X, target)
    mean, parts = fitted.predict(X, return_parts=True)
    np.testing.assert_allclose(parts.mean, mean, rtol=1e-12)
    assert list(parts.terms) == ["constant", "manifold", "local"]
    np.testing.assert_allclose(sum(part.mean for part in parts.terms.values()), mean, rtol=1e-10)
    np.testing.assert_allclose(parts.variance, fitted.latent_mean_and_variance(X)[1], rtol=1e-10)
    alone = model(residual=None).fit(X, target)
    _, parts = alone.predict(X, return_parts=True)
    assert list(parts.terms) == ["constant", "manifold"]
    assert alone.term_shares_ == {"constant": 0.0, "manifold": pytest.approx(1.0)}


def test_draws_have_the_joint_posterior():
    X, _, target = square(noise=0.3)
    fitted = model().fit(X, target)
    new = X[60:68]
    mean, cov = fitted.predict(new, return_cov=True)
    draws = fitted.sample_y(new, 40_000, random_state=1)
    size = np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.03 * size.max() ** 0.5)
    np.testing.assert_allclose(np.cov(draws), cov, atol=0.05 * size.max())
    prior = np.cov(fitted.sample_f(new, 40_000, random_state=2, prior=True))
    # Draws of the prior have the constant at its posterior mean.
    expected = fitted.covariance(new) - fitted.covariance(new, term="constant")
    np.testing.assert_allclose(prior, expected, atol=0.05 * expected.max())


def test_far_away_the_prior_is_back():
    X, y, target = square()
    fitted = model().fit(X, target)
    mean, std = fitted.predict(np.array([[50.0, -80.0]]), return_std=True)
    parts = fitted.predict(np.array([[50.0, -80.0]]), return_parts=True)[1]
    if fitted.residual_kernel_ != "rational_quadratic":
        assert parts["local"].mean[0] == pytest.approx(0, abs=1e-6)
    trace = prior_variances(fitted).sum()
    assert std[0] ** 2 > 0.7 * (trace + fitted.residual_variance_)
    assert abs(mean[0] - y[:60].mean()) < 3 * y.std()


def test_transduction_new_points_and_a_second_array_agree():
    X, _, target = square()
    fitted = model().fit(X, target)
    np.testing.assert_allclose(fitted.transduction_, fitted.predict(X), rtol=1e-12)
    apart = model(anchors=fitted.anchors_).fit(X[:60], target[:60], X_unlabeled=X[60:])
    together = model(anchors=fitted.anchors_).fit(X, target)
    np.testing.assert_allclose(apart.predict(X), together.predict(X), rtol=1e-6, atol=1e-8)


def test_several_targets_with_their_own_labels():
    X, _, target = square(m=80)
    other = np.where(np.arange(400) % 5 == 0, X[:, 0], np.nan)
    both = model(residual="auto").fit(X, np.column_stack([target, other]))
    assert both.residual_variance_.shape == (2,)
    assert len(both.residual_kernel_) == 2
    mean, parts = both.predict(X[:7], return_parts=True)
    assert mean.shape == parts["local"].mean.shape == (7, 2)
    one = model(residual="auto").fit(X, target)
    # The number of eigenpairs is fixed, so that the first target sees the same model.
    np.testing.assert_allclose(both.predict(X)[:, 0], one.predict(X), atol=1e-8)
    assert both.sample_y(X[:7], 3).shape == (7, 2, 3)


def test_few_labels_of_outputs_that_share_are_no_sample(monkeypatch):
    """A sample is searched roughly, because all labels are dear; here it would be all of them."""
    monkeypatch.setattr(local_search, "_top", lambda *_: pytest.fail("looked at all labels again"))
    X, _, target = square(m=40)
    both = model(shared=True).fit(X, np.column_stack([target, target + X[:, 0]]))
    assert both.residual_variance_[0] > 0


def test_noise_of_each_point():
    X, y, target = square()
    scale = np.random.default_rng(1).uniform(0.2, 5.0, len(X))
    fitted = model(mean="zero", residual_kernel="matern32", n_residual_neighbors=60)
    fitted.fit(X, target, noise_scale=scale)
    K = fitted.covariance(X[:90])
    S = K[:60, :60] + np.diag(fitted.noise_variance_ * scale[:60])
    expected = K[60:, :60] @ np.linalg.solve(S, y[:60])
    np.testing.assert_allclose(fitted.predict(X[60:90]), expected, atol=1e-6)


def test_other_columns_and_units():
    X, _, target = square()
    scaled = model(residual_columns={0: 10.0, 1: 10.0}).fit(X, target)
    plain = model().fit(X, target)
    assert scaled.residual_length_scale_ == pytest.approx(10 * plain.residual_length_scale_, rel=1e-3)
    np.testing.assert_allclose(scaled.predict(X), plain.predict(X), atol=1e-4)
    # The rough part varies along the second column only.
    one = model(residual_columns=[1]).fit(X, target)
    moved = np.column_stack([np.full(len(X), 0.5), X[:, 1]])
    np.testing.assert_allclose(
        one.predict(X, return_parts=True)[1]["local"].mean,
        one.predict(moved, return_parts=True)[1]["local"].mean,
    )


def test_the_evidence_decides():
    data = spiral(1500, random_state=0)
    target = np.full(1500, np.nan)
    labeled = np.random.default_rng(0).permutation(1500)[:100]
    target[labeled] = data.y[labeled]
    options = {"n_anchors": 300, "n_eigenpairs": 60, "random_state": 0}
    chosen = FLGPRegressor(**options).fit(data.X, target)
    assert chosen.residual_kernel_ is None
    assert chosen.residual_variance_ == 0
    assert np.isnan(chosen.residual_length_scale_)
    paper = FLGPRegressor(residual=None, **options).fit(data.X, target)
    np.testing.assert_array_equal(chosen.predict(data.X), paper.predict(data.X))


def test_both_ranges_beat_each_alone():
    # A shorter sheet with the same density of points as the experiment's.
    data = folded_sheet(3300, length=2.0, n_layers=2, random_state=0)
    labeled = np.random.default_rng(0).permutation(3300)[:600]
    rest = np.setdiff1d(np.arange(3300), labeled)
    target = np.full(3300, np.nan)
    target[labeled] = data.y[labeled]
    options = {"n_anchors": 400, "n_eigenpairs": 100, "random_state": 0}
    both = FLGPRegressor(**options).fit(data.X, target)
    paper = FLGPRegressor(residual=None, **options).fit(data.X, target)
    assert both.residual_kernel_ is not None
    assert both.optimizer_result_.n_evaluations <= 60
    assert both.log_marginal_likelihood_value_ > paper.log_marginal_likelihood_value_ + 50
    mean, std = both.predict(data.X[rest], return_std=True)
    error = data.y[rest] - mean
    assert np.mean(error**2) < 0.8 * np.mean((data.y[rest] - paper.predict(data.X[rest])) ** 2)
    assert 0.93 < np.mean(np.abs(error) < 1.959964 * std) < 0.97


def test_compact_rows_are_neighborhoods():
    points = np.random.default_rng(0).random((9000, 2))
    rows = compact_rows(points, 2000)
    assert len(rows) == 2000
    assert len(np.unique(rows)) == 2000
    everywhere, _, _ = np.histogram2d(*points[rows].T, bins=4)
    assert np.all(everywhere > 20)
    nearest = cKDTree(points[rows]).query(points[rows], 2)[0][:, 1]
    of_all = cKDTree(points).query(points[rows], 2)[0][:, 1]
    assert np.median(nearest) < 1.3 * np.median(of_all)


def test_a_search_on_some_labels_ends_where_one_on_all_does(monkeypatch):
    X, _, target = square(m=160)
    settings = {"residual_kernel": "auto", "n_residual_neighbors": 60}
    whole = model(**settings).fit(X, target)
    taken, plain = [], JointInference.part

    def part(self, count):
        taken.append(count)
        return plain(self, count)

    monkeypatch.setattr("flgp.process.local_search._SEARCH_LABELS", 80)
    monkeypatch.setattr(JointInference, "part", part)
    found = model(**settings).fit(X, target)
    assert taken == [80]
    values = found.log_marginal_likelihood_value_, whole.log_marginal_likelihood_value_
    assert values[0] == pytest.approx(values[1], abs=1.0)
    assert np.corrcoef(found.predict(X), whole.predict(X))[0, 1] > 0.99


def test_a_part_of_the_labels_has_the_dense_evidence_of_these():
    X, y, target = square(m=50)
    fitted = model(residual_kernel="matern32", n_residual_neighbors=50, mean="zero").fit(X, target)
    (function,), rows = relearned(fitted), compact_rows(X[~np.isnan(target)], 20)
    evidence, values = function.evidence, function.best.values
    found = evidence.inference.part(20).evaluate(evidence.point(values))
    K = fitted.covariance(X[rows])
    noisy = K + fitted.noise_variance_ * np.eye(len(rows))
    expected = multivariate_normal(np.zeros(len(rows)), noisy).logpdf(y[rows])
    assert found.log_evidence == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_few_labels(m):
    X, _, target = square(m=m)
    fitted = model().fit(X, target)
    mean, std = fitted.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert np.all(std > 0)
    assert model(residual="auto").fit(X, target).residual_variance_ == 0


def test_duplicates_average():
    X, y, _ = square(n=100)
    repeated = np.repeat(X, 4, axis=0)
    rng = np.random.default_rng(0)
    target = np.repeat(y, 4) + 0.5 * rng.standard_normal(400)
    fitted = model(residual_kernel="matern52").fit(repeated, target)
    assert fitted.noise_variance_ == pytest.approx(0.25, rel=0.3)
    assert np.mean((fitted.predict(X) - y) ** 2) < np.mean((target.reshape(100, 4).mean(axis=1) - y) ** 2)


def test_all_labels_in_one_place():
    X, _, target = square(m=50)
    X[:50] = X[0]
    target[:50] = 2.0 + 0.1 * np.random.default_rng(0).standard_normal(50)
    fitted = model(residual_kernel="matern52").fit(X, target)
    assert fitted.predict(X[:1])[0] == pytest.approx(target[:50].mean(), abs=0.05)


def test_equal_labels():
    X, _, _ = square()
    target = np.full(400, np.nan)
    target[:80] = 3.0
    mean, std = model().fit(X, target).predict(X, return_std=True)
    np.testing.assert_allclose(mean, 3.0, atol=0.01)
    assert std.max() < 0.2


def test_labels_in_one_corner():
    X, y, _ = square(n=600)
    order = np.argsort(X.sum(axis=1))
    X, y = X[order], y[order]
    target = np.where(np.arange(600) < 80, y, np.nan)
    mean, std = model().fit(X, target).predict(X, return_std=True)
    assert np.mean((mean - y)[:80] ** 2) < 0.1
    assert std[-100:].mean() > 2 * std[:80].mean()
    assert np.mean(np.abs(mean - y)[-300:] < 3 * std[-300:]) > 0.9


def test_more_neighbors_than_labels_are_all_labels():
    X, _, target = square(m=25)
    many = model(n_residual_neighbors=500, residual_kernel="matern32").fit(X, target)
    enough = model(n_residual_neighbors=25, residual_kernel="matern32").fit(X, target)
    np.testing.assert_array_equal(many.predict(X), enough.predict(X))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"residual": "global"}, "residual='global'"),
        ({"residual": True}, "residual=True"),
        ({"n_residual_neighbors": 0}, "n_residual_neighbors=0"),
        ({"n_residual_neighbors": -5}, "n_residual_neighbors=-5"),
        ({"n_residual_neighbors": 2.5}, "n_residual_neighbors=2.5"),
        ({"residual_kernel": "cubic"}, "residual_kernel='cubic'"),
        ({"hyperparameters": "fixed"}, "residual=None, or hyperparameters='optimize'"),
        ({"residual_columns": [2]}, "columns 0 to 1"),
        ({"residual_columns": ["depth"]}, "no column names"),
    ],
)
def test_bad_options(option, message):
    X, _, target = square()
    with pytest.raises(ValueError, match=message):
        model(**option).fit(X, target)


def test_auto_gives_other_likelihoods_a_local_term_by_features():
    X, _, target = square()
    counts = np.round(np.exp(target))
    fitted = model(likelihood="poisson", residual="auto").fit(X, counts)
    assert fitted.residual_variance_ > 0
    assert fitted.residual_kernel_ is None
    assert "local" in fitted.term_shares_
    few = np.where(np.arange(len(counts)) < 10, counts, np.nan)
    assert model(likelihood="poisson", residual="auto").fit(X, few).residual_variance_ == 0


def test_only_one_of_std_cov_and_parts():
    X, _, target = square()
    fitted = model(residual_kernel="matern12").fit(X, target)
    with pytest.raises(ValueError, match="one of return_std, return_cov and return_parts"):
        fitted.predict(X, return_std=True, return_parts=True)


def test_too_many_points_for_a_joint_draw():
    X, _, target = square()
    fitted = model(residual_kernel="matern12").fit(X, target)
    with pytest.raises(ValueError, match="at most 14,000 points at once"):
        fitted.sample_y(np.zeros((14_001, 2)))


def ring(m=300, n=1500):
    """A ring, and a local part with noise around what the caller adds; labels on the first m rows."""
    rng = np.random.default_rng(3)
    angle = rng.uniform(0.0, 2 * np.pi, n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    return X, angle, 0.3 * np.sin(40 * X[:, 0]) + 0.1 * rng.standard_normal(n), np.arange(n) < m


def turns(rng, n=1500):
    """A spiral of many turns close together, and the distance along it."""
    along = np.sqrt(rng.uniform(1.0, 40.0, n)) * 5.0
    return np.column_stack([np.cos(along), np.sin(along)]) * along[:, None] * 0.05, along


def few_at_first(monkeypatch, few, all_of_them):
    """Counts of eigenpairs as if there were many labels."""
    monkeypatch.setattr(
        "flgp.geometry.point_cloud.cloud.auto_eigenpairs", lambda s, m, sets: few if m == 0 else all_of_them
    )


def test_eigenpairs_that_the_labels_cannot_tell_about_are_left_out(monkeypatch):
    few_at_first(monkeypatch, 12, 60)
    X, angle, rest, labeled = ring()
    y = np.where(labeled, np.sin(angle) + rest, np.nan)
    options = {"n_anchors": 150, "n_residual_neighbors": 10, "linear": None, "random_state": 0}
    options["residual_kernel"] = "matern52"
    fitted = FLGPRegressor(residual="local", **options).fit(X, y)
    assert len(fitted.eigenvalues_) == 12
    # With all of them, at the same hyperparameters, the labels are no more and no less likely.
    whole = FLGPRegressor(residual="local", n_eigenpairs=60, **options).fit(X, y)
    (function,) = relearned(whole)
    (own,) = relearned(fitted)
    same = function.evidence.space.theta(own.best.values)
    with_all = function.evidence.evaluate(same)[0].log_evidence
    assert with_all == pytest.approx(own.best.evaluation.log_evidence, abs=0.5)
    np.testing.assert_allclose(fitted.predict(X), whole.predict(X), atol=0.1)


def test_eigenpairs_that_the_labels_tell_about_are_all_there(monkeypatch):
    few_at_first(monkeypatch, 8, 80)
    rng = np.random.default_rng(1)
    X, along = turns(rng)
    y = np.full(len(X), np.nan)
    y[:400] = (np.sin(1.5 * along) + 0.05 * rng.standard_normal(len(X)))[:400]
    options = {"n_anchors": 400, "n_residual_neighbors": 10, "linear": None, "random_state": 0}
    fitted = FLGPRegressor(**options).fit(X, y)
    assert len(fitted.eigenvalues_) == 80
    whole = FLGPRegressor(n_eigenpairs=80, **options).fit(X, y)
    assert fitted.log_marginal_likelihood_value_ > whole.log_marginal_likelihood_value_ - 1.0
    assert len(FLGPRegressor(residual=None, **options).fit(X, y).eigenvalues_) == 80
