"""Tangential fields on the sphere against differences, quadrature and rotations."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flgp
from flgp import FLGPRegressor
from flgp.geometry import Sphere, TangentSphere
from flgp.geometry.sphere import SphericalHarmonics
from flgp.geometry.tangent import TangentHarmonics


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    latitude = np.degrees(np.arcsin(rng.uniform(-1, 1, n)))
    return np.column_stack([latitude, rng.uniform(-180, 180, n), rng.uniform(0, 360, n)])


def places(X):
    return TangentSphere(0.3).fit(X, np.random.default_rng(0)).locate(X).points


def test_fields_are_gradients_and_curls():
    degree, share, step = 6, 0.3, 1e-5
    points = places(np.concatenate([rows(20), [[90, 20, 40], [-90, -130, 200], [90, 0, 0]]]))
    x, e = points[:, :3], points[:, 3:]

    def slope(direction):
        """Derivative of the harmonics along the sphere."""
        ahead, behind = (np.cos(step) * x + side * np.sin(step) * direction for side in (1, -1))
        return (SphericalHarmonics(degree)(ahead) - SphericalHarmonics(degree)(behind)) / (2 * step)

    values = TangentHarmonics(degree, share)(points)
    gradient, curl = slope(e), slope(-np.cross(x, e))  # (x×∇Y)·e = ∇Y·(e×x)
    start = 0
    for ell in range(1, degree + 1):
        own, width = slice(ell**2, (ell + 1) ** 2), 2 * ell + 1
        scale = 2 / np.sqrt(ell * (ell + 1))
        found = values[:, start : start + width], values[:, start + width : start + 2 * width]
        np.testing.assert_allclose(found[0], scale * np.sqrt(1 - share) * curl[:, own], atol=1e-7)
        np.testing.assert_allclose(found[1], scale * np.sqrt(share) * gradient[:, own], atol=1e-7)
        start += 2 * width
    assert start == values.shape[1]


def test_orthogonal_fields_of_mean_square_one():
    degree = 5
    z, weight = np.polynomial.legendre.leggauss(2 * degree + 2)
    longitude = np.arange(0, 360, 360 / (4 * degree + 4))
    grid = np.array([[np.degrees(np.arcsin(u)), a, b] for u in z for a in longitude for b in (0, 90)])
    phi = TangentHarmonics(degree, 0.5)(places(grid))
    weights = np.repeat(weight / 2, 2 * len(longitude)) / (2 * len(longitude))
    np.testing.assert_allclose(phi.T @ (phi * weights[:, None]), np.eye(phi.shape[1]), atol=1e-12)


def test_the_covariance_does_not_know_where_the_poles_are():
    points = places(rows(12))
    turn = Rotation.random(random_state=1).as_matrix()
    turned = np.column_stack([points[:, :3] @ turn.T, points[:, 3:] @ turn.T])
    one, other = (TangentHarmonics(8, 0.2)(p) for p in (points, turned))
    d = np.repeat(0.8 ** np.arange(1, 9), 2 * (2 * np.arange(1, 9) + 1))
    np.testing.assert_allclose((one * d) @ one.T, (other * d) @ other.T, atol=1e-10)


def simulated(seed, n, share):
    """A field of known divergence, east and north components at n places."""
    rng = np.random.default_rng(seed)
    X = rows(n, seed)
    both = np.concatenate([np.column_stack([X[:, :2], np.full(n, b)]) for b in (90.0, 0.0)])
    ell = np.arange(1, 9)
    d = np.repeat(np.exp(-0.08 * ell * (ell + 1)), 2 * (2 * ell + 1))
    f = TangentHarmonics(8, share)(places(both)) @ (np.sqrt(d) * rng.standard_normal(len(d)))
    return both, f / f.std()


def test_components_together_are_better_than_alone():
    n, m = 500, 60
    X, f = simulated(2, n, 0.05)
    known = np.concatenate([np.arange(m), n + np.arange(m)])
    y = np.full(2 * n, np.nan)
    y[known] = f[known] + 0.05 * np.random.default_rng(0).standard_normal(2 * m)
    field = FLGPRegressor(geometry=TangentSphere(), mean="zero", random_state=0).fit(X, y)
    assert field.geometry_.divergent < 0.5
    rest = np.setdiff1d(np.arange(2 * n), known)
    mean, std = field.predict(X[rest], return_std=True)
    alone = FLGPRegressor(geometry=Sphere(), residual=None, random_state=0)
    alone.fit(X[:n, :2], np.column_stack([y[:n], y[n:]]))
    apart = alone.predict(X[:n, :2]).T.ravel()[rest]
    error, other = (np.sqrt(np.mean((p - f[rest]) ** 2)) for p in (mean, apart))
    assert error < 0.7 * other
    inside = np.mean(np.abs(mean - f[rest]) < 1.96 * std)
    assert 0.9 < inside <= 1.0


def test_stored_and_loaded(tmp_path):
    X, f = simulated(3, 40, 0.5)
    model = FLGPRegressor(geometry=TangentSphere(0.2), mean="zero", random_state=0).fit(X, f)
    flgp.save(model, tmp_path / "field.flgp")
    again = flgp.load(tmp_path / "field.flgp")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.geometry == TangentSphere(0.2)


def test_bad_rows_and_shares_are_named():
    with pytest.raises(ValueError, match="between 0 and 1"):
        TangentSphere(1.5)
    with pytest.raises(ValueError, match="latitude is beyond"):
        TangentSphere().fit(np.array([[100.0, 0.0, 0.0]]), np.random.default_rng(0))
    with pytest.raises(ValueError, match="3 columns"):
        FLGPRegressor(geometry=TangentSphere()).fit(np.zeros((5, 2)), np.zeros(5))
    with pytest.raises(ValueError, match="residual"):
        FLGPRegressor(geometry=TangentSphere(0.5), residual="local").fit(rows(30), np.arange(30.0))
