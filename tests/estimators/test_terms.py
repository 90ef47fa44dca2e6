"""Covariates and groups beside the manifold: against dense formulas, other software and simulation."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

import flgp
from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor

pytestmark = pytest.mark.filterwarnings("ignore:.*connected part")
SMALL = {"n_anchors": 60, "n_eigenpairs": 20, "random_state": 0}


def problem(n=300, m=80, seed=0, levels=6):
    """A ring, two covariates of different size, and a group: columns 0-1, 2-3, 4."""
    rng = np.random.default_rng(seed)
    circle, angle = ring(n, seed=seed)
    covariates = rng.standard_normal((n, 2)) * [1.0, 100.0] + [0.0, 5000.0]
    group = rng.integers(0, levels, n).astype(float)
    effect = rng.standard_normal(levels)
    f = (
        np.sin(2 * angle)
        + 0.5 * covariates[:, 0]
        - 0.004 * (covariates[:, 1] - 5000)
        + effect[group.astype(int)]
    )
    y = f + 0.2 * rng.standard_normal(n)
    target = np.where(np.arange(n) < m, y, np.nan)
    return np.column_stack([circle, covariates, group]), y, target, f


ROLES = {"geometry_columns": [0, 1], "linear": [2, 3], "groups": [4]}


@pytest.mark.parametrize("residual", [None, "local"])
def test_is_the_dense_gp_with_the_sum_of_its_covariances(residual):
    X, y, target, _ = problem()
    model = FLGPRegressor(
        **ROLES, **SMALL, residual=residual, residual_kernel="matern32", n_residual_neighbors=80
    ).fit(X, target)
    names = ["constant", "manifold", "linear", "groups", *(["local"] if residual else [])]
    everything = X[:110]
    parts = {name: model.covariance(everything, term=name) for name in names}
    K = model.covariance(everything)
    np.testing.assert_allclose(K, sum(parts.values()), rtol=1e-10)
    # The linear term's kernel by its formula, and that of the groups.
    values = dict(zip(model.optimizer_result_.names, np.exp(model.optimizer_result_.theta), strict=True))
    standard = (everything[:, 2:4] - X[:, 2:4].mean(axis=0)) / X[:, 2:4].std(axis=0)
    np.testing.assert_allclose(
        parts["linear"], values["linear_variance"] / 2 * standard @ standard.T, rtol=1e-8
    )
    same = np.equal.outer(everything[:, 4], everything[:, 4])
    np.testing.assert_allclose(parts["groups"], values["group_variance"] * same, rtol=1e-10)
    S = K[:80, :80] + model.noise_variance_ * np.eye(80)
    offset = y[:80].mean()
    evidence = multivariate_normal(cov=S).logpdf(y[:80] - offset)
    assert model.log_marginal_likelihood_value_ == pytest.approx(evidence, abs=1e-5)
    mean, cov = model.predict(X[80:110], return_cov=True)
    gain = np.linalg.solve(S, K[:80, 80:]).T
    np.testing.assert_allclose(mean, offset + gain @ (y[:80] - offset), atol=1e-6)
    expected = K[80:, 80:] - gain @ K[:80, 80:] + model.noise_variance_ * np.eye(30)
    np.testing.assert_allclose(cov, expected, atol=1e-6)
    # Each part by the same formula.
    _, found = model.predict(X[80:110], return_parts=True)
    for name in names[1:]:
        cross = parts[name][80:, :80]
        np.testing.assert_allclose(found[name].mean, cross @ np.linalg.solve(S, y[:80] - offset), atol=1e-6)
        left = parts[name][80:, 80:] - cross @ np.linalg.solve(S, cross.T)
        np.testing.assert_allclose(found[name].variance, np.diag(left), atol=1e-6)
    np.testing.assert_allclose(sum(part.mean for part in found.terms.values()), mean, atol=1e-8)


def test_gradient_of_the_evidence():
    X, _, target, _ = problem()
    model = FLGPRegressor(**ROLES, **SMALL, residual="local", residual_kernel="matern32").fit(X, target)
    theta, h = model.optimizer_result_.theta + 0.1, 1e-5
    assert {"linear_variance", "group_variance", "residual_variance"} <= set(model.optimizer_result_.names)
    _, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    for i, step in enumerate(h * np.eye(len(theta))):
        numeric = model.log_marginal_likelihood(theta + step) - model.log_marginal_likelihood(theta - step)
        assert gradient[i] == pytest.approx(numeric / (2 * h), abs=1e-4)


def test_more_covariates_than_labels_is_the_same_model():
    """Features are then coordinates in the labels' own directions; the rest of x stays at its prior."""
    rng = np.random.default_rng(0)
    circle, _ = ring(200)
    X = np.column_stack([circle, rng.standard_normal((200, 70))])
    y = X[:, 2:] @ rng.standard_normal(70)
    target = np.where(np.arange(200) < 40, y, np.nan)
    roles = {"geometry_columns": [0, 1], "linear": list(range(2, 72)), "residual": None, "mean": "zero"}
    model = FLGPRegressor(**roles, **SMALL).fit(X, target)
    assert model._process_.layers[0].parts[1].n_features == 40
    K = model.covariance(X)
    standard = (X[:, 2:] - X[:, 2:].mean(axis=0)) / X[:, 2:].std(axis=0)
    values = dict(zip(model.optimizer_result_.names, np.exp(model.optimizer_result_.theta), strict=True))
    np.testing.assert_allclose(
        model.covariance(X, X[:5], term="linear"),
        values["linear_variance"] / 70 * standard @ standard[:5].T,
        atol=1e-10,
    )
    S = K[:40, :40] + model.noise_variance_ * np.eye(40)
    gain = np.linalg.solve(S, K[:40, 40:]).T
    mean, variance = model.latent_mean_and_variance(X[40:])
    np.testing.assert_allclose(mean, gain @ y[:40], atol=1e-6)
    np.testing.assert_allclose(variance, np.diag(K[40:, 40:] - gain @ K[:40, 40:]), atol=1e-6)
    draws = model.sample_f(X[40:43], 20_000, random_state=0)
    joint = (K[40:, 40:] - gain @ K[:40, 40:])[:3, :3]
    np.testing.assert_allclose(np.cov(draws), joint, atol=0.06 * joint.max())


