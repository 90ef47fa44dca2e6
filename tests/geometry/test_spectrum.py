import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from conftest import ring
from flgp.geometry import eigensolvers, spectrum
from flgp.geometry.point_cloud import FittedCloud, NeighborBlock, choose_anchors, join_to_anchors
from flgp.geometry.spectrum import fit_spectrum
from flgp.rows.blocks import row_blocks


def rings(count, n=150, gap=1.0):
    return np.concatenate([ring(n, seed=k, radius=1.0 + gap * k)[0] for k in range(count)])


def cloud_of(X, s, r, lae=True):
    anchors = choose_anchors(X, s, "kmeans", np.random.default_rng(0))
    return FittedCloud(join_to_anchors(row_blocks(X), anchors, r, lae, True))


def dense_z(cloud, basis, X):
    rows = basis.rows(cloud.locate(X))
    Z = np.zeros((len(X), len(cloud.anchors)))
    np.put_along_axis(Z, rows.index.astype(np.intp), rows.z, axis=1)
    return Z


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 3), st.integers(5, 40), st.integers(1, 5), st.booleans())
def test_features_of_fitted_points_are_singular_vectors(count, s, r, lae):
    X = rings(count)
    cloud = cloud_of(X, s, r, lae)
    fitted = cloud.basis(12, None if lae else 0.5)
    Z = dense_z(cloud, fitted, X)
    left, singular, _ = np.linalg.svd(Z / np.sqrt(Z.sum(axis=0)), full_matrices=False)
    M = len(fitted.eigenvalues)
    sigma = 1 - fitted.eigenvalues
    np.testing.assert_allclose(sigma, np.sort(singular)[::-1][:M], atol=1e-8)
    assert (sigma <= 1).all()
    assert (sigma >= 0).all()
    assert np.count_nonzero(sigma > 1 - 1e-12) == fitted.n_parts
    # √n × the singular vectors: compare projections, since degenerate ones may rotate among themselves
    phi = fitted.features(cloud.locate(X)) / np.sqrt(len(X))
    np.testing.assert_allclose(phi.T @ phi, np.eye(M), atol=1e-6)
    in_span = left[:, singular > singular[M - 1] - 1e-9]
    np.testing.assert_allclose(in_span @ (in_span.T @ phi), phi, atol=1e-5)


def test_matches_the_r_package(oracle):
    Z = oracle.transition_lae_cluster_normalized
    fitted = fit_spectrum(sparse.csr_array(Z.T @ Z), 120, 24)
    sigma = 1 - fitted.eigenvalues
    np.testing.assert_allclose(sigma[:20], oracle.singular_values_lae[:20], atol=1e-7)
    top = fit_spectrum(sparse.csr_array(Z.T @ Z), 120, 12)
    phi = Z @ top.lift
    C = (phi * np.exp(-30 * top.eigenvalues)) @ phi.T
    np.testing.assert_allclose(C, oracle.heat_covariance_lae_t30_m12, atol=1e-6)


def test_flgp_x_matches_the_r_package(oracle):
    graph = join_to_anchors(row_blocks(oracle.points), oracle.points, 10, lae=False, counts=False)
    cloud = FittedCloud(graph)
    fitted = cloud.basis(15, 0.12)
    phi = fitted.features(cloud.locate(oracle.points))
    C = (phi * np.exp(-25 * fitted.eigenvalues)) @ phi.T
    expected = oracle.flgpx_se_covariance_eps012_r10_t25_m15
    np.testing.assert_allclose(C[:, :30], expected, atol=2e-6)


@pytest.mark.parametrize("components", [1, 4])
def test_the_other_solver_agrees_with_the_dense_one(monkeypatch, components):
    X = rings(components, n=200)
    cloud = cloud_of(X, 100 * components, 3)
    dense = cloud.basis(12)
    monkeypatch.setattr(eigensolvers, "_DENSE_SIZE", 10)
    other = cloud.basis(12)
    np.testing.assert_allclose(other.eigenvalues, dense.eigenvalues, atol=1e-9)
    one, two = (basis.features(cloud.locate(X)) for basis in (dense, other))
    decay = np.exp(-50 * dense.eigenvalues)
    np.testing.assert_allclose((one * decay) @ one.T, (two * decay) @ two.T, atol=1e-5)


def test_more_components_than_eigenpairs_keeps_one_of_each():
    X = np.concatenate([ring(40, seed=k)[0] + 10 * k for k in range(7)])
    cloud = cloud_of(X, 70, 3)
    fitted = cloud.basis(3)
    assert fitted.n_parts == 7
    np.testing.assert_allclose(fitted.eigenvalues, 0.0, atol=1e-12)
    assert len(fitted.eigenvalues) == 7
    variance = (fitted.features(cloud.locate(X)) ** 2).sum(axis=1)
    np.testing.assert_allclose(variance, 7.0, rtol=1e-6)


