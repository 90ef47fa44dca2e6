"""A likelihood that a user writes: the defaults do the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import erf, gammaln

from flgp.likelihoods import Bernoulli, Likelihood, Observations, Poisson, get_likelihood


@dataclass(frozen=True)
class PlainPoisson(Likelihood):
    """Poisson by its density alone."""

    name: ClassVar[str] = "plain_poisson"

    def log_density(self, obs, f):
        return obs.y * f - np.exp(np.minimum(f, 600)) - gammaln(obs.y + 1)

    def conditional_mean(self, f):
        return np.exp(f)

    def conditional_variance(self, f):
        return np.exp(f)


@dataclass(frozen=True)
class RoundedGaussian(Likelihood):
    """y = f + noise, rounded to a whole number, with a width to learn."""

    width: float | None = None

    name: ClassVar[str] = "rounded"
    parameter_names: ClassVar[tuple[str, ...]] = ("width",)

    def log_density(self, obs, f):
        low, high = (obs.y + s - f for s in (-0.5, 0.5))
        scale = np.sqrt(2) * self.width
        return np.log(np.maximum(0.5 * (erf(high / scale) - erf(low / scale)), 1e-300))

    def conditional_mean(self, f):
        return f

    def conditional_variance(self, f):
        return np.full(np.shape(f), self.width**2 + 1 / 12)


@dataclass(frozen=True)
class TwoAnswers(Likelihood):
    """Not log-concave, and silent on where it is largest: a coin that is honest only half of the time."""

    name: ClassVar[str] = "two_answers"
    log_concave: ClassVar[bool] = False

    def log_density(self, obs, f):
        return np.log(0.25 + 0.5 * np.exp(Bernoulli().log_density(obs, f)))

    def conditional_mean(self, f):
        return 0.25 + 0.5 * Bernoulli().conditional_mean(f)

    def conditional_variance(self, f):
        return self.conditional_mean(f) * (1 - self.conditional_mean(f))


def test_defaults_agree_with_the_closed_forms(rng):
    f = rng.normal(size=30)
    obs = Observations.of(rng.poisson(np.exp(f)))
    own, known = get_likelihood(PlainPoisson()), Poisson()
    for got, want, tolerance in zip(
        own.derivatives(obs, f), known.derivatives(obs, f), (1e-9, 1e-7, 1e-4), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    variance = np.geomspace(1e-3, 100, 30)
    for got, want in zip(own.tilted(obs, f, variance), known.tilted(obs, f, variance), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(own.predictive_mean(f, 0.5), known.predictive_mean(f, 0.5), rtol=1e-8)
    np.testing.assert_allclose(own.predictive_variance(f, 0.5), known.predictive_variance(f, 0.5), rtol=1e-6)
    own.validate(obs)
    assert own.initial_mean(obs) == 0.0
    assert own.tilted_parameter_gradient(obs, f, variance) == []
    with pytest.raises(NotImplementedError, match="define `sample`"):
        own.sample(f, rng)


def test_default_parameter_derivatives(rng):
    likelihood = RoundedGaussian().with_parameters(width=0.8)
    obs, mean = Observations.of(rng.integers(-3, 4, 10)), rng.normal(size=10)
    (got,) = likelihood.tilted_parameter_gradient(obs, mean, np.full(10, 0.5))
    up, down = (
        likelihood.with_parameters(width=0.8 * np.exp(s)).tilted(obs, mean, np.full(10, 0.5)).log_normalizer
        for s in (1e-4, -1e-4)
    )
    np.testing.assert_allclose(got, (up - down) / 2e-4, rtol=1e-4, atol=1e-6)
    assert RoundedGaussian().initial_parameters(obs) == {"width": 1.0}
    assert RoundedGaussian().parameter_bounds(obs) == {"width": (1e-4, 1e4)}


def test_a_variance_may_be_a_constant(rng):
    class Plain(RoundedGaussian):
        def conditional_variance(self, f):
            return self.width**2 + 1 / 12

    mean, variance = rng.normal(size=10), rng.uniform(0.1, 2.0, 10)
    expected = RoundedGaussian(width=0.8).predictive_variance(mean, variance)
    np.testing.assert_allclose(Plain(width=0.8).predictive_variance(mean, variance), expected, rtol=1e-12)


def test_default_for_what_is_not_log_concave():
    """Z = ¼ + ½ Z of the Bernoulli likelihood."""
    obs = Observations.of([1, 0, 1, 1])
    mean, variance = np.array([-8.0, 1.0, 0.0, 3.0]), np.array([4.0, 0.1, 100.0, 9.0])
    got = TwoAnswers().tilted(obs, mean, variance)
    want = np.log(0.25 + 0.5 * np.exp(Bernoulli().tilted(obs, mean, variance).log_normalizer))
    np.testing.assert_allclose(got.log_normalizer, want, rtol=1e-9)
    assert np.all(TwoAnswers().slope_and_expected_curvature(obs, mean)[1] >= 0)
