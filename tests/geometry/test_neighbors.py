import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flgp.geometry.point_cloud.bounds import DistanceBounds
from flgp.geometry.point_cloud.neighbors import NeighborSearch


def brute_force(X, anchors, r):
    distance = ((X[:, None, :] - anchors[None]) ** 2).sum(axis=2)
    index = np.argsort(distance, axis=1, kind="stable")[:, :r]
    return index, np.take_along_axis(distance, index, axis=1)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(1, 60), st.integers(1, 20), st.integers(0, 2**16))
def test_finds_the_nearest_anchors_in_few_and_many_columns(p, s, r, seed):
    rng = np.random.default_rng(seed)
    anchors, X = rng.normal(size=(s, p)), rng.normal(size=(40, p))
    index, sqdist = NeighborSearch(anchors)(X, r)
    expected_index, expected = brute_force(X, anchors, min(r, s))
    np.testing.assert_allclose(sqdist, expected, rtol=1e-12, atol=1e-14)
    assert (index == expected_index).mean() > 0.99


@pytest.mark.parametrize("s", [4_096, 4_117, 90_000])  # the last is so many that groups are grouped too
def test_finds_the_nearest_of_very_many_anchors(s):
    rng = np.random.default_rng(s)
    anchors = rng.normal(size=(s, 15))
    # Near any anchor, the last ones and the neighbours in one group too.
    X = anchors[np.r_[:6, s - 20 : s, rng.integers(s, size=14)]] + 0.01 * rng.normal(size=(40, 15))
    index, sqdist = NeighborSearch(anchors)(X, 5)
    expected_index, expected = brute_force(X, anchors, 5)
    np.testing.assert_array_equal(index, expected_index)
    np.testing.assert_allclose(sqdist, expected, rtol=1e-9)


def test_many_columns_far_from_the_origin_keep_double_precision():
    rng = np.random.default_rng(0)
    anchors = 1e6 + rng.normal(size=(50, 40))
    X = 1e6 + rng.normal(size=(200, 40))
    index, sqdist = NeighborSearch(anchors)(X, 3)
    expected_index, expected = brute_force(X, anchors, 3)
    np.testing.assert_array_equal(index, expected_index)
    np.testing.assert_allclose(sqdist, expected, rtol=1e-9)


@pytest.mark.parametrize("p", [3, 30])
def test_a_row_does_not_depend_on_its_batch(p):
    rng = np.random.default_rng(1)
    search, X = NeighborSearch(rng.normal(size=(300, p))), rng.normal(size=(500, p))
    whole = search(X, 4)
    for i in (0, 7, 499):
        alone = search(X[i : i + 1], 4)
        np.testing.assert_array_equal(alone[0][0], whole[0][i])
        np.testing.assert_array_equal(alone[1][0], whole[1][i])


def near_a_subspace(rng, count, p=60):
    """Points whose leading directions tell most of a distance."""
    return (
        rng.normal(size=(count, p)) / (1.0 + np.arange(p)) @ np.linalg.qr(np.vander(np.linspace(-1, 1, p)))[0]
    )


def test_bounds_of_distances_find_the_same_anchors():
    rng = np.random.default_rng(0)
    anchors = near_a_subspace(rng, 5_000)
    search = NeighborSearch(anchors)
    assert search._bounds is not None
    # Points of the cloud, far from it, at anchors, and between two.
    X = np.concatenate([near_a_subspace(rng, 200), 50 * rng.normal(size=(50, 60)), anchors[:50]])
    X = np.concatenate([X, 0.51 * anchors[50:100] + 0.49 * anchors[100:150]])
    for r in (1, 3, 10):
        index, sqdist = search(X, r)
        expected_index, expected = brute_force(X, anchors, r)
        np.testing.assert_array_equal(index, expected_index)
        np.testing.assert_allclose(sqdist, expected, rtol=1e-12, atol=1e-14)


def test_bounds_that_keep_too_many_anchors_are_given_up():
    rng = np.random.default_rng(1)
    # Two clusters so far apart that single precision cannot tell the anchors of one from each other.
    anchors = 1e-6 * rng.normal(size=(5_000, 40)) + np.sign(rng.normal(size=5_000))[:, None]
    bounds = DistanceBounds(anchors, np.eye(40), 8)
    assert bounds.candidates(anchors[:40].astype(np.float32), 3, bounds.new_tile()) is None
    search = NeighborSearch(anchors)
    search._bounds = bounds
    assert search(anchors[:40] + 1e-8, 3)[1][:, 0].max() < 1e-9  # in its cluster


def test_noise_in_many_columns_has_no_useful_bound():
    assert NeighborSearch(np.random.default_rng(2).normal(size=(4_500, 60)))._bounds is None


@pytest.mark.parametrize("p", [16, 40])
def test_equal_distances_are_told_apart_by_number_wherever_a_row_stands(p):
    """More anchors at one distance than candidates: rounding of a matrix product chose among them."""
    rng = np.random.default_rng(p)
    anchors = np.unique(rng.integers(0, 2, (800, p)), axis=0).astype(float)
    X = rng.integers(0, 2, (600, p)).astype(float)
    search = NeighborSearch(anchors)
    index, sqdist = search(X, 3)
    expected_index, expected = brute_force(X, anchors, 3)
    np.testing.assert_array_equal(index, expected_index)
    np.testing.assert_array_equal(sqdist, expected)
    alone = np.concatenate([search(X[i : i + 1], 3)[0] for i in range(200)])
    np.testing.assert_array_equal(alone, index[:200])


@pytest.mark.parametrize(("s", "p"), [(300, 3), (300, 20), (5_000, 40)])  # by a tree, products, bounds
def test_a_search_among_some_of_the_anchors_is_a_search_of_these(s, p):
    rng = np.random.default_rng(p)
    anchors, X = rng.normal(size=(s, p)) * np.linspace(3.0, 0.1, p), rng.normal(size=(50, p))
    kept = rng.random(s) < 0.9
    for found, expected in zip(
        NeighborSearch(anchors).among(kept)(X, 3), NeighborSearch(anchors[kept])(X, 3), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("left", [1, 10, 60, 90])
def test_few_anchors_that_are_left_of_many_are_searched_without_bounds(left):
    rng = np.random.default_rng(0)
    anchors, X = near_a_subspace(rng, 5_000), near_a_subspace(rng, 50)
    search = NeighborSearch(anchors)
    assert search._bounds is not None
    index, sqdist = search.among(np.arange(5_000) < left)(X, 3)
    expected_index, expected = brute_force(X, anchors[:left], 3)
    np.testing.assert_array_equal(index, expected_index)
    np.testing.assert_allclose(sqdist, expected, rtol=1e-12, atol=1e-14)


def test_an_outlier_among_the_anchors_leaves_few_pairs_to_rank(monkeypatch):
    """In its unit all other distances are the same in single precision, and it may be dropped later."""
    rng = np.random.default_rng(0)
    anchors, X = rng.normal(size=(300, 20)), rng.normal(size=(200, 20))
    anchors[-1] = 1e6
    search, ranked, counts = NeighborSearch(anchors), NeighborSearch._ranked, []

    def counted(self, X, row, anchor, r):
        counts.append(len(row))
        return ranked(self, X, row, anchor, r)

    monkeypatch.setattr(NeighborSearch, "_ranked", counted)
    for found in (search, search.among(np.arange(300) < 299)):
        counts.clear()
        index, _ = found(X, 3)
        np.testing.assert_array_equal(index, brute_force(X, anchors, 3)[0])
        assert sum(counts) < 20 * len(X)
    assert sum(counts) < 8 * len(X)  # seven candidates each, and no doubt
