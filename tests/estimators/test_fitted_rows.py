"""The fitted rows again: no search, the same answers, and no answer from memory for other rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from flgp import FLGPClassifier, FLGPRegressor
from flgp.estimators import fitted_rows, regressor
from flgp.geometry.point_cloud import NeighborSearch

RNG = np.random.default_rng(0)
X = RNG.standard_normal((900, 15)) + 3.0 * RNG.integers(3, size=900)[:, None]
TRUTH = np.clip(X.mean(axis=1).round() // 3, 0, 2).astype(int)


@pytest.fixture(scope="module")
def classifier():
    y = np.full(900, -1)
    y[:60] = TRUTH[:60]
    return FLGPClassifier(n_anchors=150, random_state=0).fit(X, y)


@pytest.fixture
def searches(monkeypatch):
    """Rows that were compared with anchors."""
    seen = []
    ask = NeighborSearch.__call__

    def counted(self, rows, r):
        seen.append(len(rows))
        return ask(self, rows, r)

    monkeypatch.setattr(NeighborSearch, "__call__", counted)
    return seen


def test_the_fitted_array_costs_no_search(classifier, searches):
    again = pickle.loads(pickle.dumps(classifier))  # which knows no neighbours
    expected = again.predict_proba(X)
    assert sum(searches) == 900
    del searches[:]
    for same in (X, X.copy(), np.asfortranarray(X)):
        np.testing.assert_allclose(classifier.predict_proba(same), expected, atol=1e-12)
        np.testing.assert_array_equal(classifier.predict(same), again.classes_[expected.argmax(axis=1)])
        mean, variance = classifier.latent_mean_and_variance(same)
    np.testing.assert_array_equal(classifier.transduction_proba_, classifier.predict_proba(X))
    assert searches == []
    others = again.latent_mean_and_variance(X)
    np.testing.assert_allclose(mean, others[0], atol=1e-10)
    np.testing.assert_allclose(variance, others[1], atol=1e-10)


def test_rows_that_changed_are_other_rows(classifier, searches):
    again = pickle.loads(pickle.dumps(classifier))
    changed = X.copy()
    changed[-1, 0] += 1e-9
    reordered, single, few = X[::-1].copy(), X.astype(np.float32), X[:899]
    for rows in (changed, reordered, single, few):
        del searches[:]
        found = classifier.predict_proba(rows)
        assert sum(searches) == len(rows)
        np.testing.assert_allclose(found, again.predict_proba(rows), atol=1e-12)


def test_answers_are_copies(classifier):
    classifier.predict_proba(X)[:] = 0.0
    classifier.predict(X)[:] = 0
    np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1.0)


def test_more_labels_change_the_answers_but_not_the_neighbours(searches):
    y = np.full(900, np.nan)
    y[:40] = np.sin(X[:40, 0])
    model = FLGPRegressor(n_anchors=150, residual=None, random_state=0).fit(X, y)
    before = model.predict(X)
    np.testing.assert_allclose(before, model.transduction_, atol=1e-12)
    model.update(X[40:200], np.sin(X[40:200, 0]))
    assert not hasattr(model, "transduction_")
    del searches[:]
    mean, std = model.predict(X, return_std=True)
    assert searches == []
    others = pickle.loads(pickle.dumps(model)).predict(X, return_std=True)
    np.testing.assert_allclose(mean, others[0], atol=1e-9)
    np.testing.assert_allclose(std, others[1], atol=1e-9)
    assert np.abs(mean - before).max() > 1e-3


def test_numbers_of_the_fitted_array_are_remembered_unless_the_question_differs(monkeypatch):
    y = np.full(900, np.nan)
    y[:60] = RNG.poisson(np.exp(0.3 * TRUTH[:60]))
    model = FLGPRegressor(n_anchors=150, likelihood="poisson", random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))  # which knows no rows
    twice, (_, std) = model.predict(X, exposure=np.full(900, 2.0)), model.predict(X, return_std=True)
    np.testing.assert_allclose(twice, again.predict(X, exposure=np.full(900, 2.0)), atol=1e-12)
    np.testing.assert_allclose(std, again.predict(X, return_std=True)[1], atol=1e-12)
    expected = again.predict(X)
    monkeypatch.setattr(regressor, "answers", None)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-12)
    model.predict(X)[:] = 0.0
    np.testing.assert_array_equal(model.predict(X), model.transduction_)


def test_predictions_of_rows_with_too_many_neighbours_to_keep_are_remembered(monkeypatch, searches):
    monkeypatch.setattr(fitted_rows, "_MOST_PAIRS", 100)
    y = np.full(900, -1)
    y[:60] = TRUTH[:60]
    model = FLGPClassifier(n_anchors=150, random_state=0).fit(X, y)
    del searches[:]
    np.testing.assert_array_equal(model.predict_proba(X), model.transduction_proba_)
    np.testing.assert_array_equal(model.predict(X), model.transduction_)
    assert searches == []
    model.latent_mean_and_variance(X)  # which nobody remembers
    assert sum(searches) == 900
