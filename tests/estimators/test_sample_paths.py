"""Draws of f: of the prior on every geometry, and as smooth as theory says."""

import numpy as np
import pytest
from test_geometries import GEOMETRIES, places

from flgp import FLGPRegressor
from flgp.geometry import Circle, Sphere, TangentSphere

N = 720
DEGREES = 360.0 * np.arange(N) / N


def model_of(geometry, X, **options):
    """A model whose hyperparameters are given, so that its prior is known."""
    given = {"amplitude": 1.0, "noise_variance": 0.1, "mean": "zero", "hyperparameters": "fixed"}
    model = FLGPRegressor(geometry=geometry, residual=None, linear=None, random_state=0, **given, **options)
    return model.fit(X, np.where(np.arange(len(X)) < 3, 0.3, np.nan))


@pytest.mark.parametrize("name", [*GEOMETRIES, "cloud", "vector field"])
@pytest.mark.filterwarnings("ignore:.*connected part")
def test_draws_have_the_covariance_of_prior_and_posterior(name):
    rng = np.random.default_rng(0)
    if name == "cloud":
        angle = rng.uniform(0, 2 * np.pi, 300)
        geometry, X = None, np.column_stack([np.cos(angle), np.sin(angle)])
    elif name == "vector field":
        latitude = np.degrees(np.arcsin(rng.uniform(-1, 1, 100)))
        geometry = TangentSphere(0.2)
        X = np.column_stack([latitude, rng.uniform(-180, 180, 100), rng.uniform(0, 360, 100)])
    else:
        geometry, X, _ = places(name, n=100)
    basis = model_of(geometry, X, n_eigenpairs=40, diffusion_time=1.0).basis_
    time = 2.0 / basis.eigenvalues[min(12, len(basis.eigenvalues) - 1)]
    model = model_of(geometry, X, n_eigenpairs=40, diffusion_time=float(time))
    points = X[5:11]
    prior = model.sample_f(points, 8000, prior=True)
    exact = model.covariance(points)
    size = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    np.testing.assert_allclose(np.cov(prior) / size, exact / size, atol=0.06)
    posterior = model.sample_f(points, 8000)
    mean, variance = model.latent_mean_and_variance(points)
    np.testing.assert_allclose((posterior.mean(axis=1) - mean) / np.sqrt(variance), 0.0, atol=0.05)
    np.testing.assert_allclose(posterior.var(axis=1) / variance, 1.0, atol=0.08)


def exponent(f, lags):
    """Hölder exponent from mean squared second differences along a closed curve."""
    second = [f - 2 * np.roll(f, lag, axis=0) + np.roll(f, 2 * lag, axis=0) for lag in lags]
    squares = [np.mean(difference**2) for difference in second]
    return np.polyfit(np.log(lags), np.log(squares), 1)[0] / 2


@pytest.mark.parametrize("nu", [1.0, 1.5, 2.0])
def test_roughness_on_the_circle(nu):
    """A Matérn spectrum λ^(-ν) in d dimensions has paths of Hölder exponent ν - d/2."""
    options = {"kernel": "matern", "nu": nu, "n_eigenpairs": 401, "diffusion_time": 3000.0}
    model = model_of(Circle(360.0), DEGREES[:, None], **options)
    f = model.sample_f(DEGREES[:, None], 60, prior=True)
    assert exponent(f, [3, 4, 5, 7, 10, 14]) == pytest.approx(nu - 0.5, abs=0.1)
    power = np.mean(np.abs(np.fft.rfft(f, axis=0)) ** 2, axis=1)
    waves = np.arange(10, 81)
    assert np.polyfit(np.log(waves), np.log(power[waves]), 1)[0] == pytest.approx(-2 * nu, abs=0.15)


def test_roughness_on_the_sphere():
    equator = np.column_stack([np.zeros(N), DEGREES - 180])
    options = {"kernel": "matern", "nu": 2.0, "n_eigenpairs": 1600, "diffusion_time": 300.0}
    f = model_of(Sphere(), equator, **options).sample_f(equator, 60, prior=True)
    assert exponent(f, [14, 20, 28, 40]) == pytest.approx(1.0, abs=0.12)


def test_the_heat_kernel_is_smooth():
    model = model_of(Circle(360.0), DEGREES[:, None], n_eigenpairs=401, diffusion_time=300.0)
    f = model.sample_f(DEGREES[:, None], 60, prior=True)
    assert exponent(f, [2, 3, 4, 6, 8]) > 1.95  # as large as second differences can show


def test_posterior_draws_pass_through_the_labels_as_rough_as_the_prior():
    X, known = DEGREES[:, None], np.arange(0, N, 80)
    y = np.full(N, np.nan)
    y[known] = np.sin(np.radians(DEGREES[known]))
    given = {"mean": "zero", "hyperparameters": "fixed", "residual": None, "random_state": 0}
    model = FLGPRegressor(
        geometry=Circle(360.0), kernel="matern", nu=1.0, n_eigenpairs=401, diffusion_time=3000.0,
        amplitude=0.3, noise_variance=1e-4, **given,
    ).fit(X, y)  # fmt: skip
    f = model.sample_f(X, 60)
    assert np.abs(f[known] - y[known, None]).max() < 0.1
    assert exponent(f, [3, 4, 5, 7, 10, 14]) == pytest.approx(0.5, abs=0.12)