@pytest.mark.parametrize(
    ("likelihood", "options"),
    [
        ("poisson", {}),
        ("negative_binomial", {}),
        ("student_t", {}),
        ("poisson", {"inference": "gibbs", "n_chains": 2, "n_draws": 60, "n_warmup": 30}),
        ("poisson", {"hyperparameters": "integrate"}),
        ("poisson", {"residual": "local", "residual_kernel": "matern32"}),
        ("gaussian", {"hyperparameters": "integrate", "base_kernel": "se"}),
        ("gaussian", {"n_anchor_sets": 2}),
    ],
)
@pytest.mark.filterwarnings("ignore:The chains")
def test_every_likelihood_and_inference_takes_every_term(likelihood, options, tmp_path):
    X, y, _, f = problem(n=200)
    rng = np.random.default_rng(1)
    counts = rng.poisson(np.exp(np.clip(0.7 * f, -3, 2))).astype(float)
    target = np.where(np.arange(200) < 70, y if likelihood in ("gaussian", "student_t") else counts, np.nan)
    model = FLGPRegressor(likelihood=likelihood, **ROLES, **SMALL, **options).fit(X, target)
    mean, std = model.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()
    assert np.corrcoef(mean[70:], y[70:])[0, 1] > 0.4
    np.testing.assert_allclose(model.transduction_, mean, rtol=1e-8)
    assert sum(model.term_shares_.values()) == pytest.approx(1.0)
    flgp.save(model, tmp_path / "m.flgp")
    np.testing.assert_array_equal(flgp.load(tmp_path / "m.flgp").predict(X), model.predict(X))
    assert model.sample_y(X[:4], 3).shape == (4, 3)
    model.update(X[70:75], target[:5])
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "coupled"])
def test_classes_take_them_too(multi_class):
    X, y, _, _ = problem()
    classes = np.digitize(y, [-0.7, 0.7])
    target = np.where(np.arange(300) < 80, classes, -1)
    with_terms = FLGPClassifier(multi_class=multi_class, **ROLES, **SMALL).fit(X, target)
    without = FLGPClassifier(multi_class=multi_class, geometry_columns=[0, 1], **SMALL).fit(X, target)
    p = with_terms.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    right = [np.mean(model.predict(X)[80:] == classes[80:]) for model in (with_terms, without)]
    assert right[0] > right[1] + 0.1


