"""Two solvers, one answer."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning

from flgp._threads import threads
from flgp.geometry import chebyshev, eigensolvers
from flgp.geometry.chebyshev import quickest_eigenpairs
from flgp.geometry.eigensolvers import (
    ROUGH,
    dense_eigenpairs,
    filtered_subspace,
    is_dense,
)


def walk_on_a_ring(size, seed=0):
    """A random walk with uneven steps, normalised like the engine's: eigenvalues in [0, 1], the top one 1."""
    rng = np.random.default_rng(seed)
    near = np.arange(size)
    steps = [(near, near, 2.0 + rng.random(size))]
    for shift in (1, 2):
        weight = rng.random(size)
        steps += [(near, (near + shift) % size, weight), ((near + shift) % size, near, weight)]
    rows, columns, weights = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    gram = sparse.csr_array((weights, (rows, columns)), shape=(size, size))
    root = 1.0 / np.sqrt(gram.sum(axis=1))
    walk = sparse.csr_array(sparse.diags_array(root) @ gram @ sparse.diags_array(root))
    # A two-step walk has no negative eigenvalues.
    return sparse.csr_array(walk @ walk), 1.0 / root


@pytest.mark.parametrize("count", [60, 200, 350])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_filtered_subspace_equals_dense(count, n_threads):
    matrix, start = walk_on_a_ring(900)
    with threads(n_threads):
        values, vectors = filtered_subspace(matrix, count, start)
    exact = linalg.eigvalsh(matrix.toarray())[::-1][:count]
    np.testing.assert_allclose(values, exact, atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-10)
    residual = np.linalg.norm(matrix @ vectors - vectors * values, axis=0)
    assert residual.max() < 1e-6


def test_equal_eigenvalues_are_all_found():
    """Two identical rings: every eigenvalue twice."""
    one, start = walk_on_a_ring(400)
    matrix = sparse.csr_array(sparse.block_diag([one, one]))
    values, _ = filtered_subspace(matrix, 100, np.concatenate([start, start]))
    exact = np.repeat(linalg.eigvalsh(one.toarray())[::-1][:50], 2)
    np.testing.assert_allclose(values, exact, atol=1e-10)


@pytest.mark.parametrize("dense_size", [1500, 100])
def test_every_choice_of_solver_agrees(monkeypatch, dense_size):
    monkeypatch.setattr(eigensolvers, "_DENSE_SIZE", dense_size)
    matrix, start = walk_on_a_ring(500)
    values, vectors = quickest_eigenpairs(matrix, 40, start)
    exact = linalg.eigvalsh(matrix.toarray())[::-1][:40]
    np.testing.assert_allclose(values, exact, atol=1e-9)
    assert np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max() < 2e-6


@pytest.mark.parametrize("bridge", [1.0, 1e-6])
def test_heavy_rows(monkeypatch, bridge):
    """Lanczos first; where parts hardly hold together it is not trusted, and all copies are found."""
    monkeypatch.setattr(eigensolvers, "_DENSE_SIZE", 0)
    monkeypatch.setattr(eigensolvers, "DENSE_REFUGE", 0)
    monkeypatch.setattr(chebyshev, "HEAVY_ROW", 3)
    filtered, calls = filtered_subspace, []
    monkeypatch.setattr(chebyshev, "filtered_subspace", lambda *a: calls.append(a[1]) or filtered(*a))
    one, _ = walk_on_a_ring(60)
    parts = sparse.csr_array(sparse.block_diag([one] * 3))
    ends = np.array([0, 60]), np.array([60, 120])
    link = sparse.csr_array((np.full(2, bridge), ends), shape=parts.shape)
    gram = sparse.csr_array(parts + link + link.T)
    mass = gram.sum(axis=1)
    root = sparse.diags_array(1.0 / np.sqrt(mass))
    matrix = sparse.csr_array(root @ gram @ root)
    values, vectors = quickest_eigenpairs(matrix, 12, np.sqrt(mass))
    exact = linalg.eigvalsh(matrix.toarray())[::-1][:12]
    np.testing.assert_allclose(values, exact, atol=1e-10)
    assert np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max() < 1e-6
    assert len(calls) == (0 if bridge == 1.0 else 1)
    # Of many bandwidths that are only compared, it will do.
    values, vectors = quickest_eigenpairs(matrix, 12, np.sqrt(mass), tolerance=ROUGH)
    assert np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max() < 1e-3
    assert len(calls) == (0 if bridge == 1.0 else 1)


