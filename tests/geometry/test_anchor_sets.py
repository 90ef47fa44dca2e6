"""Several sets of anchors: the kernel is the mean of theirs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flgp._threads import threads
from flgp.geometry.point_cloud import (
    FittedCloud,
    anchor_gram,
    choose_anchors,
    fit_transition,
    join_to_anchors,
)
from flgp.rows.blocks import row_blocks


def cloud(n=240, p=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def anchors_of(X, s, seed):
    return choose_anchors(X, s, "kmeans", np.random.default_rng(seed))


def joined(X, anchors, r=3, lae=True):
    return FittedCloud(join_to_anchors(row_blocks(X, block_rows=100), anchors, r, lae, counts=True))


def kernel(cloud, basis, X, t=3.0):
    """φ exp(-tλ) φᵀ, (n, n)."""
    features = basis.features(cloud.locate(X))
    return features * np.exp(-t * basis.eigenvalues) @ features.T


@settings(max_examples=25, deadline=None)
@given(st.booleans(), st.integers(1, 4), st.integers(2, 4), st.floats(0.05, 10.0), st.integers(0, 1000))
def test_the_kernel_is_the_mean_of_the_kernels_of_each_set(lae, r, n_sets, epsilon, seed):
    X, new = cloud(seed=seed), cloud(30, seed=seed + 1)
    epsilon = None if lae else epsilon
    sets = [anchors_of(X, 15 + 10 * k, k) for k in range(n_sets)]
    together, apart = joined(X, sets, r, lae), [joined(X, own, r, lae) for own in sets]
    whole, parts = together.basis(8, epsilon), [own.basis(8, epsilon) for own in apart]
    kernels = [kernel(own, part, new) for own, part in zip(apart, parts, strict=True)]
    np.testing.assert_allclose(kernel(together, whole, new), np.mean(kernels, axis=0), atol=1e-9)
    assert len(whole.eigenvalues) == sum(len(part.eigenvalues) for part in parts)
    assert np.all(np.diff(whole.eigenvalues) >= 0)
    assert together.graph.set_sizes == tuple(len(own.anchors) for own in apart)
    assert together.graph.mean_sqdist == pytest.approx(np.mean([own.graph.mean_sqdist for own in apart]))
    # The row of a point is that of each set, side by side.
    z = np.concatenate([part.rows(own.locate(new)).z for own, part in zip(apart, parts, strict=True)], axis=1)
    np.testing.assert_allclose(whole.rows(together.locate(new)).z, z, atol=1e-12)


@pytest.mark.parametrize("lae", [True, False])
@pytest.mark.parametrize(("s", "r"), [(20, 3), (2000, 3), (2000, 9)])
def test_no_walk_leaves_its_set(lae, s, r):
    """Also where the Gram matrix is not accumulated in a dense table, or is a product."""
    X = cloud(4000)
    graph = joined(X, [anchors_of(X, s, 0), anchors_of(X, 10, 1)], r, lae=lae).graph
    step = fit_transition(graph, None if lae else 0.5)
    block, Z = graph.find(X), np.zeros((len(X), len(graph.anchors)))
    np.put_along_axis(Z, block.index.astype(np.intp), step.rows(block), axis=1)
    own = np.repeat([0, 1], graph.set_sizes)
    expected = np.where(own[:, None] == own, Z.T @ Z, 0.0)
    np.testing.assert_allclose(anchor_gram(graph, step).toarray(), expected, rtol=1e-10, atol=1e-12)


def test_a_map_at_another_bandwidth_is_a_start():
    X = cloud(4000)
    fitted = joined(X, [anchors_of(X, 1600, 0), anchors_of(X, 1700, 1)], lae=False)
    wide = fitted.basis(10, 2.0)
    found = fitted.basis(10, 0.5, near=wide)
    exact = fitted.basis(10, 0.5)
    np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, atol=1e-6)


def test_threads_change_nothing():
    X = cloud()
    fitted = joined(X, [anchors_of(X, 40, 0), anchors_of(X, 30, 1)])
    one = fitted.basis(10)
    with threads(3):
        three = fitted.basis(10)
    np.testing.assert_array_equal(one.spectrum.lift, three.spectrum.lift)


def test_parts_are_those_that_no_set_holds_together():
    clumps = np.concatenate([cloud(100, seed=k) + 100.0 * k for k in range(4)])
    apart = [np.concatenate([anchors_of(X, 8, seed) for X in np.split(clumps, 4)]) for seed in range(2)]
    spectrum = joined(clumps, apart).basis(8).spectrum
    assert spectrum.n_components == 4
    # Anchors of both sets in the same clump are in the same part.
    np.testing.assert_array_equal(spectrum.components, np.tile(np.repeat(np.arange(4), 8), 2))
    coarse = np.array([[0.0, 0, 0], [300.0, 300, 300]])  # joins all clumps
    assert joined(clumps, [apart[0], coarse], r=2, lae=False).basis(8, 300.0).n_parts == 1


@pytest.mark.parametrize("lae", [True, False])
def test_the_same_set_twice_is_that_set(lae):
    X, new = cloud(), cloud(50, seed=1)
    anchors, epsilon = anchors_of(X, 40, 0), None if lae else 0.5
    single, double = (joined(X, sets, lae=lae) for sets in (anchors, [anchors, anchors]))
    once, twice = single.basis(20, epsilon), double.basis(20, epsilon)
    np.testing.assert_allclose(twice.eigenvalues, np.repeat(once.eigenvalues, 2), atol=1e-10)
    np.testing.assert_allclose(kernel(double, twice, new), kernel(single, once, new), atol=1e-9)
    np.testing.assert_allclose(double.locate(new).closeness, single.locate(new).closeness)


def test_a_point_is_as_near_as_the_nearer_set_says():
    X = cloud()
    graph = joined(X, [anchors_of(X, 40, 0), anchors_of(X, 10, 1)]).graph
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
    graph = joined(X, [anchors_of(X, 20, 0), anchors_of(X, 2, 1)], r=5).graph
    assert graph.n_neighbors == 2
    assert graph.find(X).index.shape == (len(X), 4)
