"""f and the log-variance g of its noise together: against differences, dense formulas and Markov chains."""

from __future__ import annotations

import numpy as np
import pytest

from flgp.inference.gaussian import GaussianInference
from flgp.inference.heteroscedastic import HeteroscedasticInference, NoiseBasis
from flgp.inference.posterior import Point
from flgp.kernels import Heat, Matern
from flgp.likelihoods import Gaussian, Heteroscedastic, Observations

LIKELIHOOD = Heteroscedastic(noise_variance=0.3, noise_time=0.2, noise_spread=1.3)
ROUGH = Heteroscedastic(noise_variance=0.3, noise_time=0.04, noise_spread=1.3)  # as on the spiral


def problem(n_features=12, m=60, kernel=None, seed=0):
    """Cosines on an interval, with noise that grows from left to right."""
    rng = np.random.default_rng(seed)
    x, k = rng.uniform(0, 1, m), np.arange(n_features)
    features = np.sqrt(2) * np.cos(np.pi * k * x[:, None])
    features[:, 0] = 1.0
    eigenvalues = 0.01 * k**2
    y = np.sin(6 * x) + rng.normal(size=m) * np.exp(2 * x - 1.5)
    obs = Observations.of(y, noise_scale=rng.uniform(0.5, 2.0, m))
    basis = NoiseBasis(features, eigenvalues, kernel or Heat())
    return HeteroscedasticInference(features, obs, 0.1, basis), 0.5 * np.exp(-30 * eigenvalues)


@pytest.mark.parametrize("n_features", [12, 80])  # the M×M and the m×m form
@pytest.mark.parametrize("kernel", [Heat(), Matern(1.5)])
def test_derivatives_are_differences(n_features, kernel):
    inference, d = problem(n_features, kernel=kernel)
    found, h = inference.evaluate(Point(d, LIKELIHOOD)), 1e-4

    def slope(up, down):
        above, below = (inference.evaluate(Point(*side)).log_evidence for side in (up, down))
        return (above - below) / (2 * h)

    for i in (0, 2, 5):
        more = d * np.exp(h * (np.arange(len(d)) == i))
        less = d * np.exp(-h * (np.arange(len(d)) == i))
        expected = slope((more, LIKELIHOOD), (less, LIKELIHOOD))
        np.testing.assert_allclose(found.gradient_log_d[i], expected, rtol=1e-5, atol=1e-6)
    for i, name in enumerate(LIKELIHOOD.parameter_names):
        value = getattr(LIKELIHOOD, name)
        more, less = (LIKELIHOOD.with_parameters(**{name: value * np.exp(s)}) for s in (h, -h))
        expected = slope((d, more), (d, less))
        np.testing.assert_allclose(found.gradient_parameters[i], expected, rtol=1e-5, atol=1e-6)


def test_even_noise_is_a_gaussian_process():
    inference, d = problem()
    nearly = inference.evaluate(Point(d, Heteroscedastic(0.3, 0.2, 1e-4)))
    exact = GaussianInference(inference.features, inference.obs.y - 0.1, inference.obs.noise_scale).evaluate(
        Point(d, Gaussian(0.3))
    )
    np.testing.assert_allclose(nearly.log_evidence, exact.log_evidence, atol=1e-4)
    np.testing.assert_allclose(nearly.posterior.mean, exact.posterior.mean, atol=1e-6)
    refined = inference.refined(d, Heteroscedastic(0.3, 0.2, 1e-4), nearly.state).function
    factor = exact.posterior.factor
    np.testing.assert_allclose(refined.factor @ refined.factor.T, factor @ factor.T, atol=1e-6)


def test_the_bound_is_the_dense_formula():
    """log N(y; offset, K + R) - ¼ Σ s - KL(q(g) | prior), with m×m matrices."""
    inference, d = problem()
    found = inference.evaluate(Point(d, LIKELIHOOD))
    features, own = inference.features, inference.basis.variances(LIKELIHOOD)
    np.testing.assert_allclose(own.sum(), 1.3**2)
    tau, nu = found.state
    covariance = np.linalg.inv(np.diag(1 / own) + (features.T * tau) @ features)
    mean = covariance @ features.T @ nu
    variance = np.einsum("ij,jk,ik->i", features, covariance, features)
    R = 0.3 * inference.obs.noise_scale * np.exp(features @ mean - variance / 2)
    K, residual = (features * d) @ features.T + np.diag(R), inference.obs.y - 0.1
    gaussian = -0.5 * (
        residual @ np.linalg.solve(K, residual) + np.linalg.slogdet(2 * np.pi * K)[1]
    )  # fmt: skip
    scaled = covariance / own[:, None]
    divergence = 0.5 * (np.trace(scaled) + mean**2 @ (1 / own) - len(d) - np.linalg.slogdet(scaled)[1])
    np.testing.assert_allclose(found.log_evidence, gaussian - variance.sum() / 4 - divergence, rtol=1e-8)