def test_a_stray_component_does_not_get_an_enormous_prior_variance():
    stray = np.array([[30.0, 30.0], [30.1, 30.0], [30.0, 30.1]])
    X = np.concatenate([ring(3000)[0], stray])
    graph = join_to_anchors(row_blocks(X), np.concatenate([X[:3000:50], stray]), 3, True, True)
    cloud = FittedCloud(graph)
    fitted = cloud.basis(20)
    variance = (fitted.features(cloud.locate(X)) ** 2 * np.exp(-1e6 * fitted.eigenvalues)).sum(axis=1)
    assert fitted.n_capped == 1
    np.testing.assert_allclose(variance[:3000], 1.0, rtol=0.01)
    # three points carry three eigenfunctions, each at most ten times the usual value (not a thousand)
    assert variance[3000:].max() < 31.0


def test_large_sparse_gram_is_the_same_as_the_dense_table(monkeypatch):
    X = ring(500)[0]
    cloud = cloud_of(X, 50, 3)
    small = cloud.basis(20)
    monkeypatch.setattr("flgp.geometry.point_cloud.walk._DENSE_GRAM", 10)
    large = cloud.basis(20)
    np.testing.assert_allclose(large.eigenvalues, small.eigenvalues, atol=1e-12)


def test_features_do_not_need_the_fitted_rows():
    X = ring(300)[0]
    cloud = cloud_of(X, 30, 3)
    fitted, bare = cloud.basis(10), cloud.frozen()
    new = ring(50, seed=5)[0]
    assert bare.graph.blocks is None
    assert isinstance(bare.graph.find(new), NeighborBlock)
    np.testing.assert_array_equal(fitted.features(bare.locate(new)), fitted.features(cloud.locate(new)))


def test_closeness_is_one_on_the_cloud_and_zero_far_away():
    X = ring(2000)[0]
    cloud = cloud_of(X, 60, 3)
    np.testing.assert_array_equal(cloud.locate(X).closeness, 1.0)
    assert cloud.locate(ring(500, seed=9)[0]).closeness.min() > 0.9
    assert cloud.locate(np.array([[3.0, 3.0], [1e9, 0.0]])).closeness.max() < 1e-6


def test_a_spectrum_near_by_is_a_start_only(monkeypatch):
    """In a search over bandwidths: from the map at another one, roughly, but the same kernel."""
    monkeypatch.setattr(eigensolvers, "_DENSE_SIZE", 10)
    X = ring(400, seed=3)[0]
    graph = join_to_anchors(row_blocks(X), X[::2], 6, lae=False, counts=False)
    cloud = FittedCloud(graph)
    far, exact = (cloud.basis(12, epsilon) for epsilon in (0.05, 0.03))
    found = cloud.basis(12, 0.03, near=far)
    np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, atol=1e-6)
    decay = np.exp(-50 * exact.eigenvalues)
    one, two = (basis.features(cloud.locate(X)) for basis in (exact, found))
    np.testing.assert_allclose((one * decay) @ one.T, (two * decay) @ two.T, atol=1e-2)


def test_parts_beyond_memory_are_the_smallest_ones(monkeypatch):
    """A lift of parts times anchors must not fill the memory: 70,000 parts of as many points did."""
    monkeypatch.setattr(spectrum, "_MOST_NUMBERS", 3 * 28)
    sizes = [10, 2, 8, 3, 5]
    gram = sparse.csr_array(sparse.block_diag([np.full((k, k), 1.0 / k) for k in sizes]))
    with pytest.warns(UserWarning, match="5 connected parts, but only the 3 largest fit in memory"):
        found = fit_spectrum(gram, 28, 2)
    owner = np.repeat(np.arange(5), sizes)
    has_features = [bool(found.lift[owner == part].any()) for part in range(5)]
    assert has_features == [True, False, True, False, True]
    assert found.lift.shape == (28, 3)


@pytest.mark.parametrize("weight", [1e-12, 1e-10, 1e-8])
def test_parts_that_hardly_hold_together_are_orthogonal(weight):
    """Three rings joined by next to nothing: the solver alone mixes their eigenvectors with the constant."""
    angle = 2 * np.pi * np.arange(40) / 40
    ring_of_weights = np.exp(-50 * (1 - np.cos(angle[:, None] - angle)))
    gram = sparse.block_diag([ring_of_weights * k for k in (1.0, 1.3, 1.7)]).tolil()
    for a, b in ((3, 50), (60, 95)):
        gram[a, b] = gram[b, a] = weight
    gram = sparse.csr_array(gram)
    gram *= 120 / gram.sum()
    found = fit_spectrum(gram, 120, 9)
    assert found.n_components == 1
    # Columns of Λ^(1/2) B diag(σ) are √n times orthonormal vectors, the first one Λ^(1/2) 1.
    mass = gram.sum(axis=1)
    vectors = np.sqrt(mass)[:, None] * found.lift * (1 - found.eigenvalues)
    np.testing.assert_allclose(vectors.T @ vectors, 120 * np.eye(9), atol=1e-8)
    np.testing.assert_allclose(np.abs(found.lift[:, 0]), 1.0, rtol=1e-9)
    assert np.all(np.diff(found.eigenvalues) > -1e-15)
