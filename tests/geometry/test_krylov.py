import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from flgp.geometry import chebyshev, eigensolvers, krylov
from flgp.geometry.chebyshev import leading_by_filter, quickest_eigenpairs
from flgp.geometry.eigensolvers import ROUGH
from flgp.geometry.krylov import leading_by_lanczos


def rotated(values, seed=0):
    """A symmetric matrix with the given eigenvalues."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return (Q * values) @ Q.T


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 40), st.integers(1, 50))
def test_eigenvalues_that_many_vectors_share(seed, copies, count):
    """More copies of an eigenvalue than a block has vectors are all found."""
    rng = np.random.default_rng(seed)
    values = np.sort(np.concatenate([np.full(copies, 2.0), rng.uniform(-1, 1, 400 - copies)]))[::-1]
    A = rotated(values, seed)
    found, vectors = leading_by_lanczos(lambda columns: A @ columns, 400, count)
    np.testing.assert_allclose(found, values[:count], atol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-9)
    np.testing.assert_allclose(A @ vectors, vectors * found, atol=1e-6)


def test_operator_of_low_rank():
    A = rotated(np.r_[np.arange(1.0, 6.0), np.zeros(295)])
    found, _ = leading_by_lanczos(lambda columns: A @ columns, 300, 8)
    np.testing.assert_allclose(found, [5, 4, 3, 2, 1, 0, 0, 0], atol=1e-9)


def test_no_convergence_is_said(monkeypatch):
    monkeypatch.setattr(krylov, "_MAX_LOOKS", 3)
    A = sparse.diags_array(np.linspace(0, 1, 3000))
    with pytest.warns(ConvergenceWarning, match="20 leading of 3000"):
        leading_by_lanczos(lambda columns: A @ columns, 3000, 20)


@pytest.mark.parametrize("width", [0.0, 1.0, 1e4])
def test_filter_finds_the_leading_pairs(width):
    """Also of dense spectra, where the first guess of their edge is too high, and of nearly equal ones."""
    size, count = 2000, 30
    rng = np.random.default_rng(1)
    entries = sparse.random_array((size, size), density=0.004, rng=rng, format="csr")
    W = entries + entries.T
    if width:  # nearly separate parts
        part = np.arange(size) // 40
        W.data *= np.where(part[W.tocoo().row] == part[W.tocoo().col], width, 1.0)
    W = W + sparse.diags_array(np.full(size, 1e-3))
    root = sparse.diags_array(1 / np.sqrt(W.sum(axis=1)))
    matrix = sparse.csr_array(0.5 * (root @ W @ root) + 0.5 * sparse.eye_array(size))
    values, vectors = leading_by_filter(matrix, count)
    exact = np.linalg.eigvalsh(matrix.toarray())[::-1][:count]
    np.testing.assert_allclose(values, exact, atol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-8)


def test_many_nearly_separate_parts():
    """Fifty dense parts with faint links: fifty eigenvalues near 1."""
    size, n_parts = 2500, 50
    block = np.ones((50, 50))
    links = sparse.random_array((size, size), density=1e-4, rng=np.random.default_rng(0))
    W = sparse.csr_array(sparse.block_diag([block] * n_parts)) + 1e-9 * (links + links.T)
    root = sparse.diags_array(1 / np.sqrt(W.sum(axis=1)))
    values, _ = leading_by_filter(sparse.csr_array(root @ W @ root), 60)
    assert np.count_nonzero(values > 1 - 1e-6) == n_parts


def test_small_matrices_are_dense():
    A = sparse.csr_array(np.diag([0.1, 0.9, 0.5]))
    values, vectors = leading_by_filter(A, 2)
    np.testing.assert_allclose(values, [0.9, 0.5])
    np.testing.assert_allclose(np.abs(vectors.T), [[0, 1, 0], [0, 0, 1]], atol=1e-12)


@pytest.mark.parametrize("refuge", [0, 6000], ids=["subspaces", "dense"])
@pytest.mark.parametrize("bridge", [1e-3, 1e-9])
def test_the_quickest_solver_gives_up_in_time(monkeypatch, bridge, refuge):
    """Far more eigenvalues near 1 than are wanted: the filter has no gap, and another solver takes over."""
    monkeypatch.setattr(eigensolvers, "_DENSE_SIZE", 0)
    monkeypatch.setattr(chebyshev, "DENSE_REFUGE", refuge)
    monkeypatch.setattr(krylov, "_FEW_LOOKS", 3)
    ends = np.arange(0, 1190, 10)
    links = sparse.csr_array((np.full(len(ends), bridge), (ends, ends + 10)), shape=(1200, 1200))
    ring = sparse.csr_array(np.eye(10) * 2 + np.roll(np.eye(10), 1, 0) + np.roll(np.eye(10), -1, 0))
    gram = sparse.csr_array(sparse.block_diag([ring] * 120) + links + links.T)
    mass = gram.sum(axis=1)
    root = sparse.diags_array(1.0 / np.sqrt(mass))
    matrix = sparse.csr_array(root @ gram @ root)
    values, vectors = quickest_eigenpairs(matrix, 30, np.sqrt(mass))
    exact = np.linalg.eigvalsh(matrix.toarray())[::-1][:30]
    np.testing.assert_allclose(values, exact, atol=1e-9)
    assert np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max() < 1e-7


def test_rough_pairs_in_single_precision_are_near_the_exact_ones():
    rng = np.random.default_rng(0)
    near = sparse.random_array((2500, 2500), density=0.004, rng=rng, data_sampler=rng.random)
    gram = sparse.csr_array(near @ near.T + sparse.eye_array(2500))
    root = sparse.diags_array(1.0 / np.sqrt(gram.sum(axis=1)))
    matrix = sparse.csr_array(root @ gram @ root)
    values, vectors = leading_by_filter(matrix, 25, tolerance=ROUGH)
    exact = np.linalg.eigvalsh(matrix.toarray())[::-1][:25]
    np.testing.assert_allclose(values, exact, atol=0.1 * ROUGH)
    assert np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max() < 10 * ROUGH
