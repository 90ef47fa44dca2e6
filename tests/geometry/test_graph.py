import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse

from flgp.geometry import Graph

RNG = np.random.default_rng(0)


def random_graph(n, density, seed):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < density), 1)
    return W + W.T


def everywhere(graph, count):
    n = graph.adjacency.shape[0]
    nodes = np.arange(n)[:, None]
    fitted = graph.fit(nodes, RNG)
    basis, places = fitted.basis(count), fitted.locate(nodes)
    return basis, places, basis.features(places)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.floats(0.0, 0.5), st.integers(0, 1000))
def test_all_eigenpairs_of_any_graph(n, density, seed):
    """φ exp(-tλ) φᵀ π is the heat semigroup of the walk, whatever the parts; caps scale a part's variance."""
    W = random_graph(n, density, seed)
    basis, _, phi = everywhere(Graph(W), n)
    assert phi.shape == (n, n)
    degree = W.sum(axis=1)
    alone = degree == 0
    usual = degree[~alone].mean() if (~alone).any() else 1.0
    loops = W + np.diag(np.where(alone, usual, 0.0))
    degree = loops.sum(axis=1)
    pi = degree / degree.sum()
    laplacian = np.eye(n) - loops / degree[:, None]
    np.testing.assert_allclose(laplacian @ phi, phi * basis.eigenvalues, atol=1e-6)
    n_parts = sparse.csgraph.connected_components(W)[0]
    assert basis.n_parts == n_parts
    assert np.count_nonzero(basis.eigenvalues < 1e-9) == n_parts
    gram = phi.T @ (pi[:, None] * phi)
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-7)
    if basis.n_capped == 0:
        np.testing.assert_allclose(np.diag(gram), 1.0, atol=1e-7)
        time = 0.5
        kernel = (phi * np.exp(-time * basis.eigenvalues)) @ phi.T * pi
        np.testing.assert_allclose(kernel, linalg.expm(-time * laplacian), atol=1e-7)


def test_no_function_crosses_parts():
    W = linalg.block_diag(random_graph(20, 0.5, 0), random_graph(15, 0.6, 1), np.zeros((2, 2)))
    basis, places, phi = everywhere(Graph(W), 10)
    part = basis.part_of(places)
    assert basis.n_parts == 4
    assert len(np.unique(part)) == 4
    for column in phi.T:
        assert len(np.unique(part[np.abs(column) > 1e-12])) == 1
    # Each part has a constant function, and the variance of a lonely node is limited.
    constant = phi[:, basis.eigenvalues < 1e-9]
    variance = (constant**2).sum(axis=1)
    assert basis.n_capped == 2
    assert (variance > 0).all()
    assert variance[-1] / variance[0] < 11


def test_only_lonely_nodes():
    basis, _, phi = everywhere(Graph(np.zeros((5, 5))), 2)
    assert (basis.n_parts, basis.n_capped) == (5, 0)
    np.testing.assert_allclose(phi @ phi.T, 5 * np.eye(5), atol=1e-12)


def test_large_graph_has_the_leading_pairs():
    """Beyond the dense solver: a grid, whose eigenvalues come in pairs, against all eigenvalues of LAPACK."""
    line = sparse.diags_array([np.ones(49), np.ones(49)], offsets=[-1, 1])
    W = sparse.csr_array(sparse.kron(line, sparse.eye_array(50)) + sparse.kron(sparse.eye_array(50), line))
    basis, _, phi = everywhere(Graph(W), 60)
    degree = W.sum(axis=1)
    symmetric = W.toarray() / np.sqrt(np.outer(degree, degree))
    exact = 1 - linalg.eigvalsh(symmetric, subset_by_index=(2500 - 60, 2499))[::-1]
    np.testing.assert_allclose(basis.eigenvalues, exact, atol=1e-10)
    np.testing.assert_allclose(phi.T @ (phi * (degree / degree.sum())[:, None]), np.eye(60), atol=1e-8)
    assert basis.time_unit == 1


def test_sparse_and_dense_and_whole_floats():
    W = random_graph(30, 0.3, 3)
    first, second = (everywhere(graph, 8)[2] for graph in (Graph(W), Graph(sparse.coo_matrix(W))))
    np.testing.assert_array_equal(first, second)
    fitted = Graph(W).fit(np.array([[3.0]]), RNG)
    np.testing.assert_array_equal(fitted.locate(np.array([[3.0]])).rows.index, [[3]])
    assert fitted.coordinates(np.array([[3.0]])) is None
    np.testing.assert_array_equal(fitted.distance(np.array([[3.0]])), [0])
    assert [fitted.n_eigenpairs(n) for n in (10, 10**5)] == [15, 15]
    assert repr(Graph(W)) == f"Graph(30 nodes, {np.count_nonzero(W) // 2} edges)"


def test_walk():
    W = random_graph(12, 0.4, 5)
    values = RNG.standard_normal((12, 3))
    fitted = Graph(W).fit(np.zeros((1, 1)), RNG)
    step = (W + np.eye(12)) / (W + np.eye(12)).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.walk(values, 2), step @ step @ values)
    np.testing.assert_allclose(fitted.walk(sparse.csr_array(values), 2), step @ step @ values)
    np.testing.assert_array_equal(fitted.walk(values, 0), values)
    with pytest.raises(ValueError, match="frozen graph"):
        fitted.frozen().walk(values, 1)
    assert fitted.frozen().locate(np.array([[2]])).closeness == 1


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        (np.ones((2, 3)), "not square"),
        (np.zeros((0, 0)), "no nodes"),
        ([[0, 1], [0, 0]], r"\(A \+ A.T\) / 2"),
        ([[0, -1], [-1, 0]], "negative"),
        ([[0, np.nan], [np.nan, 0]], "NaN"),
        ([[0, np.inf], [np.inf, 0]], "infinite"),
    ],
)
def test_bad_adjacency(adjacency, message):
    with pytest.raises(ValueError, match=message):
        Graph(adjacency)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([[0.5]], "not an integer in row 0"),
        ([[0], [3]], r"out of range in row 1\. Numbers run from 0 to 2"),
        ([[-1]], "out of range"),
        ([[np.nan]], "NaN"),
        ([[0, 1]], "geometry_columns"),
    ],
)
def test_bad_nodes(nodes, message):
    graph = Graph(np.ones((3, 3)))
    with pytest.raises(ValueError, match=message):
        graph.fit(np.array(nodes, dtype=float), RNG)


def test_columns():
    assert Graph(np.ones((2, 2))).columns(4) == 1
    with pytest.raises(ValueError, match="geometry_columns"):
        Graph(np.ones((2, 2))).columns(0)