def test_an_unseen_level_gets_the_prior_and_one_effect_for_all_its_rows():
    X, _, target, _ = problem()
    model = FLGPRegressor(**ROLES, **SMALL, residual=None).fit(X, target)
    new = X[100:104].copy()
    new[:, 4] = [77.0, 77.0, 78.0, 1.0]
    _, parts = model.predict(new, return_parts=True)
    variance = model.covariance(new[:1], term="groups")[0, 0]
    np.testing.assert_allclose(parts["groups"].mean[:3], 0.0)
    np.testing.assert_allclose(parts["groups"].variance[:3], variance)
    assert parts["groups"].variance[3] < variance / 4
    joint = model.covariance(new, term="groups")
    np.testing.assert_allclose(joint / variance, [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    shift = model.sample_f(new, 4000, random_state=0)
    same = new[:2].copy()
    same[:, :4] = same[0, :4]
    np.testing.assert_allclose(*model.sample_f(same, 5, random_state=0), rtol=1e-8)
    assert shift.std(axis=1)[0] ** 2 > variance


def test_names_of_columns_and_of_levels():
    X, _, target, _ = problem()
    frame = pd.DataFrame(X, columns=["a", "b", "dose", "weight", "site"])
    frame["site"] = [f"site {int(level)}" for level in X[:, 4]]
    named = {"geometry_columns": ["a", "b"], "linear": ["dose", "weight"], "groups": "site"}
    by_name = FLGPRegressor(**named, **SMALL, residual=None).fit(frame, target)
    by_number = FLGPRegressor(**ROLES, **SMALL, residual=None).fit(X, target)
    np.testing.assert_allclose(by_name.predict(frame), by_number.predict(X), rtol=1e-10)
    frame.loc[0, "site"] = "nowhere"
    assert np.isfinite(by_name.predict(frame)).all()
    _, parts = by_name.predict(frame.iloc[:1], return_parts=True)
    assert parts["groups"].mean[0] == 0.0


def test_all_covariates_are_those_that_are_no_groups():
    X, _, target, _ = problem()
    model = FLGPRegressor(geometry_columns=[0, 1], linear="all", groups=[4], **SMALL).fit(X, target)
    np.testing.assert_array_equal(model._roles_.linear, [0, 1, 2, 3])


def test_the_share_of_each_term_is_that_of_the_simulation():
    rng = np.random.default_rng(0)
    circle, angle = ring(2000)
    parts = {"manifold": np.sin(3 * angle), "linear": 0.5 * rng.standard_normal(2000)}
    X = np.column_stack([circle, parts["linear"]])
    y = sum(parts.values()) + 0.1 * rng.standard_normal(2000)
    model = FLGPRegressor(geometry_columns=[0, 1], linear=[2], residual=None, random_state=0).fit(X, y)
    total = sum(np.var(part) for part in parts.values())
    for name, part in parts.items():
        assert model.term_shares_[name] == pytest.approx(np.var(part) / total, abs=0.02)


def test_random_intercepts_are_those_of_statsmodels():
    """Without a manifold: the variances, the mean and the predicted effects of a mixed linear model.

    Our constant is integrated out, as REML does; the prior of the variance counts like one group of 200.
    """
    mixed = pytest.importorskip("statsmodels.regression.mixed_linear_model")
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(200), 10)
    y = 3.0 + 0.8 * rng.standard_normal(200)[group] + 0.5 * rng.standard_normal(2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = mixed.MixedLM(y, np.ones((2000, 1)), group).fit(reml=True)
    X = np.column_stack([rng.standard_normal(2000), group])
    ours = FLGPRegressor(groups=[1], amplitude=0, residual=None, random_state=0).fit(X, y)
    values = dict(zip(ours.optimizer_result_.names, np.exp(ours.optimizer_result_.theta), strict=True))
    assert values["group_variance"] == pytest.approx(float(np.ravel(theirs.cov_re)[0]), rel=0.01)
    assert values["noise_variance"] == pytest.approx(theirs.scale, rel=0.005)
    _, parts = ours.predict(np.column_stack([np.zeros(200), np.arange(200)]), return_parts=True)
    effects = np.array([np.ravel(theirs.random_effects[g])[0] for g in range(200)])
    found = parts["groups"].mean + parts["constant"].mean - np.ravel(theirs.fe_params)[0]
    np.testing.assert_allclose(found, effects, atol=0.005)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"linear": [9]}, "linear has 9, but X has the columns 0 to 4"),
        ({"linear": "dose"}, "X has no column names. Give positions"),
        ({"linear": [1, 1]}, "none twice"),
        ({"linear": [4], "groups": [4]}, "Column 4 is in linear and in groups"),
        ({"geometry_columns": [0, 4], "groups": [4]}, "Column 4 is in geometry_columns and in groups"),
        ({"groups": [0, 1, 2, 3, 4]}, "Leave at least one for the geometry"),
        ({"geometry_columns": []}, "at least one column"),
        ({"linear": None, "linear_steps": 2}, "there are none. Name columns"),
        ({"linear": [2], "linear_steps": 2}, "walks along a graph"),
        ({"linear": [2], "linear_steps": -1}, "linear_steps=-1 must be an integer of at least 0"),
        ({"linear": 3.5}, "must be columns of X"),
        ({"amplitude": 0}, "no other term"),
        ({"geometry": "sphere"}, "is not a geometry"),
        ({"linear": [2], "hyperparameters": "fixed"}, "linear_variance"),
    ],
)
def test_wrong_columns_are_refused(options, message):
    X, _, target, _ = problem()
    model = FLGPRegressor(**SMALL, **options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, target)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_groups_with_missing_values_are_refused():
    X, _, target, _ = problem()
    X[7, 4] = np.nan
    with pytest.raises(ValueError, match=r"groups column 4 has missing values, the first in row 7"):
        FLGPRegressor(groups=[4], **SMALL).fit(X, target)
    frame = pd.DataFrame({"a": X[:, 0], "site": ["x", None] * 150})
    with pytest.raises(ValueError, match=r"groups column 'site' has missing values, the first in row 1"):
        FLGPRegressor(groups="site", **SMALL).fit(frame, target)


