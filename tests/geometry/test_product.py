import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from flgp.geometry import Circle, Graph, Interval, Mesh, Product, Sphere
from flgp.geometry.base import Eigenbasis, FittedGeometry, Geometry

RNG = np.random.default_rng(0)
TETRAHEDRON = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
PATHS = Graph(np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3)))  # two triangles
# Geometry and the column of points on it
FACTORS = [
    (Sphere(), np.column_stack([RNG.uniform(-90, 90, 30), RNG.uniform(0, 360, 30)])),
    (Circle(24), RNG.uniform(0, 24, (30, 1))),
    (Interval(), RNG.uniform(0, 1, (30, 1))),
    (PATHS, RNG.integers(0, 6, (30, 1)).astype(float)),
    (TETRAHEDRON, RNG.integers(0, 4, (30, 1)).astype(float)),
]


def heat(fitted, X, time, count):
    basis = fitted.basis(count)
    phi = basis.features(fitted.locate(X))
    return (phi * np.exp(-time * basis.eigenvalues)) @ phi.T


@pytest.mark.parametrize("first", range(5))
@pytest.mark.parametrize("second", range(5))
def test_kernel_is_the_product_of_kernels(first, second):
    (one, X), (two, Y) = FACTORS[first], FACTORS[second]
    both = np.column_stack([X, Y])
    time = 0.4
    fitted = Product(one, two).fit(both, RNG)
    exact = heat(one.fit(X, RNG), X, time, 200) * heat(two.fit(Y, RNG), Y, time, 200)
    np.testing.assert_allclose(heat(fitted, both, time, 4000), exact, atol=1e-6 * np.abs(exact).max())


def test_the_smallest_sums_are_all_there():
    X = np.column_stack([RNG.uniform(-90, 90, 20), RNG.uniform(0, 360, 20), RNG.uniform(0, 1, 20)])
    basis = Product(Sphere(), Interval(0, 1)).fit(X, RNG).basis(60)
    ell = np.repeat(np.arange(30), 2 * np.arange(30) + 1)
    sums = (ell * (ell + 1.0))[:, None] + (np.pi * np.arange(20)) ** 2
    np.testing.assert_allclose(basis.eigenvalues, np.sort(sums.ravel())[:60])
    assert basis.time_unit == 1 / basis.eigenvalues[-1]


def test_parts_and_places():
    X = np.column_stack([np.arange(6), np.linspace(0, 1, 6), np.arange(6)])
    product = Product(PATHS, Interval(), PATHS)
    fitted = product.fit(X, RNG)
    basis, places = fitted.basis(300), fitted.locate(X)
    assert (basis.n_parts, basis.n_capped, basis.bandwidth) == (4, 0, None)
    np.testing.assert_array_equal(basis.part_of(places), [0, 0, 0, 3, 3, 3])
    phi = basis.features(places)
    weights = RNG.standard_normal(len(basis.eigenvalues))
    np.testing.assert_allclose(basis.rows(places).combine(basis.at_nodes(weights)), phi @ weights)
    assert fitted.coordinates(X) is None
    assert fitted.frozen().factors[0].adjacency is None


def test_closeness_multiplies_and_distance_is_the_largest():
    X = np.linspace(0, 1, 10)[:, None] * np.ones(2)
    fitted = Product(Interval(), Interval()).fit(X, RNG)
    off = np.array([[1.1, 1.2], [0.5, 0.5]])
    np.testing.assert_allclose(fitted.distance(off), [3, 1])
    np.testing.assert_allclose(fitted.locate(off).closeness, [np.exp(-0.5 - 2), 1])
    np.testing.assert_array_equal(fitted.coordinates(off), off)


def test_columns():
    assert Product(Sphere(), Circle()).widths(3) == (2, 1)
    assert Product(Sphere(), Circle()).widths(4) == (3, 1)
    assert Product(Circle(), Interval()).widths(5) == (1, 1)
    assert Product(Circle(), Interval()).columns(5) == 2
    assert Product(Product(Circle(), Interval()), Sphere()).widths(5) == (2, 3)
    assert Product(TETRAHEDRON, Circle()).widths(4) == (3, 1)
    with pytest.raises(ValueError, match="more than one way to share 5 columns"):
        Product(Sphere(), Sphere()).columns(5)
    with pytest.raises(ValueError, match="no way to share 1 columns"):
        Product(Circle(), Interval()).columns(1)
    with pytest.raises(ValueError, match="takes 2 columns, but the rows have 5"):
        Product(Circle(), Interval()).fit(np.zeros((3, 5)), RNG)


def test_bad_factors():
    with pytest.raises(ValueError, match="two or more"):
        Product(Circle())
    with pytest.raises(ValueError, match="got 'sphere'"):
        Product(Circle(), "sphere")


class Model(BaseEstimator):
    def __init__(self, geometry=None):
        self.geometry = geometry


@pytest.mark.parametrize("geometry", [one for one, _ in FACTORS] + [Product(PATHS, Circle())])
def test_clones(geometry):
    assert isinstance(geometry, Geometry)
    copy = clone(Model(geometry)).geometry
    assert repr(copy) == repr(geometry)
    rows = np.zeros((3, 2)) if isinstance(geometry, Product | Sphere) else np.arange(3.0)[:, None]
    fitted = copy.fit(rows, RNG)
    names = [name for name in vars(FittedGeometry) if not name.startswith("_")]
    assert all(hasattr(fitted, name) for name in names)
    basis = fitted.basis(6)
    assert all(hasattr(basis, name) for name in vars(Eigenbasis) if not name.startswith("_"))
    assert fitted.bandwidths is None


class Blocked:
    """Rows with blocks of their own, as on a cluster."""

    def __init__(self, X):
        self.X, self.shape = X, X.shape

    def row_blocks(self):
        from flgp.rows.blocks import row_blocks

        return row_blocks(self.X, 7)


def test_rows_in_blocks_of_their_own():
    X = RNG.uniform(0, 1, (40, 2))
    X[-1] = 3
    fitted = Product(Interval(), Interval()).fit(Blocked(X), RNG)
    assert [factor.high for factor in fitted.factors] == [3, 3]
