"""The logistic function under a Gaussian, and the probit link in its tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_expit, ndtr

from flgp.likelihoods._probit import normal_hazard, probit_derivatives, probit_tilted
from flgp.likelihoods.logistic import _COEFFICIENTS, logistic_gaussian_integral, logistic_tilted


def reference(log_link, mean, variance):
    """log Z and its derivatives in the mean: composite Gauss-Legendre on every scale around the mode."""
    x = np.linspace(-60.0, 60.0, 200_001)
    log_joint = log_link(mean + np.sqrt(variance) * x) - 0.5 * x**2
    mode = x[np.argmax(log_joint)]
    # Panels no wider than half a unit of f near 0, where the link bends, and fine around the mode.
    edges = [mode + s * np.geomspace(1e-6, 12, 120) for s in (-1, 1)]
    bend = (np.linspace(-45, 45, 181) - mean) / np.sqrt(variance)
    edges = np.unique(np.concatenate([*edges, [mode], bend[np.abs(bend - mode) < 12]]))
    node, weight = np.polynomial.legendre.leggauss(12)
    half = 0.5 * np.diff(edges)[:, None]
    x = (edges[:-1, None] + half * (node + 1)).ravel()
    width = (half * weight).ravel()
    log_joint = log_link(mean + np.sqrt(variance) * x) - 0.5 * x**2
    top = log_joint.max()
    mass = width * np.exp(log_joint - top)
    total = mass.sum()
    center = mass @ x / total
    spread = mass @ (x - center) ** 2 / total
    return (
        top + np.log(total) - 0.5 * np.log(2 * np.pi),
        center / np.sqrt(variance),
        (1 - spread) / variance,
    )


def test_mixture_is_the_logistic_function():
    x = np.linspace(-100, 100, 400_001)
    np.testing.assert_allclose(logistic_gaussian_integral(x, np.zeros_like(x)), expit(x), rtol=0, atol=1e-8)


def test_power_series_has_a_small_relative_error_everywhere():
    f = -np.concatenate([np.linspace(0, 40, 20_001), [100.0, 300.0]])
    series = np.polyval(np.append(_COEFFICIENTS[::-1], 0.0), np.exp(f))
    np.testing.assert_allclose(series, expit(f), rtol=2e-13)


@pytest.mark.parametrize("variance", [1e-3, 0.3, 1.0, 10.0, 1e3, 1e6])
@pytest.mark.parametrize("mean", [-30.0, -2.0, 0.0, 0.7, 12.0])
def test_integral(mean, variance):
    sd = np.sqrt(variance)
    step = -mean / sd  # where the link bends, in standard deviations
    points = sorted({*np.clip(step + np.array([-40, -5, 0, 5, 40]) / sd, -9.9, 9.9), 0.0})
    want, _ = quad(
        lambda x: expit(mean + sd * x) * np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi),
        -10,
        10,
        points=points,
        limit=500,
        epsabs=1e-12,
    )
    assert abs(logistic_gaussian_integral(mean, variance) - want) < 1.5e-8
    log_z = logistic_tilted(1.0, mean, variance).log_normalizer
    np.testing.assert_allclose(np.exp(log_z), want, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("variance", [1e-4, 0.1, 1.0, 5.0, 100.0, 1e4, 1e6])
@pytest.mark.parametrize("deviations", [-40.0, -10.0, -2.0, 0.0, 1.0, 6.0])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_tilted_moments(sign, deviations, variance):
    mean = deviations * np.sqrt(variance)
    got = logistic_tilted(np.array([sign]), np.array([mean]), np.array([variance]))
    want = reference(lambda f: log_expit(sign * f), mean, variance)
    np.testing.assert_allclose(got.log_normalizer, want[0], rtol=1e-10, atol=1e-11)
    # The reference loses digits where the label says little about f.
    np.testing.assert_allclose(got.gradient, want[1], rtol=1e-7, atol=1e-10 / np.sqrt(variance))
    np.testing.assert_allclose(got.curvature, want[2], rtol=1e-7, atol=1e-9 / variance)


def test_derivatives_in_the_mean_belong_to_log_z():
    mean, variance = np.meshgrid(np.linspace(-30, 30, 41), [1e-2, 1.0, 50.0, 1e4])
    step = 1e-3 * np.sqrt(1.0 + variance)
    up, here, down = (logistic_tilted(1.0, mean + k * step, variance) for k in (1, 0, -1))
    slope = (up.log_normalizer - down.log_normalizer) / (2 * step)
    np.testing.assert_allclose(here.gradient, slope, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(
        here.curvature, -(up.gradient - down.gradient) / (2 * step), rtol=1e-5, atol=1e-9
    )


def test_no_variance_is_the_link_itself():
    f = np.linspace(-50, 50, 101)
    got = logistic_tilted(1.0, f, 0.0)
    np.testing.assert_allclose(got.log_normalizer, log_expit(f), rtol=1e-12)
    np.testing.assert_allclose(got.gradient, expit(-f), rtol=1e-10)
    np.testing.assert_allclose(got.curvature, expit(f) * expit(-f), rtol=1e-8, atol=1e-13)


def test_far_tails_are_those_of_the_exponential():
    """At μ = -1000 the link is e^f: log Z = μ + v/2, slope 1, no curvature."""
    variance = np.array([1e-8, 1.0, 100.0])
    got = logistic_tilted(np.ones(3), np.full(3, -1000.0), variance)
    np.testing.assert_allclose(got.log_normalizer, -1000.0 + 0.5 * variance, rtol=1e-13)
    np.testing.assert_allclose(got.gradient, 1.0, rtol=1e-12)
    np.testing.assert_allclose(got.curvature, 0.0, atol=1e-12)


@pytest.mark.parametrize("closed_form", [logistic_tilted, probit_tilted])
def test_extreme_arguments(closed_form):
    mean, variance = np.meshgrid(
        [-1e6, -1e3, -40, 0, 1e-300, 40, 1e3, 1e6], [0, 1e-300, 1e-12, 1.0, 1e6, 1e12]
    )
    for sign in (-1.0, 1.0):
        result = closed_form(sign, mean, variance)
        for values in result:
            assert np.all(np.isfinite(values))
        assert np.all(result.curvature >= 0)
        assert np.all(result.curvature * variance <= 1 + 1e-9)
        assert np.all(result.log_normalizer <= 0)


def test_probit_tilted_moments_and_derivatives():
    mean, variance = -3.0, 4.0
    got = probit_tilted(np.array([1.0]), np.array([mean]), np.array([variance]))
    want = reference(lambda f: np.log(ndtr(f) + 1e-300), mean, variance)
    np.testing.assert_allclose([float(v[0]) for v in got], want, rtol=1e-8)


def test_normal_hazard_far_out():
    """r + z = 1/|z| - 2/|z|³ + … as z → -∞, smoothly through the switch to the series."""
    z = -np.array([99.99, 100.01, 1e3, 1e5, 1e8])
    ratio, excess = normal_hazard(z)
    np.testing.assert_allclose(excess, 1 / -z - 2 / (-z) ** 3 + 10 / (-z) ** 5, rtol=1e-8)
    np.testing.assert_allclose(ratio, -z, rtol=2e-4)
    ratio, _ = normal_hazard(np.array([0.0, 50.0]))
    np.testing.assert_allclose(ratio, [np.sqrt(2 / np.pi), 0.0], atol=1e-300)


def test_probit_derivatives_far_out():
    d = probit_derivatives(np.ones(3), np.array([-1e2, -1e4, -1e7]))
    np.testing.assert_allclose(d.gradient, [100.01, 1e4, 1e7], rtol=1e-4)
    np.testing.assert_allclose(d.curvature, 1.0, rtol=2e-4)
    np.testing.assert_allclose(d.third, 0.0, atol=1e-4)
