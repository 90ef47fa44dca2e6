"""Pólya-Gamma draws against their Laplace transform."""

import sys

import numpy as np
import pytest

from flgp.inference.polya_gamma import sample_polya_gamma


@pytest.mark.parametrize("shape", [0.05, 0.6, 1, 2.3, 4, 5, 30, 400])
@pytest.mark.parametrize("tilt", [0.0, 0.7, -6, 24.5, 26, 300])
def test_polya_gamma_draws_have_their_laplace_transform(shape, tilt):
    # E exp(-sω) = (cosh(z/2) / cosh √(z²/4 + s/2))^b, and the mean b tanh(z/2) / 2z.
    n = 20_000
    draws = sample_polya_gamma(np.full(n, float(shape)), np.full(n, float(tilt)), np.random.default_rng(1))
    z = abs(tilt)

    def log_cosh(x):
        return np.logaddexp(x, -x) - np.log(2)

    mean = shape / 4 if z == 0 else shape * np.tanh(z / 2) / (2 * z)
    assert abs(draws.mean() - mean) < 4.5 * draws.std() / np.sqrt(n)
    for s in (0.3 / draws.std(), 2 / draws.std()):
        log_exact = shape * (log_cosh(z / 2) - log_cosh(np.sqrt(z**2 / 4 + s / 2)))
        exact = np.exp(log_exact + s * mean)  # about the mean, lest it underflow
        terms = np.exp(-s * (draws - mean))
        assert abs(terms.mean() - exact) < 4.5 * terms.std() / np.sqrt(n)


def test_mixed_shapes_are_drawn_in_place():
    shape, tilt = np.array([0.0, 1.0, 2.5, 3.0, 0.0]), np.array([1.0, 0.0, 3.0, 400.0, 99.0])
    rng = np.random.default_rng(2)
    draws = np.array([sample_polya_gamma(shape, tilt, rng) for _ in range(4000)])
    assert np.all(draws[:, [0, 4]] == 0)
    expected = shape[1:4] * [0.25, np.tanh(1.5) / 6, 1 / 800]
    np.testing.assert_allclose(draws[:, 1:4].mean(axis=0), expected, rtol=0.06)


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "polyagamma", None)
    with pytest.raises(ImportError, match=r"pip install flgp\[mcmc\]"):
        sample_polya_gamma(np.ones(2), np.ones(2), np.random.default_rng(0))