def test_any_start_ends_at_the_same_bound():
    inference, d = problem()
    best = inference.evaluate(Point(d, LIKELIHOOD)).log_evidence
    rng = np.random.default_rng(1)
    for _ in range(100):
        start = np.array([rng.gamma(0.5, 4.0, 60), rng.normal(0.0, 5.0, 60)])
        found = inference.evaluate(Point(d, LIKELIHOOD, state=start))
        np.testing.assert_allclose(found.log_evidence, best, atol=1e-6)


def test_refined_posteriors_agree_with_a_markov_chain():
    """Elliptical slice sampling of g, with f integrated out: nothing is approximated but by the chain."""
    inference, d = problem(m=120, seed=3)
    own = inference.basis.variances(ROUGH)
    A, G = inference.features * np.sqrt(d), inference.basis.features * np.sqrt(own)
    residual, scale = inference.obs.y - 0.1, 0.3 * inference.obs.noise_scale
    rng = np.random.default_rng(0)

    def given(v):
        """Log p(y | g), and moments of f at the labels."""
        rows = A / np.sqrt(scale * np.exp(G @ v))[:, None]
        labels = residual / np.sqrt(scale * np.exp(G @ v))
        L = np.linalg.cholesky(np.eye(A.shape[1]) + rows.T @ rows)
        b = np.linalg.solve(L, rows.T @ labels)
        log_p = -0.5 * np.sum(G @ v) - np.log(np.diag(L)).sum() - 0.5 * labels @ labels + 0.5 * b @ b
        T = np.linalg.solve(L, A.T)
        return log_p, T.T @ b, np.einsum("ij,ij->j", T, T)

    v, draws = np.zeros(G.shape[1]), []
    now = given(v)
    for step in range(8000):
        other, height = rng.normal(size=len(v)), now[0] + np.log(rng.random())
        angle = rng.uniform(0, 2 * np.pi)
        low, high = angle - 2 * np.pi, angle
        while (new := given(w := v * np.cos(angle) + other * np.sin(angle)))[0] <= height:
            low, high = (angle, high) if angle < 0 else (low, angle)
            angle = rng.uniform(low, high)
        v, now = w, new
        if step >= 500:
            draws.append([now[1], now[2], G @ v])
    mean, within, g = np.moveaxis(np.array(draws), 1, 0)
    f_sd, g_sd = np.sqrt(within.mean(axis=0) + mean.var(axis=0)), g.std(axis=0)

    found = inference.evaluate(Point(d, ROUGH))
    both = inference.refined(d, ROUGH, found.state)

    def moments(features, posterior):
        spread = features @ posterior.factor
        return features @ posterior.mean, np.sqrt(np.einsum("ij,ij->i", spread, spread))

    f, f_found = moments(inference.features, both.function)
    log_noise, g_found = moments(inference.basis.features, both.log_noise)
    assert np.sqrt(np.mean(((f - mean.mean(axis=0)) / f_sd) ** 2)) < 0.1
    assert np.sqrt(np.mean(((log_noise - g.mean(axis=0)) / g_sd) ** 2)) < 0.2
    assert 0.94 < np.mean(f_found / f_sd) < 1.06
    assert 0.9 < np.mean(g_found / g_sd) < 1.1
    # The product alone is too sure, which is why it is refined.
    assert np.mean(moments(inference.features, found.posterior)[1] / f_sd) < 0.92


@pytest.mark.parametrize("spread", [3.0, 6.0, 10.0])
@pytest.mark.parametrize("noise", [1e-6, 1e-12, 1e-18])
@pytest.mark.filterwarnings("error")
def test_labels_without_noise_leave_a_bound_or_none(noise, spread):
    """Precisions grew until squares overflowed; a bound that is rounding counts for nothing."""
    inference, d = problem(12, 8)
    exact = Observations.of(inference.features[:, :3] @ np.array([1.0, 2.0, -1.0]))
    inference = HeteroscedasticInference(inference.features, exact, 0.0, inference.basis)
    found = inference.evaluate(Point(d, Heteroscedastic(noise, 0.05, spread)))
    assert found.log_evidence < 100.0
    np.testing.assert_allclose(inference.features @ found.posterior.mean, exact.y, atol=1e-5)
