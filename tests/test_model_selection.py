"""Held-out rows are labelled ones, stay in the graph, and their labels are out of sight."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor
from flgp.model_selection import LabeledKFold, Transductive, cross_validate_labeled

SMALL = {"n_anchors": 40, "n_eigenpairs": 15, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def points():
    X, angle = ring(240, noise=0.02)
    y = np.sin(angle) + 0.1 * np.random.default_rng(1).standard_normal(240)
    return X, np.where(np.arange(240) % 6 == 0, y, np.nan), angle


def classes(angle, unlabeled=-1):
    return np.where(np.arange(240) % 4 == 0, (angle > np.pi).astype(int), unlabeled)


@pytest.mark.parametrize("marker", [-1, None, "nan"])
def test_folds_partition_the_labelled_rows_and_share_out_the_classes(points, marker):
    X, _, angle = points
    y = classes(angle)
    if marker is None:
        y = np.array([None if v == -1 else v for v in y], dtype=object)
    elif marker == "nan":
        y = np.where(y == -1, np.nan, y)
    labelled = np.flatnonzero(np.arange(240) % 4 == 0)
    folds = list(LabeledKFold(5, random_state=3).split(X, y))
    assert np.array_equal(np.sort(np.concatenate([test for _, test in folds])), labelled)
    for train, test in folds:
        assert len(np.intersect1d(train, test)) == 0
        assert len(train) + len(test) == 240
        share = (y[test] == 1).mean() - (y[labelled] == 1).mean()
        assert abs(share) < 1.01 / len(test)
    again = list(LabeledKFold(5, random_state=3).split(X, y))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(folds, again, strict=True))
    assert not np.array_equal(folds[0][1], next(LabeledKFold(5, random_state=4).split(X, y))[1])


def test_folds_of_a_number_span_its_range(points):
    X, y, _ = points
    known = y[~np.isnan(y)]
    for _, test in LabeledKFold(4, random_state=0).split(X, y):
        assert np.isin(np.digitize(y[test], np.quantile(known, [0.25, 0.5, 0.75])), range(4)).all()
        assert set(np.digitize(y[test], np.quantile(known, [0.25, 0.5, 0.75]))) == set(range(4))


def test_minus_one_is_a_number_among_fractions():
    y = np.array([-1.0, 2.0, np.nan, 3.0])
    tests = np.concatenate([test for _, test in LabeledKFold(3).split(y, y)])
    assert sorted(tests) == [0, 1, 3]
    several = np.array([[1.0, 2.0], [np.nan, 2.0], [3.0, 4.0]])
    assert sorted(np.concatenate([test for _, test in LabeledKFold(2).split(several, several)])) == [0, 2]


def test_scores_are_those_of_fits_with_hidden_labels(points):
    X, y, _ = points
    cv = LabeledKFold(4, random_state=0)
    found = cross_validate_labeled(FLGPRegressor(**SMALL), X, y, cv=4)["test_score"]
    expected = []
    for _, test in cv.split(X, y):
        hidden = y.copy()
        hidden[test] = np.nan
        expected.append(FLGPRegressor(**SMALL).fit(X, hidden).score(X[test], y[test]))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found.mean() > 0.8


def test_held_out_labels_cannot_leak(points):
    X, y, _ = points
    cv, rows = LabeledKFold(4, random_state=0), np.arange(240)[:, None]
    train, test = next(cv.split(X, y))
    wrong = y.copy()
    wrong[test] = 1e6
    model = Transductive(FLGPRegressor(**SMALL), X)
    first = clone(model).fit(rows[train], y[train]).predict(rows[test])
    second = clone(model).fit(rows[train], wrong[train]).predict(rows[test])
    assert np.array_equal(first, second)
    # The graph is that of all rows, the same in every fold.
    parts = [clone(model).fit(rows[train], y[train]).estimator_ for train, _ in cv.split(X, y)]
    assert all(np.array_equal(part.anchors_, parts[0].anchors_) for part in parts)
    assert all(part.geometry_.graph.n_rows == 240 for part in parts)


@pytest.mark.parametrize("scoring", [None, "accuracy", "neg_log_loss", "roc_auc"])
def test_grid_search_over_classes(points, scoring):
    X, _, angle = points
    y = np.array(["in", "out"])[(angle > np.pi).astype(int)].astype(object)
    y[np.arange(240) % 4 != 0] = None
    model = Transductive(make_pipeline(StandardScaler(), FLGPClassifier(**SMALL)), X)
    grid = {"estimator__flgpclassifier__n_neighbors": [3, 4]}
    search = GridSearchCV(model, grid, cv=LabeledKFold(3, random_state=0), scoring=scoring)
    search.fit(np.arange(240)[:, None], y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["estimator__flgpclassifier__n_neighbors"] in (3, 4)
    new, new_angle = ring(100, seed=5, noise=0.02)
    right = search.best_estimator_.estimator_.predict(new) == np.where(new_angle > np.pi, "out", "in")
    assert right.mean() > 0.9
    assert search.predict_proba(np.arange(5)[:, None]).shape == (5, 2)


def test_rows_of_data_frames_and_row_values(points):
    pandas = pytest.importorskip("pandas")
    X, y, _ = points
    frame = pandas.DataFrame(X, columns=["a", "b"])
    weight = np.linspace(0.5, 2.0, 240)
    found = cross_validate_labeled(
        FLGPRegressor(**SMALL), frame, y, cv=3, params={"sample_weight": weight}, return_estimator=True
    )
    assert list(found["estimator"][0].estimator_.feature_names_in_) == ["a", "b"]
    _, test = next(LabeledKFold(3, random_state=0).split(X, y))
    hidden = y.copy()
    hidden[test] = np.nan
    expected = FLGPRegressor(**SMALL).fit(X, hidden, sample_weight=weight).score(X[test], y[test])
    assert found["test_score"][0] == pytest.approx(expected, abs=1e-12)


def test_routed_weights_reach_fit_and_score(points):
    X, y, _ = points
    weight = np.linspace(0.5, 2.0, 240)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = (
            FLGPRegressor(**SMALL).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        )
        found = cross_validate_labeled(inner, X, y, cv=3, params={"sample_weight": weight})["test_score"]
    plain = cross_validate_labeled(FLGPRegressor(**SMALL), X, y, cv=3, params={"sample_weight": weight})
    np.testing.assert_allclose(found, plain["test_score"], atol=1e-12)


def test_predictions_of_held_out_rows(points):
    X, _, angle = points
    y = (angle > np.pi).astype(int)
    model = Transductive(FLGPClassifier(**SMALL), X)
    found = cross_val_predict(model, np.arange(240)[:, None], y, cv=LabeledKFold(3, random_state=0))
    assert (found == y).mean() > 0.95


def test_the_splitter_alone_serves_scikit_learn(points):
    X, y, _ = points
    scores = cross_val_score(FLGPRegressor(**SMALL), X, y, cv=LabeledKFold(4, random_state=0))
    assert scores.mean() > 0.8


def test_errors_name_the_remedy(points):
    X, y, _ = points
    with pytest.raises(ValueError, match="needs y"):
        next(LabeledKFold().split(X))
    with pytest.raises(ValueError, match="n_splits=1"):
        next(LabeledKFold(1).split(X, y))
    with pytest.raises(ValueError, match="y has 40 labelled rows"):
        next(LabeledKFold(41).split(X, y))
    model = Transductive(FLGPRegressor(**SMALL), X)
    for rows in (X, [-1], [240], [0.5], [[0, 1]]):
        with pytest.raises(ValueError, match=r"np.arange\(240\)"):
            model.fit(rows, np.zeros(len(rows)))
    with pytest.raises(ValueError, match="twice"):
        model.fit([1, 1], [0.0, 0.0])
    with pytest.raises(ValueError, match="y has 1 entries for 2 row numbers"):
        model.fit([0, 1], [0.0])
