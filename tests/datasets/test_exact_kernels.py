"""Exact heat kernels: densities, semigroups, and agreement between independent formulas."""

import numpy as np
import pytest
from scipy.integrate import quad

from flgp.datasets import (
    circle_distance,
    circle_heat_kernel,
    interval_heat_kernel,
    rectangle_distance,
    rectangle_heat_kernel,
    sphere_distance,
    sphere_heat_kernel,
    spiral_arc_length,
    swiss_roll_arc_length,
    torus_distance,
    torus_heat_kernel,
)
from flgp.datasets.exact import _sum_of_cosines, _sum_of_images

TIMES = [1e-3, 0.01, 0.3, 1.0, 4.0, 50.0]
ANGLES = 2 * np.pi * np.arange(400) / 400


def gauss_grid(a, b, n=200):
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return a + (b - a) * (nodes + 1) / 2, weights * (b - a) / 2


def on_sphere(height, angle):
    radius = np.sqrt(1 - height**2)
    return np.stack(np.broadcast_arrays(radius * np.cos(angle), radius * np.sin(angle), height), axis=-1)


@pytest.mark.parametrize("t", TIMES)
@pytest.mark.parametrize("radius", [1.0, 2.5])
def test_circle_kernel_integrates_to_one(t, radius):
    theta = 2 * np.pi * np.arange(1000) / 1000
    density = circle_heat_kernel(theta, 0.7, t, radius=radius)
    assert density.mean() * 2 * np.pi * radius == pytest.approx(1, abs=1e-12)
    assert (density >= 0).all()


@pytest.mark.parametrize("t", [0.01, 0.3, 4.0])
def test_circle_kernel_is_a_semigroup(t):
    step = circle_heat_kernel(ANGLES[:, None], ANGLES, t)
    twice = step @ step * (2 * np.pi / len(ANGLES))
    np.testing.assert_allclose(twice, circle_heat_kernel(ANGLES[:, None], ANGLES, 2 * t), atol=1e-12)


def test_circle_kernel_is_the_formula_of_the_paper():
    t, theta = 0.01, np.linspace(-0.5, 0.5, 11)
    terms = [
        np.exp(-((theta - 2 * np.pi * k) ** 2) / (4 * t)) / np.sqrt(4 * np.pi * t) for k in range(-20, 21)
    ]
    np.testing.assert_allclose(circle_heat_kernel(theta, 0.0, t), np.sum(terms, axis=0), rtol=1e-12)


@pytest.mark.parametrize("ratio", [0.7, 1.0, 1.5])
def test_periodic_series_agree_around_the_switch(ratio):
    period = 3.0
    t = ratio * period**2 / (4 * np.pi)
    distance = np.linspace(-5, 5, 101)
    images, cosines = _sum_of_images(distance, t, period), _sum_of_cosines(distance, t, period)
    np.testing.assert_allclose(images, cosines, rtol=1e-13)


@pytest.mark.parametrize("t", TIMES)
def test_interval_kernel_integrates_to_one_and_is_symmetric(t):
    x, weights = gauss_grid(0, 3.0)
    kernel = interval_heat_kernel(x[:, None], x, t, length=3.0)
    np.testing.assert_allclose(kernel @ weights, 1, atol=1e-10)
    np.testing.assert_allclose(kernel, kernel.T, rtol=1e-12)


def test_interval_kernel_is_a_semigroup_and_solves_the_heat_equation():
    x, weights = gauss_grid(0, 3.0)
    step = interval_heat_kernel(x[:, None], x, 0.05, length=3.0)
    twice = interval_heat_kernel(x[:, None], x, 0.1, length=3.0)
    np.testing.assert_allclose(step * weights @ step, twice, atol=1e-10)
    h, inside = 1e-3, np.linspace(0.2, 2.8, 14)

    def kernel(where, t):
        return interval_heat_kernel(where, 1.1, t, length=3.0)

    in_time = (kernel(inside, 0.2 + h) - kernel(inside, 0.2 - h)) / (2 * h)
    in_space = (kernel(inside + h, 0.2) - 2 * kernel(inside, 0.2) + kernel(inside - h, 0.2)) / h**2
    np.testing.assert_allclose(in_time, in_space, atol=1e-4)
    # Reflecting ends: no flux.
    assert kernel(h, 0.2) == pytest.approx(kernel(0.0, 0.2), rel=1e-5)


@pytest.mark.parametrize("t", [0.01, 0.1, 1.0, 10.0])
def test_sphere_kernel_integrates_to_one(t):
    height, weights = gauss_grid(-1, 1)
    north = np.array([0.0, 0.0, 1.0])
    density = sphere_heat_kernel(on_sphere(height, 0.3), north, t)
    assert 2 * np.pi * density @ weights == pytest.approx(1, abs=1e-12)


def test_sphere_kernel_is_a_semigroup():
    height, weights = gauss_grid(-1, 1, 60)
    angle = 2 * np.pi * np.arange(120) / 120
    points = on_sphere(height[:, None], angle).reshape(-1, 3)
    area = np.repeat(weights, 120) * 2 * np.pi / 120
    a, b = on_sphere(0.2, 1.0), on_sphere(-0.4, 2.0)
    composed = np.sum(area * sphere_heat_kernel(a, points, 0.1) * sphere_heat_kernel(points, b, 0.15))
    assert composed == pytest.approx(float(sphere_heat_kernel(a, b, 0.25)), rel=1e-9)


