"""Lloyd's iteration in many columns: closures give what full rounds give."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from flgp._threads import threads
from flgp.geometry.point_cloud import lloyd
from flgp.geometry.point_cloud.lloyd import cluster_means, plain_lloyd
from flgp.geometry.point_cloud.tiles import many_smallest


def clouds(n=6000, p=20, seed=0):
    """A curved set of few dimensions in many columns, with noise."""
    rng = np.random.default_rng(seed)
    inner = rng.uniform(-1, 1, size=(n, 4))
    return np.sin(inner @ rng.normal(size=(4, p))) + 0.05 * rng.normal(size=(n, p))


def inertia(X, centers):
    return float((cdist(X, centers).min(axis=1) ** 2).sum())


@pytest.mark.parametrize("many", [500, 5000], ids=["first round in closures", "first round among all"])
@pytest.mark.parametrize("n_clusters", [600, 1200])
def test_closures_end_where_full_rounds_do(monkeypatch, n_clusters, many):
    X = clouds()
    monkeypatch.setattr(lloyd, "_LEADING_VARIANCE", 2.0)  # all columns
    monkeypatch.setattr(lloyd, "_CLOSURE", 100)  # small, so that they do differ
    monkeypatch.setattr(lloyd, "_MANY_CLUSTERS", many)
    near = plain_lloyd(X, n_clusters, np.random.default_rng(0).permutation(len(X)), 20)
    monkeypatch.setattr(lloyd, "_FEW_CLUSTERS", n_clusters)
    monkeypatch.setattr(lloyd, "_MANY_CLUSTERS", n_clusters)
    full = plain_lloyd(X, n_clusters, np.random.default_rng(0).permutation(len(X)), 20)
    seeds = X[np.random.default_rng(0).permutation(len(X))[:n_clusters]]
    assert not np.array_equal(near, full)
    assert inertia(X, near) < 1.02 * inertia(X, full)
    assert inertia(X, full) < 0.9 * inertia(X, seeds)


def test_leading_directions_lose_little(monkeypatch):
    X = clouds()
    assert lloyd._leading((X - X.mean(axis=0)).astype(np.float32)).shape[1] < 10
    some = plain_lloyd(X, 600, np.random.default_rng(0).permutation(len(X)), 20)
    monkeypatch.setattr(lloyd, "_LEADING_VARIANCE", 2.0)
    full = plain_lloyd(X, 600, np.random.default_rng(0).permutation(len(X)), 20)
    assert inertia(X, some) < 1.03 * inertia(X, full)
    noise = np.random.default_rng(0).normal(size=(700, 30)).astype(np.float32)
    assert lloyd._leading(noise) is noise


def test_the_number_of_threads_does_not_matter():
    X = clouds()
    one = plain_lloyd(X, 600, np.random.default_rng(1).permutation(len(X)), 5)
    with threads(2):
        two = plain_lloyd(X, 600, np.random.default_rng(1).permutation(len(X)), 5)
    np.testing.assert_array_equal(one, two)


def test_closures_hold_the_nearest_centre_of_nearly_every_point():
    X = clouds().astype(np.float32)
    centers = X[:600]
    label, _ = lloyd._nearest_of_all(X, centers)
    _, group, closures = lloyd._closures(centers)
    moved = centers + np.float32(0.02) * np.random.default_rng(0).normal(size=centers.shape).astype(
        np.float32
    )
    found, score = lloyd._nearest_in_closure(X, moved, group[label], closures)
    true = cdist(X, moved)
    assert np.mean(found == true.argmin(axis=1)) > 0.98
    sqdist = (X**2).sum(axis=1) + 2 * score
    np.testing.assert_allclose(sqdist, true[np.arange(len(X)), found] ** 2, rtol=1e-3, atol=1e-4)


def test_means_and_an_empty_cluster():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [9.0, 9.0]])
    centers = cluster_means(X, np.array([0, 0, 1]), np.array([1.0, 1.0, 5.0]), 3)
    np.testing.assert_allclose(centers, [[1.0, 0.0], [9.0, 9.0], [9.0, 9.0]])


@pytest.mark.parametrize("columns", ["random", "sorted", "equal", "crowded"])
def test_many_smallest_of_each_row(columns):
    rng = np.random.default_rng(0)
    score = rng.standard_normal((50, 6_000)).astype(np.float32)
    if columns == "sorted":
        score.sort(axis=1)
    if columns == "equal":
        score[:, ::3] = -1.0
    if columns == "crowded":  # what every sixteenth column shows is misleading
        score[:, ::16] -= 10.0
    found = many_smallest(score.copy(), 256)
    assert all(len(np.unique(row)) == 256 for row in found)
    expected = np.sort(score, axis=1)[:, :256]
    np.testing.assert_array_equal(np.sort(np.take_along_axis(score, found, axis=1), axis=1), expected)
