"""The estimators among scikit-learn's tools: copies, pipelines, searches, data frames, routed arguments."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import Ridge
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures
from flgp.likelihoods import StudentT
from flgp.model_selection import LabeledKFold
from flgp.priors import LogNormal

SMALL = {"n_anchors": 40, "n_eigenpairs": 15, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def points():
    X, angle = ring(240, noise=0.02)
    return X, angle, np.sin(angle) + 0.1 * np.random.default_rng(1).standard_normal(240)


@pytest.mark.parametrize(
    "estimator",
    [
        FLGPRegressor(likelihood=StudentT(4.0), time_prior=LogNormal(10.0, 1.0), anchors=np.eye(2), **SMALL),
        FLGPClassifier(multi_class="coupled", unlabeled="?", **SMALL),
        HeatKernelFeatures(n_neighbors=5, random_state=np.random.RandomState(3)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_clone_copies_every_parameter_and_nothing_learned(estimator, points):
    X, _, y = points
    copy = clone(estimator)
    assert type(copy) is type(estimator)
    for name, value in estimator.get_params().items():
        other = copy.get_params()[name]
        if isinstance(value, np.ndarray):
            assert np.array_equal(value, other)
        elif not isinstance(value, np.random.RandomState):
            assert value == other
    learned = clone(FLGPRegressor(**SMALL).fit(X, y))
    assert not [name for name in vars(learned) if name.endswith("_")]


def test_a_pipeline_scales_before_the_graph(points):
    X, _, y = points
    stretched = X * [1000.0, 1.0]
    scaler = StandardScaler().fit(stretched)
    model = make_pipeline(StandardScaler(), FLGPRegressor(**SMALL)).fit(stretched, y)
    direct = FLGPRegressor(**SMALL).fit(scaler.transform(stretched), y)
    np.testing.assert_allclose(model.predict(stretched), direct.predict(scaler.transform(stretched)))
    mean, sd = model.predict(stretched, return_std=True)
    assert mean.shape == sd.shape == (240,)


def test_grid_search_finds_the_better_setting(points):
    X, angle, _ = points
    y = np.sin(4 * angle)
    grid = {"n_eigenpairs": [2, 30], "kernel": ["heat", "matern"]}
    # A local term would explain the waves that two eigenfunctions cannot.
    model = FLGPRegressor(residual=None, **SMALL)
    search = GridSearchCV(model, grid, cv=KFold(3, shuffle=True, random_state=0)).fit(X, y)
    assert search.best_params_["n_eigenpairs"] == 30
    assert search.best_score_ > 0.9
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_cross_val_score_with_scores_of_probabilities(points):
    X, angle, _ = points
    y = (angle > np.pi).astype(int)
    for scoring in ("accuracy", "neg_log_loss", "roc_auc", "neg_brier_score"):
        scores = cross_val_score(FLGPClassifier(**SMALL), X, y, cv=3, scoring=scoring, error_score="raise")
        assert np.isfinite(scores).all()
    partly = np.where(np.arange(240) % 3 == 0, y, -1)
    scores = cross_val_score(FLGPClassifier(**SMALL), X, partly, cv=LabeledKFold(3, random_state=0))
    assert scores.mean() > 0.9


def test_calibration_by_cross_validation(points):
    X, angle, _ = points
    rng = np.random.default_rng(2)
    y = (rng.random(240) < 0.5 + 0.4 * np.sin(angle)).astype(int)
    model = CalibratedClassifierCV(FLGPClassifier(**SMALL), cv=3).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert brier_score_loss(y, p[:, 1]) < 0.22
    three = CalibratedClassifierCV(FLGPClassifier(**SMALL), cv=3)
    assert three.fit(X, (angle / 2.1).astype(int)).predict_proba(X).shape == (240, 3)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_features_come_out_as_data_frames(points, package):
    frames = pytest.importorskip(package)
    X, _, y = points
    frame = frames.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    features = HeatKernelFeatures(**SMALL).set_output(transform=package)
    out = features.fit_transform(frame)
    assert isinstance(out, frames.DataFrame)
    assert list(out.columns) == list(features.get_feature_names_out())
    np.testing.assert_allclose(out.to_numpy(), HeatKernelFeatures(**SMALL).fit_transform(X))
    if package == "pandas":
        shifted = frame.set_index(frame.index + 1000)
        assert list(features.transform(shifted).index) == list(shifted.index)
    piped = make_pipeline(HeatKernelFeatures(**SMALL), Ridge(0.01)).set_output(transform=package)
    assert piped.fit(frame, y).score(frame, y) > 0.9


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_data_frames_in(points, package):
    frames = pytest.importorskip(package)
    X, angle, y = points
    frame = frames.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    other = frames.DataFrame({"b": X[:, 1], "a": X[:, 0]})
    few = np.where(np.arange(240) < 60, y, np.nan)
    model = FLGPRegressor(**SMALL).fit(frame, frames.Series(few))
    assert list(model.feature_names_in_) == ["a", "b"]
    np.testing.assert_allclose(model.predict(frame), FLGPRegressor(**SMALL).fit(X, few).predict(X))
    model.update(frame[60:80], frames.Series(y[60:80])).score(frame, frames.Series(y))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(other)
    names = frames.Series([("n" if a < 3 else "s") if i % 3 == 0 else None for i, a in enumerate(angle)])
    classifier = FLGPClassifier(**SMALL).fit(frame, names)
    assert list(classifier.classes_) == ["n", "s"]
    assert classifier.score(frame, names) > 0.9


def _routed(estimator, X, y, params, cv=3):
    """The same folds with routing and by hand."""
    folds, options = KFold(cv), {"return_estimator": True, "error_score": "raise"}
    found = cross_validate(estimator, X, y, params=params, cv=folds, **options)
    by_hand = []
    for train, _ in folds.split(X):
        given = {name: values[train] for name, values in params.items()}
        by_hand.append(clone(estimator).fit(X[train], y[train], **given))
    return found["estimator"], by_hand


@pytest.mark.parametrize(
    ("likelihood", "argument"),
    [
        ("gaussian", "sample_weight"),
        ("gaussian", "noise_scale"),
        ("poisson", "exposure"),
        ("negative_binomial", "exposure"),
        ("binomial", "trials"),
        ("classes", "sample_weight"),
    ],
)
def test_routed_arguments_reach_fit(points, likelihood, argument):
    X, angle, y = points
    X, angle, y = X[:90], angle[:90], y[:90]
    rng = np.random.default_rng(3)
    values = rng.uniform(0.5, 3.0, 90)
    estimator = FLGPRegressor(likelihood=likelihood, **SMALL) if likelihood != "classes" else None
    if likelihood == "classes":
        estimator, y = FLGPClassifier(**SMALL), (angle > np.pi).astype(int)
    elif likelihood == "binomial":
        values = rng.integers(2, 6, 90).astype(float)
        y = np.floor(values * rng.random(90))
    elif likelihood != "gaussian":
        y = rng.poisson(values * np.exp(np.sin(angle))).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator.set_fit_request(**{argument: True})
        if argument in ("sample_weight", "exposure", "trials"):
            estimator.set_score_request(**{argument: argument != "sample_weight"})
        found, expected = _routed(estimator, X, y, {argument: values})
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.predict(X), other.predict(X))
    plain = clone(estimator).fit(X[30:], y[30:]) if likelihood != "binomial" else None
    if plain is not None:  # and they matter
        assert not np.array_equal(plain.optimizer_result_.theta, found[0].optimizer_result_.theta)


def test_unasked_arguments_are_refused_by_the_router(points):
    X, _, y = points
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(sklearn.exceptions.UnsetMetadataPassedError),
    ):
        cross_validate(FLGPRegressor(**SMALL), X, y, params={"noise_scale": np.ones(240)}, cv=3)
