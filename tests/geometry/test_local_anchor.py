import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flgp.geometry.point_cloud.weights import RIDGE, local_anchor_weights, simplex_minimizer


def check_kkt(X, anchors, index, weights):
    """z ≥ 0, Σz = 1, and G z is smallest (and constant) on the support of z, for the ridged Gram matrix."""
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    edges = anchors[index] - X[:, None, :]
    gram = edges @ edges.transpose(0, 2, 1)
    scale = np.trace(gram, axis1=1, axis2=2) / index.shape[1]
    scale[scale == 0] = 1.0
    gram = gram / scale[:, None, None] + RIDGE * np.eye(index.shape[1])
    slope = np.einsum("bij,bj->bi", gram, weights)
    value = np.einsum("bi,bi->b", slope, weights)
    assert (slope >= value[:, None] - 1e-7).all()
    np.testing.assert_allclose(weights * (slope - value[:, None]), 0.0, atol=1e-7)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(1, 9), st.integers(0, 2**16), st.sampled_from([0.0, 0.3, 1.0, 3.0]))
def test_satisfies_the_kkt_conditions(p, r, seed, spread):
    rng = np.random.default_rng(seed)
    anchors = rng.normal(size=(r + 5, p))
    X = spread * rng.normal(size=(50, p))
    index = np.array([rng.choice(len(anchors), r, replace=False) for _ in X])
    check_kkt(X, anchors, index, local_anchor_weights(X, anchors, index))


def test_a_point_on_an_anchor_takes_it_alone():
    anchors = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    weights = local_anchor_weights(anchors[:1], anchors, np.array([[0, 1, 2]]))
    np.testing.assert_allclose(weights, [[1.0, 0.0, 0.0]], atol=1e-5)


def test_anchors_on_a_line_through_the_point_end_the_search():
    """Two anchors on either side of one that the point is on: rounding was taken for violations, for ever."""
    step, wide, across, last = (
        0.008596001164787728,
        0.12940377761267302,
        0.14659577994224848,
        0.17238378343661165,
    )
    gram = np.zeros((5, 5, 1))
    gram[1, 1], gram[2, 1], gram[2, 2] = step, -step, step
    gram[3, 1:4, 0] = 2 * step, -2 * step, wide
    gram[4, 1:, 0] = 0.025788003494363183, -0.025788003494363183, across, last
    weights = simplex_minimizer(gram)[:, 0]
    np.testing.assert_allclose(weights, [1 / 3, 1 / 3, 1 / 3, 0.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("rounds", [1, 2, 50])
def test_the_search_ends_whatever_rounding_does(monkeypatch, rounds):
    """Whole numbers in a few columns: points on anchors, between anchors, and the same anchor many times."""
    monkeypatch.setattr("flgp.geometry.point_cloud.weights._ROUNDS_PER_ANCHOR", rounds)
    rng = np.random.default_rng(0)
    for p, r in [(1, 3), (2, 5), (3, 8)]:
        X, anchors = rng.integers(0, 4, (500, p)).astype(float), rng.integers(0, 4, (60, p)).astype(float)
        index = np.stack([rng.choice(60, r, replace=False) for _ in X])
        weights = local_anchor_weights(X, anchors, index)
        assert (weights >= 0).all()
        np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_inside_a_triangle_the_weights_are_the_barycentric_coordinates():
    rng = np.random.default_rng(0)
    anchors = np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 1.0]])
    expected = rng.dirichlet([1, 1, 1], size=100)
    weights = local_anchor_weights(expected @ anchors, anchors, np.tile([0, 1, 2], (100, 1)))
    np.testing.assert_allclose(weights, expected, atol=1e-4)


def test_identical_anchors_share_the_weight():
    anchors = np.zeros((3, 2))
    weights = local_anchor_weights(np.zeros((2, 2)), anchors, np.tile([0, 1, 2], (2, 1)))
    np.testing.assert_allclose(weights, 1 / 3)
