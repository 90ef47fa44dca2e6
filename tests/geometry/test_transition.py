from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import ring
from flgp._threads import threads
from flgp.geometry.point_cloud import (
    NeighborBlock,
    anchor_gram,
    choose_anchors,
    fit_transition,
    join_to_anchors,
)
from flgp.rows.blocks import Blocks, row_blocks


def dense(graph, step):
    """Z as a dense matrix (n, s)."""
    Z = []

    def scatter(block):
        rows = np.zeros((len(block.index), len(graph.anchors)))
        np.put_along_axis(rows, block.index.astype(np.intp), step.rows(block), axis=1)
        Z.append(rows)
        return 0

    graph.blocks.reduce(scatter)
    return np.concatenate(Z)


def graph_of(X, s, r, lae, counts=True, block_rows=100):
    anchors = choose_anchors(X, s, "kmeans", np.random.default_rng(0))
    return join_to_anchors(row_blocks(X, block_rows=block_rows), anchors, r, lae, counts)


@settings(max_examples=25, deadline=None)
@given(st.booleans(), st.integers(1, 6), st.integers(2, 40), st.floats(1e-4, 1e3), st.integers(0, 1000))
def test_rows_sum_to_one_and_the_gram_matrix_is_that_of_z(lae, r, s, epsilon, seed):
    X = np.random.default_rng(seed).normal(size=(150, 2))
    graph = graph_of(X, s, r, lae)
    step = fit_transition(graph, None if lae else epsilon)
    Z = dense(graph, step)
    np.testing.assert_allclose(Z.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(anchor_gram(graph, step).toarray(), Z.T @ Z, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("counts", [True, False])
def test_se_transition_is_the_papers_formula(counts):
    X, _ = ring(200)
    graph = graph_of(X, 20, 5, lae=False, counts=counts)
    epsilon = 0.3
    distance = ((X[:, None] - graph.anchors[None]) ** 2).sum(axis=2)
    near = np.argsort(distance, axis=1)[:, :5]
    K = np.zeros_like(distance)
    np.put_along_axis(K, near, np.exp(-np.take_along_axis(distance, near, 1) / (4 * epsilon**2)), axis=1)
    sizes = np.bincount(near[:, 0], minlength=len(graph.anchors)) if counts else np.ones(len(graph.anchors))
    A = sizes * K / (K.sum(axis=0) * (K @ sizes)[:, None])
    np.testing.assert_allclose(dense(graph, fit_transition(graph, epsilon)), A / A.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("clusters", [True, False])
def test_matches_the_r_package(oracle, clusters):
    weights = oracle.transition_lae_rw
    index = np.argsort(-weights, axis=1, kind="stable")[:, :4]
    block = NeighborBlock(index, np.ones(index.shape), np.take_along_axis(weights, index, axis=1))
    graph = join_to_anchors(row_blocks(oracle.points), oracle.anchors, 4, lae=True, counts=True)
    sizes = oracle.anchor_sizes if clusters else np.ones(24)
    graph = replace(graph, anchors=oracle.anchors, sizes=sizes, blocks=Blocks([lambda: block]), lae_mass=None)
    expected = oracle.transition_lae_cluster_normalized if clusters else oracle.transition_lae_normalized
    np.testing.assert_allclose(dense(graph, fit_transition(graph, None)), expected, atol=1e-7)


def test_anchors_without_points_are_dropped_before_the_search():
    X, _ = ring(300)
    far = np.array([[50.0, 50.0], [-40.0, 3.0]])
    anchors = np.concatenate([far, X[::15]])
    graph = join_to_anchors(row_blocks(X), anchors, 3, lae=True, counts=True)
    assert len(graph.anchors) <= 20
    assert np.abs(graph.anchors).max() <= 1.0
    # and a new point beside a dropped anchor still gets a proper row
    step = fit_transition(graph, None)
    np.testing.assert_allclose(step.rows(graph.find(far)).sum(axis=1), 1.0)


@pytest.mark.parametrize("lae", [True, False])
@pytest.mark.parametrize("columns", [2, 20])
def test_after_a_drop_all_neighbours_are_the_nearest_of_the_rest(rng, lae, columns):
    X = rng.normal(size=(900, columns))
    # Some anchors are nearest to nobody, but second or third to some; the last set keeps fewer than r.
    anchors = np.concatenate([X[::9], 2.0 * rng.normal(size=(60, columns))])
    for sets in ([anchors], [anchors, X[1::7]], [anchors, np.concatenate([X[5:7], X[9:10] - 900.0])]):
        before = join_to_anchors(row_blocks(X), sets, 3, lae, counts=False)
        with threads(2):
            graph = join_to_anchors(row_blocks(X, 200), sets, 3, lae, counts=True)
        dropped = ~(before.anchors[:, None] == graph.anchors).all(axis=2).any(axis=1)
        lost = dropped[together(before, "index")].any(axis=1)
        assert lost.any()
        assert lost.all() == (graph.n_neighbors < 3)
        again = join_to_anchors(row_blocks(X), np.split(graph.anchors, cuts(graph)), 3, lae, counts=True)
        assert again.set_sizes == graph.set_sizes
        np.testing.assert_array_equal(together(graph, "index"), together(again, "index"))
        np.testing.assert_array_equal(together(graph, "sqdist"), together(again, "sqdist"))
        if lae:
            np.testing.assert_array_equal(together(graph, "weights"), together(again, "weights"))
        np.testing.assert_array_equal(graph.sizes, again.sizes)


def cuts(graph):
    return np.cumsum(graph.set_sizes or [len(graph.anchors)])[:-1]


def together(graph, name):
    return np.concatenate(graph.blocks.reduce(lambda block: [getattr(block, name)]))


def test_blocks_and_threads_change_nothing():
    X, _ = ring(1000)
    anchors = choose_anchors(X, 50, "kmeans", np.random.default_rng(0))
    grams = []
    for n_threads, rows in ((1, 10_000), (2, 64), (1, 64)):
        with threads(n_threads):
            graph = join_to_anchors(row_blocks(X, rows), anchors, 3, True, True)
            grams.append(anchor_gram(graph, fit_transition(graph, None)).toarray())
    np.testing.assert_allclose(grams[0], grams[1], rtol=1e-12)
    np.testing.assert_array_equal(grams[1], grams[2])


def test_outliers_and_tiny_bandwidths_give_no_nan():
    X = np.concatenate([ring(200)[0], [[1e6, 1e6]]])
    graph = graph_of(X, 20, 3, lae=False)
    for epsilon in (1e-8, 1e-3, 1e8):
        step = fit_transition(graph, epsilon)
        assert np.isfinite(dense(graph, step)).all()


def test_a_cluster_of_one_outlier_is_joined_to_the_others():
    X = np.concatenate([ring(400)[0], [[1.5, 0.0]]])
    anchors = np.concatenate([X[:400:10], [[1.5, 0.0]]])
    kept = join_to_anchors(row_blocks(X), anchors, 3, lae=True, counts=True)
    joined = join_to_anchors(row_blocks(X), anchors, 3, lae=True, counts=True, drop_singletons=True)
    assert np.abs(kept.anchors).max() == 1.5
    assert np.abs(joined.anchors).max() <= 1.0
    # every point its own cluster: nothing would be left, so nothing is dropped
    assert len(join_to_anchors(row_blocks(X), X, 3, True, True, drop_singletons=True).anchors) > 200
