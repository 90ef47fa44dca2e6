"""Several sets of anchors: the walk is the mean of the walks through each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flgp.blocks import row_blocks
from flgp.feature_map import fit_feature_map
from flgp.graph import anchor_gram, choose_anchors, fit_transition, join_to_anchors


def cloud(n=240, p=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def anchors_of(X, s, seed):
    return choose_anchors(X, s, "kmeans", np.random.default_rng(seed))


def joined(X, anchors, r=3, local=True):
    return join_to_anchors(row_blocks(X, block_rows=100), anchors, r, local, counts=True)


def transition_matrix(graph, X, step):
    """Z (n, s), dense."""
    block, Z = graph.find(X), np.zeros((len(X), len(graph.anchors)))
    np.put_along_axis(Z, block.index.astype(np.intp), step.rows(block), axis=1)
    return Z


def walk(Z):
    """Z Λ⁻¹ Zᵀ, (n, n)."""
    return Z / Z.sum(axis=0) @ Z.T


@settings(max_examples=25, deadline=None)
@given(st.booleans(), st.integers(1, 4), st.integers(2, 4), st.floats(0.05, 10.0), st.integers(0, 1000))
def test_the_walk_is_the_mean_of_the_walks_through_each_set(local, r, n_sets, epsilon, seed):
    X = cloud(seed=seed)
    epsilon = None if local else epsilon
    sets = [anchors_of(X, 15 + 10 * k, k) for k in range(n_sets)]
    whole = joined(X, sets, r, local)
    step = fit_transition(whole, epsilon)
    Z = transition_matrix(whole, X, step)
    parts = [joined(X, own, r, local) for own in sets]
    alone = [walk(transition_matrix(part, X, fit_transition(part, epsilon))) for part in parts]
    np.testing.assert_allclose(walk(Z), np.mean(alone, axis=0), atol=1e-12)
    np.testing.assert_allclose(anchor_gram(whole, step).toarray(), Z.T @ Z, rtol=1e-10, atol=1e-12)
    assert whole.set_sizes == tuple(len(part.anchors) for part in parts)
    assert whole.mean_sqdist == pytest.approx(np.mean([part.mean_sqdist for part in parts]))


@pytest.mark.parametrize("local", [True, False])
def test_the_same_set_twice_is_that_set(local):
    X, new = cloud(), cloud(50, seed=1)
    anchors, epsilon = anchors_of(X, 40, 0), None if local else 0.5
    once, twice = (
        fit_feature_map(joined(X, sets, local=local), 20, epsilon) for sets in (anchors, [anchors, anchors])
    )
    np.testing.assert_allclose(twice.eigenvalues, once.eigenvalues, atol=1e-10)
    kernels = []
    for found in (once, twice):
        rows = found.rows(new)
        np.testing.assert_allclose(rows.z.sum(axis=1), 1.0)
        features = found.features(rows) * np.exp(-2.0 * found.eigenvalues)
        kernels.append((features @ features.T, rows.closeness))
    np.testing.assert_allclose(kernels[1][0], kernels[0][0], atol=1e-8)
    np.testing.assert_allclose(kernels[1][1], kernels[0][1])


def test_a_point_is_as_near_as_the_nearer_set_says():
    X = cloud()
    graph = joined(X, [anchors_of(X, 40, 0), anchors_of(X, 10, 1)])
    new = np.concatenate([X[:20], 3.0 * X[20:40]])
    each = np.split(graph.anchors, [graph.set_sizes[0]])
    radii = np.split(graph.radii, [graph.set_sizes[0]])
    ratios = []
    for own, radius in zip(each, radii, strict=True):
        distance = np.linalg.norm(new[:, None] - own[None], axis=2)
        ratios.append(distance.min(axis=1) / radius[distance.argmin(axis=1)])
    np.testing.assert_allclose(graph.relative_distance(*graph.search(new, 1)), np.min(ratios, axis=0))
    assert np.all(graph.relative_distance(*graph.search(X, 3)) <= 1.0 + 1e-12)


def test_a_set_smaller_than_r_limits_all():
    X = cloud()
    graph = joined(X, [anchors_of(X, 20, 0), anchors_of(X, 2, 1)], r=5)
    assert graph.n_neighbors == 2
    assert graph.find(X).index.shape == (len(X), 4)
