"""Classes of known sizes as clusters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from flgp import FLGPClassifier
from flgp.estimators.class_clusters import evenness, folds, indicators, partition
from flgp.process.class_models import mixture_shares


def circle(n=400, n_modes=41):
    """Points on a circle with its exact eigenfunctions."""
    angle = 2.0 * np.pi * np.arange(n) / n
    waves = np.arange(1, n_modes // 2 + 1)
    features = np.sqrt(2.0) * np.concatenate(
        [np.cos(np.outer(angle, waves)), np.sin(np.outer(angle, waves))], axis=1
    )
    return angle, np.column_stack([np.ones(n), features]), np.concatenate([[0.0], waves, waves]) ** 2.0


def classes_of(features, weights, shares):
    return indicators(features @ weights, shares).argmax(axis=1)


def test_a_ragged_partition_becomes_arcs_of_the_given_sizes():
    """On a circle the shortest boundaries between two parts of given sizes are two points."""
    angle, features, eigenvalues = circle()
    rng = np.random.default_rng(0)
    p = np.clip(
        0.5 + 0.25 * np.cos(angle)[:, None] * [1.0, -1.0] + 0.2 * rng.normal(size=(400, 1)) * [1.0, -1.0],
        0.01,
        1.0,
    )
    shares = np.array([0.3, 0.7])
    none = np.empty(0, dtype=int)
    weights = partition(features, eigenvalues, p / p.sum(axis=1, keepdims=True), shares, none, none)
    found = classes_of(features, weights, shares)
    assert abs(np.mean(found == 0) - 0.3) < 0.02
    assert np.sum(found != np.roll(found, 1)) == 2
    assert np.all(found[np.abs(np.angle(np.exp(1j * angle))) < 0.5] == 0)


def test_labelled_points_keep_their_class():
    angle, features, eigenvalues = circle()
    p = np.full((400, 2), 0.5) + 0.1 * np.cos(angle)[:, None] * [1.0, -1.0]
    labeled = np.arange(190, 210)  # against what p says, on a stretch that is long enough to stay
    weights = partition(features, eigenvalues, p, np.array([0.5, 0.5]), labeled, np.zeros(20, dtype=int))
    assert np.all(classes_of(features, weights, np.array([0.5, 0.5]))[195:205] == 0)


def test_off_the_geometry_the_shares_are_left():
    shares = np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(indicators(np.zeros((1, 3)), shares), [shares])
    np.testing.assert_allclose(indicators(np.array([[0.5, 0.0, 0.0]]), shares), [[0.6, 0.15, 0.25]])
    on = indicators(np.array([[1.0, -0.1, 0.0]]), shares)
    assert on[0, 0] > 0.98
    assert np.all(on > 0)


def test_folds_leave_no_class_without_a_label():
    codes = np.array([0, 0, 0, 1, 1, 2, 0, 1, 0])
    parts = list(folds(codes))
    assert len(parts) == 3
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.flatnonzero(codes != 2))
    for out in parts:
        assert set(np.delete(codes, out)) == {0, 1, 2}
    assert not list(folds(np.array([0, 1, 2])))


def test_shares_and_powers_follow_the_left_out_labels():
    rng = np.random.default_rng(0)
    weight = np.ones(500)
    good, poor = rng.uniform(0.8, 1.0, 500), rng.uniform(0.0, 0.3, 500)

    def share(*said):
        return mixture_shares(np.stack(said, axis=1), weight[: len(said[0])], np.full(2, 3.0))[1]

    assert share(poor, good) > 0.98
    assert share(good, poor) < 0.02
    assert share(good, good) == pytest.approx(0.5)
    assert share(good[:0], good[:0]) == 0.5
    # Labels drawn from a power of the given probabilities are best explained by that power.
    p = rng.dirichlet(np.ones(3), 4000)
    for power in (0.5, 2.0):
        q = p**power / (p**power).sum(axis=1, keepdims=True)
        codes = (rng.random((4000, 1)) > np.cumsum(q, axis=1)).sum(axis=1)
        assert evenness(np.log(p), (np.arange(4000), codes), np.ones(4000)) == pytest.approx(power, rel=0.15)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    labeled = np.concatenate([np.flatnonzero(y == c)[:2] for c in range(10)])
    target = np.full(len(y), -1)
    target[labeled] = y[labeled]
    return X, y, target, np.setdiff1d(np.arange(len(y)), labeled)


def test_sizes_make_clusters_of_digits(digits):
    """Two labels for each of ten digits, and how many there are of each."""
    X, y, target, rest = digits
    shares = np.bincount(y) / len(y)
    told = FLGPClassifier(class_prior=shares, random_state=0).fit(X, target)
    p = told.predict_proba(X)
    clusters = told._shares_.clusters
    assert 0.0 < clusters.weight < 1.0
    np.testing.assert_allclose(p.mean(axis=0), shares, atol=1e-6)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    untold = FLGPClassifier(random_state=0).fit(X, target)
    wrong = [np.mean(model.predict(X)[rest] != y[rest]) for model in (told, untold)]
    assert wrong[0] < 0.8 * wrong[1]
    drawn = told.sample_y(X[:300], 400, random_state=0)
    often = np.stack([(drawn == c).mean(axis=1) for c in range(10)], axis=1)
    assert np.abs(often - p[:300]).mean() < 0.02


def test_no_clusters_where_left_out_labels_contradict_them():
    """Classes in stripes across a square have nothing to do with where it could be divided."""
    rng = np.random.default_rng(0)
    X = rng.random((600, 2))
    y = (np.floor(9.0 * X[:, 0]) % 2).astype(int)
    y = np.where(rng.random(600) < 0.1, 1 - y, y)
    target = np.where(np.arange(600) < 150, y, -1)
    model = FLGPClassifier(class_prior="uniform", random_state=0).fit(X, target)
    assert model._shares_.clusters.weight < 0.5
