"""Derivatives against finite differences of the quantity one order below."""

from __future__ import annotations

import numpy as np
import pytest
from likelihood_cases import LIKELIHOODS, label, observations

from flgp.likelihoods import Observations, StudentT

EVERY = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=label)
WITH_PARAMETERS = pytest.mark.parametrize(
    "likelihood", [k for k in LIKELIHOODS if k.parameter_names], ids=label
)


def slope(function, at, step=1e-3):
    """Five-point central difference."""
    return (
        8 * (function(at + step) - function(at - step)) - (function(at + 2 * step) - function(at - 2 * step))
    ) / (12 * step)


@EVERY
def test_each_derivative_is_that_of_the_one_before(likelihood, rng):
    obs = observations(likelihood)
    f = 2.0 * rng.normal(size=len(obs.y))
    d = likelihood.derivatives(obs, f)
    tolerance = {"rtol": 1e-6, "atol": 1e-7}
    np.testing.assert_allclose(d.gradient, slope(lambda g: likelihood.log_density(obs, g), f), **tolerance)
    np.testing.assert_allclose(
        d.curvature, -slope(lambda g: likelihood.derivatives(obs, g).gradient, f), **tolerance
    )
    np.testing.assert_allclose(
        d.third, -slope(lambda g: likelihood.derivatives(obs, g).curvature, f), **tolerance
    )


@EVERY
def test_many_draws_of_f_at_once(likelihood, rng):
    obs = observations(likelihood)
    f = rng.normal(size=(3, len(obs.y)))
    d = likelihood.derivatives(obs, f)
    for k in range(3):
        np.testing.assert_array_equal(likelihood.log_density(obs, f)[k], likelihood.log_density(obs, f[k]))
        for whole, part in zip(d, likelihood.derivatives(obs, f[k]), strict=True):
            np.testing.assert_array_equal(whole[k], part)


@WITH_PARAMETERS
def test_parameter_derivatives(likelihood, rng):
    obs = observations(likelihood)
    f = 1.5 * rng.normal(size=len(obs.y))
    entries = likelihood.parameter_derivatives(obs, f)
    assert len(entries) == len(likelihood.parameter_names)
    for name, entry in zip(likelihood.parameter_names, entries, strict=True):
        start = getattr(likelihood, name)

        def at(shift, name=name, start=start):
            return likelihood.with_parameters(**{name: start * np.exp(shift)})

        for got, function in (
            (entry.log_density, lambda s, at=at: at(s).log_density(obs, f)),
            (entry.gradient, lambda s, at=at: at(s).derivatives(obs, f).gradient),
            (entry.curvature, lambda s, at=at: at(s).derivatives(obs, f).curvature),
        ):
            np.testing.assert_allclose(got, slope(function, 0.0), rtol=1e-6, atol=2e-7)


@EVERY
def test_expected_curvature_is_safe(likelihood, rng):
    obs = observations(likelihood)
    f = 5.0 * rng.normal(size=len(obs.y))
    expected = likelihood.slope_and_expected_curvature(obs, f)[1]
    assert expected.shape == f.shape
    assert np.all(expected >= 0)
    if likelihood.log_concave:
        np.testing.assert_array_equal(expected, likelihood.derivatives(obs, f).curvature)


@pytest.mark.parametrize("nu", [1.0, 4.0, 30.0])
def test_student_t_information_is_the_mean_curvature(nu):
    likelihood = StudentT(scale=0.8, degrees_of_freedom=nu)
    # Substituting y = tan(angle) makes the integral over all y one over a finite interval.
    node, weight = np.polynomial.legendre.leggauss(400)
    angle = 0.5 * np.pi * node
    y, width = np.tan(angle), 0.5 * np.pi * weight / np.cos(angle) ** 2
    obs = Observations.of(y)
    f = np.zeros_like(y)
    density = np.exp(likelihood.log_density(obs, f))
    curvature = likelihood.derivatives(obs, f).curvature
    assert np.min(curvature) < 0  # not log-concave
    information = np.sum(width * density * curvature)
    np.testing.assert_allclose(likelihood.slope_and_expected_curvature(obs, f)[1], information, rtol=1e-9)