@pytest.mark.parametrize("refuge", [0, 6000])
@pytest.mark.parametrize("count", [5, 30])
def test_many_nearly_separate_parts(monkeypatch, count, refuge):
    """Far more eigenvalues near 1 than are wanted: no gap for the filter, copies that Lanczos missed."""
    monkeypatch.setattr(eigensolvers, "DENSE_REFUGE", refuge)
    parts = [walk_on_a_ring(10, seed)[0] for seed in range(80)]
    size = 800
    ends = np.arange(0, size - 10, 10)
    bridge = sparse.csr_array((np.full(len(ends), 1e-5), (ends, ends + 10)), shape=(size, size))
    gram = sparse.csr_array(sparse.block_diag(parts) + bridge + bridge.T)
    mass = gram.sum(axis=1)
    root = sparse.diags_array(1.0 / np.sqrt(mass))
    matrix = sparse.csr_array(root @ gram @ root)
    values, vectors = filtered_subspace(matrix, count, np.sqrt(mass))
    exact = linalg.eigvalsh(matrix.toarray())[::-1][:count]
    np.testing.assert_allclose(values, exact, atol=1e-12)
    assert np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max() < 1e-7


def test_start_vectors_that_are_zero_here_are_left_out():
    """As those of another connected part, when the graph of a similar bandwidth gives the start."""
    matrix, trivial = walk_on_a_ring(600)
    exact, vectors = filtered_subspace(matrix, 20, trivial)
    start = np.column_stack([vectors[:, :10], np.zeros((600, 10))])
    values, _ = filtered_subspace(matrix, 20, start)
    np.testing.assert_allclose(values, exact, atol=1e-10)


def test_dense_when_most_is_wanted():
    assert is_dense(1000, 10)
    assert is_dense(5000, 2000)
    assert is_dense(50_000, 30_000)
    assert not is_dense(5000, 1500)
    assert not is_dense(1500, 100)
    assert not is_dense(50_000, 15_000)
    assert not is_dense(50_000, 5000)


def test_eigenpairs_that_lapack_loses_are_found_again(monkeypatch):
    """With 1,000 landmarks of MNIST and a small bandwidth, 96 of 100 came back (OpenBLAS's syevr)."""
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((30, 30))
    matrix = matrix + matrix.T
    solve = linalg.eigh

    def forgetful(a, **options):
        values, vectors = solve(a, **options)
        return (values[2:], vectors[:, 2:]) if "subset_by_index" in options else (values, vectors)

    monkeypatch.setattr(linalg, "eigh", forgetful)
    monkeypatch.setattr(eigensolvers, "_WHOLE_SIZE", 0)
    values, vectors = dense_eigenpairs(matrix, 10)
    np.testing.assert_allclose(values, np.sort(np.linalg.eigvalsh(matrix))[::-1][:10])
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12)


def test_a_block_that_may_not_grow_ends_with_a_warning(monkeypatch):
    """A spectrum without a gap, too large for a wider block: what was found, and how well."""
    values = 1.0 - 1e-6 * np.arange(400.0)
    monkeypatch.setattr(eigensolvers, "DENSE_REFUGE", 0)
    monkeypatch.setattr(eigensolvers, "_LARGEST_BLOCK", 0)
    with pytest.warns(ConvergenceWarning, match="10 leading of 400 eigenpairs"):
        found, vectors = filtered_subspace(sparse.diags_array(values).tocsr(), 10, np.ones(400))
    assert vectors.shape == (400, 10)
    np.testing.assert_allclose(found, 1.0, atol=4e-4)
