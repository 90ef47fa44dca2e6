"""New labels on an old graph: the same model as a fit that saw them all."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import flgp
from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor
from flgp.baselines import GLGPRegressor

SMALL = {"n_anchors": 50, "n_eigenpairs": 20, "random_state": 0, "n_jobs": 1}
CHAINS = {"n_chains": 2, "n_draws": 40, "n_warmup": 10}


@pytest.fixture(scope="module")
def points():
    X, angle = ring(300, noise=0.02)
    return X, angle, np.sin(2 * angle) + 0.1 * np.random.default_rng(1).standard_normal(300)


def first(y, count, missing=np.nan):
    """Only the first labels."""
    return np.where(np.arange(len(y)) < count, y, missing)


REGRESSORS = {
    "exact": {},
    "no residual": {"residual": None},
    "residual": {"residual": "local", "residual_kernel": "matern32"},
    "integrated": {"hyperparameters": "integrate", "residual": None},
    "bandwidth": {"base_kernel": "se", "bandwidth": 0.2},
    "student": {"likelihood": "student_t"},
    "paper's prior": {"time_prior": "paper", "residual": None},
}


@pytest.mark.parametrize("options", REGRESSORS.values(), ids=REGRESSORS)
def test_regression_equals_a_fit_with_all_labels(points, options):
    X, _, y = points
    model = FLGPRegressor(**SMALL, **options)
    whole = FLGPRegressor(**SMALL, **options).fit(X, first(y, 60))
    assert model.fit(X, first(y, 30)).update(X[30:60], y[30:60]) is model
    np.testing.assert_allclose(
        model.predict(X, return_std=True), whole.predict(X, return_std=True), rtol=0, atol=1e-10
    )
    assert model.log_marginal_likelihood_value_ == pytest.approx(whole.log_marginal_likelihood_value_, 1e-12)
    assert model.residual_kernel_ == whole.residual_kernel_
    assert not hasattr(model, "transduction_")  # it would tell of fewer labels


@pytest.mark.parametrize("likelihood", ["poisson", "negative_binomial", "binomial", "gamma"])
def test_counts_with_what_is_known_of_each_row(points, likelihood):
    X, angle, _ = points
    rng = np.random.default_rng(2)
    count = rng.poisson(np.exp(1 + np.sin(angle))).astype(float)
    known, y = {}, count
    if likelihood in ("poisson", "negative_binomial"):
        known = {"exposure": rng.uniform(0.5, 2.0, 300)}
    elif likelihood == "binomial":
        known = {"trials": count + rng.integers(1, 5, 300)}
    else:
        y = count + 0.5
    whole = FLGPRegressor(likelihood=likelihood, **SMALL).fit(X, first(y, 60), **known)
    model = FLGPRegressor(likelihood=likelihood, **SMALL).fit(X, first(y, 30), **known)
    model.update(X[30:60], y[30:60], **{name: values[30:60] for name, values in known.items()})
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=0, atol=1e-10)


CLASSIFIERS = {
    "ep": {},
    "laplace": {"inference": "laplace"},
    "coupled": {"multi_class": "coupled"},
    "integrated": {"hyperparameters": "integrate"},
    "gibbs": {"inference": "gibbs", **CHAINS},
}


@pytest.mark.filterwarnings("ignore:.*R-hat")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("options", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_classification_equals_a_fit_with_all_labels(points, options, classes):
    if "inference" in options and options["inference"] == "gibbs":
        pytest.importorskip("polyagamma")
    X, angle, _ = points
    y = (classes * angle / 6.2832).astype(int)
    whole = FLGPClassifier(**SMALL, **options).fit(X, first(y, 40, -1))
    model = FLGPClassifier(**SMALL, **options).fit(X, first(y, 20, -1)).update(X[20:40], y[20:40])
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-10)
    assert hasattr(model, "chains_") == hasattr(whole, "chains_")


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "coupled"])
@pytest.mark.parametrize("start", [1, 2])
def test_new_classes_appear(points, multi_class, start):
    X, angle, _ = points
    y = np.array(["east", "north", "westward"])[(3 * angle / 6.2832).astype(int)]
    few = np.concatenate([np.flatnonzero(y == name)[:4] for name in ("westward", "north")[:start]])
    rest = np.setdiff1d(np.arange(40), few)
    model = FLGPClassifier(multi_class=multi_class, **SMALL)
    model.fit(X, [name if i in few else None for i, name in enumerate(y)])
    assert len(model.classes_) == start
    kept = pickle.loads(pickle.dumps(model)).update(X[rest], y[rest], relearn=False)
    model.update(X[rest], y[rest])
    assert list(model.classes_) == list(kept.classes_) == ["east", "north", "westward"]
    assert np.mean(model.predict(X) == y) > 0.9
    assert np.mean(kept.predict(X) == y) > 0.9


def test_kept_hyperparameters_equal_given_ones(points):
    X, _, y = points
    model = FLGPRegressor(residual=None, linear=None, **SMALL).fit(X, first(y, 30))
    given = {name: getattr(model, f"{name}_") for name in ("diffusion_time", "amplitude", "noise_variance")}
    # In any order, and in several steps.
    for rows in np.split(np.random.default_rng(0).permutation(np.arange(30, 90)), 4):
        model.update(X[rows], y[rows], relearn=False)
        assert {name: getattr(model, f"{name}_") for name in given} == pytest.approx(given, rel=1e-12)
    whole = FLGPRegressor(residual=None, hyperparameters="fixed", **given, **SMALL).fit(X, first(y, 90))
    # The constant's prior comes from the labels, the same here.
    np.testing.assert_allclose(
        model.predict(X, return_std=True), whole.predict(X, return_std=True), rtol=0, atol=1e-10
    )


def test_a_residual_is_kept_with_its_values(points):
    X, _, y = points
    model = FLGPRegressor(residual="local", **SMALL).fit(X, first(y, 40))
    names = ["residual_kernel_", "residual_length_scale_", "residual_variance_", "noise_variance_"]
    before = [getattr(model, name) for name in names]
    error = np.abs(model.predict(X[40:80]) - y[40:80]).max()
    model.update(X[40:80], y[40:80], relearn=False)
    assert model.residual_kernel_ == before[0]
    assert [getattr(model, name) for name in names[1:]] == pytest.approx(before[1:], rel=1e-12)
    assert np.abs(model.predict(X[40:80]) - y[40:80]).max() < error
    value = model.log_marginal_likelihood()
    assert value == pytest.approx(model.log_marginal_likelihood_value_)


def test_kept_classes_keep_their_own_values(points):
    X, angle, _ = points
    y = (4 * angle / 6.2832).astype(int)
    few = np.flatnonzero(y[:60] < 3)
    known = np.where(np.isin(np.arange(300), few), y, -1)
    model = FLGPClassifier(multi_class="one_vs_rest", **SMALL).fit(X, known)
    times = model.diffusion_time_
    rest = np.setdiff1d(np.arange(60), few)
    model.update(X[rest], y[rest], relearn=False)
    assert list(model.diffusion_time_[:3]) == list(times)
    assert len(model.diffusion_time_) == 4
    coupled = FLGPClassifier(**SMALL).fit(X, known)
    time = coupled.diffusion_time_
    coupled.update(X[rest], y[rest], relearn=False)
    assert coupled.diffusion_time_ == time
    assert coupled.predict_proba(X).shape == (300, 4)


def test_all_labels_at_once_replace_those_before(points):
    X, _, y = points
    wrong = first(y, 50) + 5.0
    whole = FLGPRegressor(**SMALL).fit(X, first(y, 50))
    model = FLGPRegressor(**SMALL).fit(X, wrong).update(X, first(y, 50), replace=True)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=0, atol=1e-10)


def test_a_second_label_at_the_same_point_is_one_more(points):
    X, _, y = points
    model = FLGPRegressor(**SMALL, residual=None).fit(X, first(y, 30))
    _, sd = model.latent_mean_and_variance(X[:1])
    model.update(X[:1], y[:1], relearn=False)
    assert len(model._labels_) == 31
    assert model.latent_mean_and_variance(X[:1])[1] < sd


def test_several_targets_get_labels_at_different_times(points):
    X, angle, y = points
    targets = np.column_stack([y, np.cos(angle)])
    few, more = np.full((300, 2), np.nan), np.full((300, 2), np.nan)
    few[:30], more[:30] = targets[:30], targets[:30]
    more[30:50, 1] = targets[30:50, 1]
    model = FLGPRegressor(**SMALL).fit(X, few).update(X[30:50], more[30:50])
    whole = FLGPRegressor(**SMALL).fit(X, more)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=0, atol=1e-10)


def test_the_graph_is_not_touched_and_inputs_are_not_changed(points):
    X, _, y = points
    model = FLGPRegressor(**SMALL).fit(X, first(y, 30))
    basis, anchors = model.basis_, model.anchors_
    new, labels = X[30:40].copy(), y[30:40].copy()
    model.update(new, labels)
    assert model.anchors_ is anchors
    assert model.basis_ is basis
    assert np.array_equal(new, X[30:40])
    assert np.array_equal(labels, y[30:40])


def test_a_searched_bandwidth_stays(points):
    X, _, y = points
    model = FLGPRegressor(base_kernel="se", residual=None, **SMALL).fit(X, first(y, 30))
    bandwidth = model.bandwidth_
    model.update(X[30:60], y[30:60])
    assert model.bandwidth_ == bandwidth
    whole = FLGPRegressor(base_kernel="se", bandwidth=bandwidth, residual=None, **SMALL).fit(X, first(y, 60))
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=0, atol=1e-10)


def test_baselines_update_too(points):
    X, _, y = points
    options = {"n_landmarks": 60, "n_eigenpairs": 20, "bandwidth": 0.2, "random_state": 0}
    model = GLGPRegressor(**options).fit(X, first(y, 30)).update(X[30:60], y[30:60])
    whole = GLGPRegressor(**options).fit(X, first(y, 60))
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=0, atol=1e-10)


def test_saved_and_pickled_models_update(points, tmp_path):
    X, _, y = points
    model = FLGPRegressor(**SMALL).fit(X, first(y, 30), sample_weight=np.linspace(1, 2, 300))
    flgp.save(model, tmp_path / "m.flgp")
    others = [flgp.load(tmp_path / "m.flgp"), pickle.loads(pickle.dumps(model))]
    expected = model.update(X[30:40], y[30:40]).predict(X)
    for other in others:
        np.testing.assert_allclose(other.update(X[30:40], y[30:40]).predict(X), expected, atol=1e-10)


def test_errors_say_what_to_do_and_leave_the_model_as_it_was(points):
    X, angle, y = points
    model = FLGPRegressor(likelihood="poisson", **SMALL).fit(X, first(np.round(y + 2), 30))
    before = model.predict(X)
    cases = [
        ((X[:2, :1], y[:2]), "features"),
        ((X[:2], y[:3]), "y has 3 rows but X has 2"),
        ((X[:2], [[1.0], [2.0]]), r"shape \(k,\), as in fit, not \(2, 1\)"),
        ((X[:2], [1.5, 2.0]), "whole numbers"),
        ((X[:2], ["a", "b"]), "y must be numbers"),
    ]
    for arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            model.update(*arguments)
    with pytest.raises(ValueError, match="no labelled row"):
        model.update(X[:2], [np.nan, np.nan], replace=True)
    with pytest.raises(ValueError, match="trials"):
        model.update(X[:2], [1.0, 2.0], trials=[2.0, 2.0])
    assert np.array_equal(model.predict(X), before)
    assert np.array_equal(model.update(X[:1], [np.nan]).predict(X), before)  # nothing new
    whole = FLGPRegressor(hyperparameters="integrate", residual=None, **SMALL).fit(X, first(y, 30))
    with pytest.raises(ValueError, match="relearn=True"):
        whole.update(X[30:31], y[30:31], relearn=False)
    numbers = FLGPClassifier(**SMALL).fit(X, first(angle > 3, 30, -1).astype(int))
    with pytest.raises(ValueError, match="same kind"):
        numbers.update(X[:1], ["north"])
    assert numbers.update(X[30:31], [1.0]).classes_.dtype == int
    with pytest.raises(NotFittedError):
        FLGPRegressor().update(X, y)
    del model._labels_  # as in files of the first release
    with pytest.raises(ValueError, match="does not hold the labels"):
        model.update(X[:1], [1.0])
    assert model.update(X[:50], np.round(y[:50] + 2), replace=True).predict(X[:3]).shape == (3,)


def test_labels_far_off_the_data_are_warned_about():
    X, angle = ring(200)
    model = FLGPRegressor(random_state=0).fit(X, np.sin(angle))
    model.update(X[:2] * 1.001, np.sin(angle[:2]))  # near: no warning, which would be an error here
    with pytest.warns(UserWarning, match="1 of 2 new label"):
        model.update(np.array([X[0], [50.0, 50.0]]), [0.0, 1.0])