@pytest.mark.parametrize("t", [0.02, 0.2, 1.0])
@pytest.mark.parametrize("gamma", [0.3, 1.2, 2.5])
def test_sphere_series_agrees_with_the_integral_over_great_circles(t, gamma):
    # p_t(γ) = √2 e^(t/4) (4πt)^(-3/2) ∫_γ^π Σ_n (-1)^n (φ + 2πn) exp(-(φ + 2πn)²/4t) / √(cos γ - cos φ) dφ
    n = np.arange(-6, 7)

    def wrapped(phi):
        turned = phi + 2 * np.pi * n
        return np.sum((-1.0) ** n * turned * np.exp(-(turned**2) / (4 * t)))

    def integrand(u):  # φ = γ + u² takes the square-root singularity away
        phi = gamma + u**2
        gap = 2 * np.sin((phi + gamma) / 2) * np.sin(u**2 / 2)  # cos γ - cos φ
        return 2 * u * wrapped(phi) / np.sqrt(gap)

    integral, _ = quad(integrand, 1e-9, np.sqrt(np.pi - gamma), epsabs=1e-13, epsrel=1e-11, limit=200)
    expected = np.sqrt(2) * np.exp(t / 4) * (4 * np.pi * t) ** -1.5 * integral
    north = np.array([0.0, 0.0, 1.0])
    there = np.array([np.sin(gamma), 0.0, np.cos(gamma)])
    assert float(sphere_heat_kernel(north, there, t)) == pytest.approx(expected, rel=1e-6, abs=1e-10)


def test_small_times_give_the_flat_kernel():
    t, step = 1e-4, 0.02
    a, b = np.array([0.0, 0.0, 1.0]), np.array([np.sin(step), 0.0, np.cos(step)])
    flat = np.exp(-(step**2) / (4 * t)) / (4 * np.pi * t)
    assert float(sphere_heat_kernel(a, b, t)) == pytest.approx(flat, rel=1e-3)
    assert float(torus_heat_kernel([0.0, 0.0], [step, 0.0], t)) == pytest.approx(flat, rel=1e-12)
    middle = np.array([1.0, 1.0])
    near = np.array([1.0 + step, 1.0])
    assert float(rectangle_heat_kernel(middle, near, t, sides=(2, 2))) == pytest.approx(flat, rel=1e-12)


@pytest.mark.parametrize("t", [0.05, 2.0])
def test_torus_and_rectangle_kernels_integrate_to_one(t):
    u, v = np.meshgrid(ANGLES[::4], ANGLES[::4])
    angles, radii = np.stack([u, v], axis=-1), (1.0, 0.7)
    density = torus_heat_kernel(angles, [0.3, 5.0], t, radii=radii)
    assert density.mean() * 4 * np.pi**2 * 0.7 == pytest.approx(1, abs=1e-10)
    (x, wx), (y, wy) = gauss_grid(0, 2, 80), gauss_grid(0, 1, 80)
    flat = rectangle_heat_kernel(np.stack(np.meshgrid(x, y), axis=-1), [0.1, 0.6], t, sides=(2, 1))
    assert wy @ flat @ wx == pytest.approx(1, abs=1e-10)


def test_probability_density_averages_to_one():
    t = 0.2
    assert circle_heat_kernel(ANGLES, 1.0, t, radius=3, measure="probability").mean() == pytest.approx(1)
    x, weights = gauss_grid(0, 3.0)
    assert interval_heat_kernel(x, 1.0, t, length=3, measure="probability") @ weights == pytest.approx(3)
    # After a long time every density against the uniform probability is 1.
    north, south = np.array([0, 0, 1.0]), np.array([0, 0, -1.0])
    assert float(sphere_heat_kernel(north, south, 30.0, measure="probability")) == pytest.approx(1)
    torus = torus_heat_kernel([0, 0], [3, 1], 60.0, radii=(1, 0.5), measure="probability")
    assert float(torus) == pytest.approx(1)
    flat = rectangle_heat_kernel([0, 0], [3, 1], 60.0, sides=(3, 2), measure="probability")
    assert float(flat) == pytest.approx(1)


def test_distances():
    assert circle_distance(0.1, 2 * np.pi - 0.1, radius=2) == pytest.approx(0.4)
    assert torus_distance([0.1, 0.0], [-0.2, 4 * np.pi + 0.4]) == pytest.approx(0.5)
    assert rectangle_distance([0, 0], [[3, 4]]) == pytest.approx(5)
    a = on_sphere(np.array([0.5]), 0.2)
    assert sphere_distance(a, -a) == pytest.approx(np.pi)
    assert sphere_distance([0, 0, 1.0], [np.sin(1e-9), 0, 1.0]) == pytest.approx(1e-9, rel=1e-9)


def test_arc_lengths_agree_with_quadrature():
    def speed(theta):
        radius = (theta + 4) ** 0.7
        return np.hypot(radius, 0.7 * (theta + 4) ** -0.3)

    for theta in (0.0, 1.0, 8 * np.pi):
        assert float(spiral_arc_length(theta)) == pytest.approx(quad(speed, 0, theta)[0], rel=1e-12)
    expected = quad(lambda a: np.sqrt(1 + a**2), 0, 9.0)[0]
    assert float(swiss_roll_arc_length(9.0)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("t", [0.0, -1.0, np.nan, np.inf])
def test_time_must_be_positive(t):
    with pytest.raises(ValueError, match="t="):
        circle_heat_kernel(0.0, 1.0, t)


def test_wrong_measure_and_shape_are_named():
    with pytest.raises(ValueError, match="measure='area' is not known"):
        circle_heat_kernel(0.0, 1.0, 0.1, measure="area")
    with pytest.raises(ValueError, match="angles has shape"):
        torus_distance(1.0, [1.0, 2.0])
