"""`n_anchor_sets`: chance in the places of the anchors averages out, whatever the model does besides."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures, load, save
from flgp.datasets import circles


@pytest.fixture(scope="module")
def digits():
    X, truth = load_digits(return_X_y=True)
    return X, truth, np.where(np.arange(len(X)) % 30 == 0, truth, -1)


def test_auto_is_two_in_many_columns_unless_the_anchors_are_counted(digits):
    X, _, _ = digits
    assert len(HeatKernelFeatures(random_state=0).fit(X).anchors_) > 600  # of 2 · 359
    assert len(HeatKernelFeatures(random_state=0, n_anchors=359).fit(X).anchors_) <= 359
    assert len(HeatKernelFeatures(random_state=0, anchors=X[::5]).fit(X).anchors_) <= 360
    assert len(HeatKernelFeatures(random_state=0).fit(X[:, 20:30]).anchors_) <= 359


def test_kernels_of_different_seeds_are_nearer_to_each_other(digits):
    X, _, _ = digits

    def variance(n_sets):
        settings = {"n_anchors": 200, "n_anchor_sets": n_sets, "diffusion_time": 50.0}
        models = [HeatKernelFeatures(**settings, random_state=seed).fit(X) for seed in range(8)]
        return (
            np.stack([model.covariance(X[:100], X[100:200]) for model in models]).var(axis=0, ddof=1).mean()
        )

    # A mean of four independent kernels: a quarter, up to chance.
    assert 0.15 < variance(4) / variance(1) < 0.4


def test_a_model_that_was_saved_predicts_the_same(tmp_path, digits):
    X, _, y = digits
    model = FLGPClassifier(n_anchors=100, n_anchor_sets=2, random_state=0).fit(X[:900], y[:900])
    save(model, tmp_path / "sets.flgp")
    again = load(tmp_path / "sets.flgp")
    np.testing.assert_array_equal(again.predict_proba(X[900:]), model.predict_proba(X[900:]))
    np.testing.assert_array_equal(again.distance_to_anchors(X), model.distance_to_anchors(X))


def test_fitted_points_are_near_and_strangers_are_not(digits):
    X, _, y = digits
    model = FLGPClassifier(n_anchors=100, n_anchor_sets=2, random_state=0).fit(X, y)
    assert model.distance_to_anchors(X).max() <= 1.0 + 1e-9
    assert model.distance_to_anchors(X[:5] + 1000.0).min() > 3.0
    np.testing.assert_allclose(model.predict_proba(X[:5] + 1000.0).std(axis=0), 0.0, atol=1e-6)


def test_more_labels_are_as_a_whole_fit(digits):
    X, truth, y = digits
    model = FLGPClassifier(n_anchors=100, n_anchor_sets=2, random_state=0).fit(X, y)
    more = np.arange(1, 1500, 300)
    labels = y.copy()
    labels[more] = truth[more]
    model.update(X[more], truth[more])
    whole = FLGPClassifier(n_anchors=100, n_anchor_sets=2, random_state=0).fit(X, labels)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-6)


def test_rows_of_a_file_give_the_same(tmp_path):
    data = circles(1200, random_state=0)
    np.save(tmp_path / "X.npy", data.X)
    y = np.where(np.arange(1200) % 40 == 0, data.y, -1)
    model = FLGPClassifier(n_anchors=150, n_anchor_sets=2, random_state=0)
    expected = model.fit(data.X, y).predict_proba(data.X)
    found = model.fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y).predict_proba(data.X)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_bandwidth_is_found_for_all_sets(digits):
    X, truth, y = digits
    model = FLGPClassifier(n_anchors=300, n_anchor_sets=2, base_kernel="se", random_state=0).fit(X, y)
    assert np.mean(model.predict(X) != truth) < 0.1


@pytest.mark.parametrize("value", [0, -1, 1.5, "two", None])
def test_bad_numbers_of_sets(value):
    with pytest.raises(ValueError, match="n_anchor_sets"):
        FLGPRegressor(n_anchor_sets=value).fit(np.zeros((5, 2)), np.zeros(5))


@pytest.mark.parametrize("anchors", ["all", np.eye(2)])
def test_sets_that_chance_does_not_choose(anchors):
    with pytest.raises(ValueError, match="n_anchor_sets=2 needs randomly chosen anchors"):
        FLGPRegressor(n_anchor_sets=2, anchors=anchors).fit(np.eye(2), np.zeros(2))
