import numpy as np
import pytest
from sklearn.cluster import KMeans

from conftest import ring
from flgp._threads import threads
from flgp.geometry.point_cloud.kmeans import kmeans


def inertia(points, centers):
    return ((points[:, None] - centers[None]) ** 2).sum(axis=2).min(axis=1).sum()


@pytest.mark.parametrize("p", [2, 20])
def test_is_as_good_as_scikit_learn(p):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(2000, p)) + 4 * rng.integers(0, 3, size=(2000, 1))
    ours = inertia(points, kmeans(points, 60, np.random.default_rng(1)))
    theirs = inertia(points, KMeans(60, n_init=1, random_state=0).fit(points).cluster_centers_)
    assert ours < 1.03 * theirs


def test_never_puts_a_centre_between_two_circles():
    inner, outer = ring(1500, seed=1)[0], ring(1500, seed=2, radius=1.2)[0]
    centers = kmeans(np.concatenate([inner, outer]), 150, np.random.default_rng(0))
    radius = np.linalg.norm(centers, axis=1)
    assert np.minimum(np.abs(radius - 1), np.abs(radius - 1.2)).max() < 0.06


def test_does_not_depend_on_the_number_of_threads():
    points = np.random.default_rng(0).normal(size=(20_000, 3))
    one = kmeans(points, 50, np.random.default_rng(0))
    with threads(2):
        two = kmeans(points, 50, np.random.default_rng(0))
    np.testing.assert_array_equal(one, two)


def test_fewer_distinct_points_than_clusters():
    points = np.repeat(np.arange(5.0)[:, None], 20, axis=0)
    assert sorted(np.unique(kmeans(points, 10, np.random.default_rng(0)))) == [0, 1, 2, 3, 4]
