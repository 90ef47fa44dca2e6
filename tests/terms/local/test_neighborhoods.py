import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from flgp.terms.local.neighborhoods import coarse_to_fine, distances_within, previous_neighborhoods


@pytest.mark.parametrize(("m", "p", "k"), [(300, 2, 6), (150, 20, 5), (40, 3, 100)])
def test_neighbors_are_the_nearest_of_the_earlier_ones(rng, m, p, k):
    points, order = rng.standard_normal((m, p)), rng.permutation(m)
    near = previous_neighborhoods(points, k, order)
    assert near.n_neighbors == min(k, m - 1)
    place, D = np.argsort(order), cdist(points, points)
    for i in range(m):
        earlier = np.flatnonzero(place < place[i])
        expected = np.sort(D[i, earlier])[: near.n_neighbors]
        real = near.neighbors[i] != i
        assert np.all(place[near.neighbors[i][real]] < place[i])
        np.testing.assert_allclose(np.sort(near.cross[real, i]), expected, rtol=1e-12)
        assert np.all(near.cross[~real, i] > 1e50)


def test_distances_inside_a_neighborhood(rng):
    points = rng.standard_normal((60, 3))
    near = previous_neighborhoods(points, 5, np.arange(60))
    np.testing.assert_allclose(near.within[:, 30], pdist(points[near.neighbors[30]]), rtol=1e-12)
    # The third point has two neighbours: one real pair, the rest far away.
    assert (near.within[:, 2] < 1e50).sum() == 1
    assert (near.cross[:, 2] < 1e50).sum() == 2
    sets = rng.integers(0, 60, (40, 4))
    np.testing.assert_allclose(distances_within(points, sets).T, [pdist(points[s]) for s in sets], atol=1e-12)


def test_duplicates_are_at_distance_zero(rng):
    points = np.repeat(1e3 + rng.standard_normal((10, 3)), 3, axis=0)
    near = previous_neighborhoods(points, 4, rng.permutation(30))
    assert np.isin(0.0, near.cross)
    assert len(np.unique(near.within[near.within < 1e50])) <= 46  # 45 pairs of distinct points, and zero
    sets = np.array([[0, 1, 2, 3]])
    np.testing.assert_array_equal(distances_within(points, sets)[[0, 1, 3], 0], 0.0)


def test_one_point_has_no_neighbors():
    near = previous_neighborhoods(np.zeros((1, 2)), 3, np.array([0]))
    assert near.neighbors.shape == (1, 0)
    assert near.within.shape == (0, 1)


@pytest.mark.parametrize("k", [0, -3])
def test_counts_below_one_are_refused(k):
    with pytest.raises(ValueError, match="n_residual_neighbors must be at least 1"):
        previous_neighborhoods(np.zeros((4, 2)), k, np.arange(4))


@pytest.mark.parametrize("p", [1, 2, 50])
def test_order_is_a_seeded_permutation_that_starts_coarse(rng, p):
    points = rng.random((2000, p))
    order = coarse_to_fine(points, np.random.default_rng(3))
    np.testing.assert_array_equal(np.sort(order), np.arange(2000))
    np.testing.assert_array_equal(order, coarse_to_fine(points, np.random.default_rng(3)))
    if p < 3:
        # The first points cover the set better than as many random ones.
        cover, random_cover = (
            cdist(points, points[rows[:100]]).min(axis=1).mean() for rows in (order, rng.permutation(2000))
        )
        assert cover < 0.95 * random_cover


def test_order_survives_identical_points():
    np.testing.assert_array_equal(
        np.sort(coarse_to_fine(np.ones((9, 2)), np.random.default_rng(0))), np.arange(9)
    )
    twice = np.repeat(np.arange(5.0), 2)[:, None]
    order = coarse_to_fine(twice, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(order), np.arange(10))
    assert len(np.unique(twice[order[:5]])) == 5