def test_a_target_of_one_column_keeps_its_axis_everywhere():
    X, _, target, _ = problem()
    flat = FLGPRegressor(**SMALL).fit(X, target)
    column = FLGPRegressor(**SMALL).fit(X, target[:, None])
    assert column.predict(X).shape == column.latent_mean_and_variance(X)[0].shape == (300, 1)
    assert column.latent_interval(X).shape == column.predict_interval(X).shape == (300, 2, 1)
    assert column.sample_f(X, 4).shape == column.sample_y(X, 4).shape == (300, 1, 4)
    assert column.predict(X[:5], return_cov=True)[1].shape == (5, 5, 1)
    assert column.predict(X, return_parts=True)[1]["manifold"].mean.shape == (300, 1)
    np.testing.assert_array_equal(column.predict(X)[:, 0], flat.predict(X))


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "coupled"])
def test_classes_have_a_constant_beside_covariates(multi_class):
    X, y, _, _ = problem()
    target = np.where(np.arange(300) < 80, np.digitize(y, [1.0, 2.0]), -1)
    options = {"multi_class": multi_class, **ROLES, **SMALL}
    auto, zero, constant = (FLGPClassifier(mean=mean, **options) for mean in ("auto", "zero", "constant"))
    for model in (auto, zero, constant):
        model.fit(X, target)
    np.testing.assert_array_equal(auto.predict_proba(X), constant.predict_proba(X))
    assert (auto.covariance(X[:2], term="constant") > 0).all()
    assert (zero.covariance(X[:2], term="constant") == 0).all()
    # Far away from everything the classes have about their shares.
    far = np.concatenate([[[50.0, 50.0]], [X[:, 2:4].mean(axis=0)], [[99.0]]], axis=None).reshape(1, -1)
    shares = np.bincount(target[:80]) / 80
    assert np.abs(auto.predict_proba(far) - shares).max() < np.abs(zero.predict_proba(far) - shares).max()
