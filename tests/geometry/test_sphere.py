import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import eval_legendre

from flgp.geometry import Sphere
from flgp.kernels import get_kernel


def points(n, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def fitted(X):
    return Sphere().fit(X, np.random.default_rng(0))


def features(X, count):
    sphere = fitted(X)
    return sphere.basis(count).features(sphere.locate(X))


def degrees(X):
    """Latitude and longitude of unit vectors."""
    return np.rad2deg(np.column_stack([np.arcsin(X[:, 2]), np.arctan2(X[:, 1], X[:, 0])]))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 100), st.integers(0, 100))
def test_addition_theorem(ell, seed):
    X = np.concatenate([points(8, seed), [[0, 0, 1], [0, 0, -1], [1e-7, 0, 1], [1, 0, 0]]])
    phi = features(X, (ell + 1) ** 2)[:, ell**2 :]
    cosine = np.clip(X @ X.T, -1, 1)
    np.testing.assert_allclose(
        phi @ phi.T, (2 * ell + 1) * eval_legendre(ell, cosine), atol=1e-9 * (ell + 1) ** 2
    )


def test_orthonormal_by_quadrature():
    ell = 12
    z, weight = np.polynomial.legendre.leggauss(ell + 1)
    angle = 2 * np.pi * np.arange(2 * ell + 1) / (2 * ell + 1)
    grid = [[np.sqrt(1 - u**2) * np.cos(a), np.sqrt(1 - u**2) * np.sin(a), u] for u in z for a in angle]
    phi = features(np.array(grid), (ell + 1) ** 2)
    weights = np.repeat(weight / 2, len(angle)) / len(angle)
    np.testing.assert_allclose(phi.T @ (phi * weights[:, None]), np.eye((ell + 1) ** 2), atol=1e-12)


@pytest.mark.parametrize(("asked", "given"), [(1, 4), (4, 4), (8, 4), (9, 9), (200, 196), (1000, 961)])
def test_all_of_a_degree_or_none(asked, given):
    basis = fitted(points(3)).basis(asked)
    ell = np.arange(np.sqrt(given))
    np.testing.assert_array_equal(basis.eigenvalues, np.repeat(ell * (ell + 1), (2 * ell + 1).astype(int)))
    assert basis.time_unit == 1 / basis.eigenvalues[-1]
    assert (basis.n_parts, basis.n_capped, basis.bandwidth) == (1, 0, None)


@pytest.mark.parametrize("kind", ["heat", "matern"])
def test_kernel_of_geometric_kernels(kind):
    kernels = pytest.importorskip("geometric_kernels.kernels", exc_type=ImportError)
    spaces = pytest.importorskip("geometric_kernels.spaces", exc_type=ImportError)
    n_levels, time, nu = 20, 0.05, 1.5
    kernel = kernels.MaternKarhunenLoeveKernel(spaces.Hypersphere(2), n_levels, normalize=True)
    # Theirs is (2ν/κ² + λ)^(-ν - d/2), ours (1 + tλ/ν')^(-ν') with ν' = ν + d/2; heat is exp(-κ²λ/2).
    ours = nu + 1.0
    length = np.sqrt(2 * time if kind == "heat" else 2 * nu * time / ours)
    parameters = {"nu": np.array([np.inf if kind == "heat" else nu]), "lengthscale": np.array([length])}
    X = points(30)
    theirs = kernel.K(parameters, X)
    sphere = fitted(X)
    basis = sphere.basis(n_levels**2)
    phi = basis.features(sphere.locate(X))
    weights = np.exp(get_kernel(kind, ours).log_density(basis.eigenvalues, time))
    np.testing.assert_allclose((phi * (weights / weights.sum())) @ phi.T, theirs, atol=1e-8)


def test_degrees_and_unit_vectors_agree():
    X = points(50)
    np.testing.assert_allclose(features(degrees(X), 100), features(X, 100), atol=1e-12)
    np.testing.assert_allclose(fitted(degrees(X)).coordinates(degrees(X)), X, atol=1e-14)
    turned = degrees(X) + np.array([0, 360])
    np.testing.assert_allclose(features(turned, 100), features(X, 100), atol=1e-12)


def test_off_the_sphere_the_prior_returns():
    sphere = fitted(points(10))
    X = points(4) * np.array([1.0, 1.0005, 1.003, 2.0])[:, None]
    places = sphere.locate(np.concatenate([X, np.zeros((1, 3))]))
    np.testing.assert_allclose(places.closeness, [1, 1, np.exp(-2), 0, 0], atol=1e-12)
    assert np.isfinite(sphere.basis(100).features(places)).all()
    np.testing.assert_array_equal(fitted(degrees(X[:1])).distance(degrees(X[:1])), [0])


def test_rows_and_nodes():
    X = points(20)
    sphere = fitted(X)
    basis, places = sphere.basis(25), sphere.locate(X)
    weights = np.random.default_rng(1).standard_normal((25, 2))
    combined = basis.rows(places).combine(basis.at_nodes(weights))
    np.testing.assert_allclose(combined, basis.features(places) @ weights, atol=1e-12)
    assert (basis.part_of(places) == 0).all()
    assert sphere.frozen() == sphere
    assert [sphere.n_eigenpairs(n) for n in (10, 500, 10**6)] == [200, 500, 1000]


def test_columns():
    assert [Sphere().columns(n) for n in (2, 3)] == [2, 3]
    for n in (1, 4):
        with pytest.raises(ValueError, match="geometry_columns"):
            Sphere().columns(n)


def test_bad_rows():
    with pytest.raises(ValueError, match=r"row 1\. Latitude comes first"):
        fitted(np.array([[0.0, 100.0], [100.0, 0.0]]))
    with pytest.raises(ValueError, match="length is not 1 in rows 0, 1, 2, 3, 4 and 5 more"):
        fitted(2 * points(10))
    with pytest.raises(ValueError, match="infinite in row 2"):
        fitted(np.array([[0.0, 0.0], [1.0, 1.0], [np.nan, 0.0]]))
    with pytest.raises(ValueError, match="Latitude"):
        fitted(np.zeros((1, 2))).locate(np.array([[91.0, 0.0]]))


def test_rows_are_numbered_over_all_blocks():
    X = np.zeros((40_000, 2))
    X[39_999, 0] = -91
    with pytest.raises(ValueError, match="row 39999"):
        fitted(X)
