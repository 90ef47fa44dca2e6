import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flgp.geometry import Circle, Interval

RNG = np.random.default_rng(0)


def heat(fitted, X, time, count):
    basis, places = fitted.basis(count), fitted.locate(X)
    phi = basis.features(places)
    return (phi * np.exp(-time * basis.eigenvalues)) @ phi.T


def gauss(difference, time):
    return np.exp(-(difference**2) / (4 * time)) / np.sqrt(4 * np.pi * time)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.5, 400), st.floats(0.002, 0.5))
def test_circle_has_the_wrapped_heat_kernel(period, relative):
    time = relative * (period / (2 * np.pi)) ** 2
    X = np.linspace(-period, 2 * period, 40)[:, None]
    difference = (X - X.T)[:, :, None] + period * np.arange(-12, 13)
    exact = period * gauss(difference, time).sum(axis=2)
    np.testing.assert_allclose(heat(Circle(period).fit(X, RNG), X, time, 301), exact, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.floats(-100, 100), st.floats(0.1, 50), st.floats(0.0005, 0.5))
def test_interval_reflects(low, length, relative):
    time = relative * length**2
    X = np.linspace(low, low + length, 40)[:, None]
    images = 2 * length * np.arange(-8, 9)
    exact = gauss((X - X.T)[:, :, None] + images, time) + gauss(
        (X + X.T - 2 * low)[:, :, None] + images, time
    )
    exact = length * exact.sum(axis=2)
    np.testing.assert_allclose(heat(Interval().fit(X, RNG), X, time, 301), exact, atol=1e-7)


@pytest.mark.parametrize("geometry", [Circle(3.0), Interval(-1, 2)])
def test_mean_squares_are_one(geometry):
    X = np.linspace(-1, 2, 3001)[1::2, None]  # the midpoints of 1500 cells
    fitted = geometry.fit(X, RNG)
    basis, places = fitted.basis(31), fitted.locate(X)
    phi = basis.features(places)
    np.testing.assert_allclose(phi.T @ phi / len(X), np.eye(31), atol=1e-10)
    assert (np.diff(basis.eigenvalues) >= 0).all()
    assert basis.eigenvalues[0] == 0
    assert basis.time_unit == 1 / basis.eigenvalues[-1]
    assert basis.n_parts == 1
    assert (basis.part_of(places) == 0).all()


def test_complete_pairs_only():
    fitted = Circle().fit(np.zeros((1, 1)), RNG)
    assert [len(fitted.basis(n).eigenvalues) for n in (1, 3, 4, 5, 200)] == [3, 3, 3, 5, 199]
    np.testing.assert_allclose(fitted.basis(5).eigenvalues, [0, 1, 1, 4, 4])


def test_coordinates_keep_short_distances():
    X = np.array([[0.0], [0.001], [23.999]])
    at = Circle(24).fit(X, RNG).coordinates(X)
    np.testing.assert_allclose(np.linalg.norm(at[1:] - at[0], axis=1), [0.001, 0.001], rtol=1e-6)
    np.testing.assert_array_equal(Interval().fit(X, RNG).coordinates(X), X)
    np.testing.assert_array_equal(Circle(24).fit(X, RNG).distance(X), np.zeros(3))


def test_outside_an_interval_the_prior_returns():
    fitted = Interval(0, 10).fit(np.linspace(0, 10, 50)[:, None], RNG)
    assert fitted.unit == 10 / 50
    X = np.array([[0.0], [10.0], [10.2], [-0.4], [20.0]])
    np.testing.assert_allclose(fitted.distance(X), [1, 1, 2, 3, 51])
    np.testing.assert_allclose(fitted.locate(X).closeness, np.exp([0, 0, -0.5, -2, -800]))
    assert Interval().fit(np.linspace(0, 10, 10_000)[:, None], RNG).unit == 10 / 200


def test_ends_come_from_all_blocks():
    X = RNG.uniform(size=(70_000, 1))
    X[-1] = 3
    fitted = Interval().fit(X, RNG)
    assert (fitted.low, fitted.high) == (X.min(), 3)
    assert Interval(high=5).fit(X, RNG).high == 5
    assert fitted.frozen() == fitted


def test_columns():
    assert Circle().columns(5) == Interval().columns(5) == 1
    for geometry in (Circle(), Interval()):
        with pytest.raises(ValueError, match="geometry_columns"):
            geometry.columns(0)
        with pytest.raises(ValueError, match="geometry_columns"):
            geometry.fit(np.zeros((3, 2)), RNG)


def test_bad_input():
    for period in (0, -1, np.nan, np.inf):
        with pytest.raises(ValueError, match="period"):
            Circle(period)
    with pytest.raises(ValueError, match="row 0"):
        Circle().fit(np.array([[np.inf]]), RNG)
    with pytest.raises(ValueError, match="not below"):
        Interval(1, 0)
    with pytest.raises(ValueError, match="low=nan"):
        Interval(np.nan)
    with pytest.raises(ValueError, match=r"All rows of the interval are 2\. Set low and high"):
        Interval().fit(np.full((4, 1), 2.0), RNG)
    with pytest.raises(ValueError, match=r"row 1\. Widen low and high"):
        Interval(0, 1).fit(np.array([[0.5], [1.5]]), RNG)
