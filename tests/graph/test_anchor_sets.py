"""Several sets of anchors: the kernel is the mean of theirs."""

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


def kernel(found, X, t=3.0):
    """φ exp(-tλ) φᵀ, (n, n)."""
    features = found.features(found.rows(X))
    return features * np.exp(-t * found.eigenvalues) @ features.T


@settings(max_examples=25, deadline=None)
@given(st.booleans(), st.integers(1, 4), st.integers(2, 4), st.floats(0.05, 10.0), st.integers(0, 1000))
def test_the_kernel_is_the_mean_of_the_kernels_of_each_set(local, r, n_sets, epsilon, seed):
    X, new = cloud(seed=seed), cloud(30, seed=seed + 1)
    epsilon = None if local else epsilon
    sets = [anchors_of(X, 15 + 10 * k, k) for k in range(n_sets)]
    whole = fit_feature_map(joined(X, sets, r, local), 8, epsilon)
    parts = [fit_feature_map(joined(X, own, r, local), 8, epsilon) for own in sets]
    np.testing.assert_allclose(
        kernel(whole, new), np.mean([kernel(part, new) for part in parts], axis=0), atol=1e-9
    )
    assert len(whole.eigenvalues) == sum(len(part.eigenvalues) for part in parts)
    assert np.all(np.diff(whole.eigenvalues) >= 0)
    assert whole.graph.set_sizes == tuple(len(part.graph.anchors) for part in parts)
    assert whole.graph.mean_sqdist == pytest.approx(np.mean([part.graph.mean_sqdist for part in parts]))
    # The row of a point is that of each set, side by side.
    z = np.concatenate([part.rows(new).z for part in parts], axis=1)
    np.testing.assert_allclose(whole.rows(new).z, z, atol=1e-12)


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("s", [20, 2000])
def test_no_walk_leaves_its_set(local, s):
    """Also where the Gram matrix is not accumulated in a dense table."""
    X = cloud(4000)
    graph = joined(X, [anchors_of(X, s, 0), anchors_of(X, 10, 1)], local=local)
    step = fit_transition(graph, None if local else 0.5)
    block, Z = graph.find(X), np.zeros((len(X), len(graph.anchors)))
    np.put_along_axis(Z, block.index.astype(np.intp), step.rows(block), axis=1)
    own = np.repeat([0, 1], graph.set_sizes)
    expected = np.where(own[:, None] == own, Z.T @ Z, 0.0)
    np.testing.assert_allclose(anchor_gram(graph, step).toarray(), expected, rtol=1e-10, atol=1e-12)


def test_a_map_at_another_bandwidth_is_a_start():
    X = cloud(4000)
    graph = joined(X, [anchors_of(X, 1600, 0), anchors_of(X, 1700, 1)], local=False)
    wide = fit_feature_map(graph, 10, 2.0)
    found = fit_feature_map(graph, 10, 0.5, near=wide)
    exact = fit_feature_map(graph, 10, 0.5)
    np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, atol=1e-6)


def test_threads_change_nothing():
    X = cloud()
    graph = joined(X, [anchors_of(X, 40, 0), anchors_of(X, 30, 1)])
    one, three = (fit_feature_map(graph, 10, n_threads=count) for count in (1, 3))
    np.testing.assert_array_equal(one.spectrum.lift, three.spectrum.lift)


def test_parts_are_those_that_no_set_holds_together():
    clumps = np.concatenate([cloud(100, seed=k) + 100.0 * k for k in range(4)])
    apart = [np.concatenate([anchors_of(X, 8, seed) for X in np.split(clumps, 4)]) for seed in range(2)]
    spectrum = fit_feature_map(joined(clumps, apart), 8).spectrum
    assert spectrum.n_components == 4
    # Anchors of both sets in the same clump are in the same part.
    np.testing.assert_array_equal(spectrum.components, np.tile(np.repeat(np.arange(4), 8), 2))
    coarse = np.array([[0.0, 0, 0], [300.0, 300, 300]])  # joins all clumps
    assert (
        fit_feature_map(joined(clumps, [apart[0], coarse], r=2, local=False), 8, 300.0).spectrum.n_components
        == 1
    )


@pytest.mark.parametrize("local", [True, False])
def test_the_same_set_twice_is_that_set(local):
    X, new = cloud(), cloud(50, seed=1)
    anchors, epsilon = anchors_of(X, 40, 0), None if local else 0.5
    once, twice = (
        fit_feature_map(joined(X, sets, local=local), 20, epsilon) for sets in (anchors, [anchors, anchors])
    )
    np.testing.assert_allclose(twice.eigenvalues, np.repeat(once.eigenvalues, 2), atol=1e-10)
    np.testing.assert_allclose(kernel(twice, new), kernel(once, new), atol=1e-9)
    np.testing.assert_allclose(twice.rows(new).closeness, once.rows(new).closeness)


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
