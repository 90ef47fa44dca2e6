"""The multinomial probit, against simulation, the binary probit and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp, ndtr

from flgp.likelihoods import Categorical, Observations


@pytest.fixture
def problem(rng):
    obs = Observations.of(rng.integers(0, 4, 12))
    return Categorical(4), obs, 2.0 * rng.normal(size=(4, 12)), rng.uniform(0.1, 9.0, (4, 12))


def test_probabilities_are_shares_of_draws(problem, rng):
    likelihood, _, mean, variance = problem
    p = likelihood.probabilities(mean.T, variance.T)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    u = mean + np.sqrt(1.0 + variance) * rng.standard_normal((200_000, *mean.shape))
    shares = np.stack([(u.argmax(axis=1) == c).mean(axis=0) for c in range(4)], axis=1)
    np.testing.assert_allclose(p, shares, atol=0.005)


def test_both_integrals_agree(problem):
    likelihood, obs, mean, variance = problem
    p = likelihood.probabilities(mean.T, variance.T)[np.arange(12), obs.y.astype(int)]
    np.testing.assert_allclose(likelihood.tilted(obs, mean, variance).log_normalizer, np.log(p), atol=2e-4)


def test_two_classes_are_the_probit(rng):
    f = rng.normal(size=(20, 2))
    obs = Observations.of(rng.integers(0, 2, 20))
    own = np.where(obs.y > 0, 1.0, -1.0) * (f[:, 1] - f[:, 0])
    np.testing.assert_allclose(
        Categorical(2).log_density(obs, f), np.log(ndtr(own / np.sqrt(2.0))), atol=1e-7
    )


def test_derivatives_are_those_of_the_normaliser(problem):
    likelihood, obs, mean, variance = problem
    found, h = likelihood.tilted(obs, mean, variance), 1e-3

    def at(step):
        return likelihood.tilted(obs, mean + step, variance).log_normalizer

    for c in range(4):
        step = np.zeros(mean.shape)
        step[c] = h
        up, middle, down = at(step), at(0.0), at(-step)
        np.testing.assert_allclose(found.gradient[c], (up - down) / (2 * h), atol=1e-5)
        np.testing.assert_allclose(found.curvature[c], -(up - 2 * middle + down) / h**2, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("spread", [1.0, 30.0, 300.0])
@pytest.mark.parametrize("variance", [0.0, 0.01, 1.0, 100.0])
def test_labels_that_contradict_all_others(n_classes, spread, variance, rng):
    """Log Z and its derivatives, which are the means and variances, against 40,000 nodes."""
    mean = spread * rng.standard_normal((n_classes, 4))
    mean[0, 0] = mean[1:, 0].min() - spread  # the label least of all, and most of all
    mean[0, 1] = mean[1:, 1].max() + spread
    sd = np.sqrt(1.0 + variance)
    found = Categorical(n_classes).tilted(Observations.of(np.zeros(4)), mean, np.full(mean.shape, variance))
    for i, own in enumerate(mean.T):
        w = np.linspace(own.min() - 12.0 * sd, own.max() + 12.0 * sd, 40_001)
        z = (w - own[:, None]) / sd
        log_cdf = log_ndtr(z[1:])
        log_density = log_cdf.sum(axis=0) - 0.5 * z[0] ** 2 - 0.5 * np.log(2.0 * np.pi) - np.log(sd)
        total = logsumexp(log_density)
        p = np.exp(log_density - total)
        hazard = np.exp(-0.5 * z[1:] ** 2 - 0.5 * np.log(2.0 * np.pi) - log_cdf)
        slopes = np.vstack([z[0], -hazard]) / sd
        bends = np.vstack([np.ones_like(w), hazard * (z[1:] + hazard)]) / sd**2
        gradient = slopes @ p
        curvature = bends @ p - (slopes - gradient[:, None]) ** 2 @ p
        np.testing.assert_allclose(found.log_normalizer[i], total + np.log(w[1] - w[0]), rtol=1e-9, atol=1e-6)
        np.testing.assert_allclose(found.gradient[:, i], gradient, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found.curvature[:, i], curvature, atol=2e-6)


def test_extremes():
    likelihood = Categorical(3)
    extreme = np.array([[1e6, -1e6, 0.0], [-1e3, 1e3, 1e3]])
    assert np.isfinite(likelihood.log_density(Observations.of([1, 1]), extreme)).all()
    p = likelihood.conditional(extreme)
    np.testing.assert_allclose(p, [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], atol=1e-6)
    wide = likelihood.probabilities(extreme, np.full((2, 3), 1e12))
    assert np.isfinite(wide).all()
    np.testing.assert_allclose(wide.sum(axis=1), 1.0)


def test_many_classes():
    p = Categorical(250).probabilities(np.zeros((3, 250)), np.ones((3, 250)))
    np.testing.assert_allclose(p, 1.0 / 250)
    assert Categorical(3).probabilities(np.empty((0, 3)), np.empty((0, 3))).shape == (0, 3)


def test_slopes_far_off_are_those_of_the_gaussian_tail():
    """Two logarithms of 1e24 that cancel: a warning of NumPy's, and slopes of any size."""
    gap = np.array([[1e3, 1e6, 1e12, 1e100], [0.0, 0.0, 0.0, 0.0]])
    found = Categorical(2).tilted(Observations.of([1, 1, 1, 1]), gap, np.zeros(gap.shape))
    # The difference of the latents has a variance of 2.
    np.testing.assert_allclose(found.gradient[0], -0.5 * gap[0], rtol=1e-5)
    np.testing.assert_allclose(found.gradient[1], 0.5 * gap[0], rtol=1e-5)
    # On either side of where the ratio takes its limit.
    near, far = (
        Categorical(2).tilted(Observations.of([1]), np.array([[2.0 * x], [0.0]]), np.zeros((2, 1)))
        for x in (0.99e4, 1.02e4)
    )
    assert far.gradient[0, 0] / near.gradient[0, 0] == pytest.approx(1.02 / 0.99, rel=1e-6)
