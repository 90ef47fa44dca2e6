"""Outputs that share hyperparameters or are linked, against dense formulas and finite differences."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from flgp.inference.gaussian import GaussianInference
from flgp.inference.linked import LinkedGaussian
from flgp.inference.posterior import Point
from flgp.inference.shared import SharedInference
from flgp.likelihoods import Gaussian, Observations

SIZES, M = (9, 5, 14), 6


@pytest.fixture
def case():
    rng = np.random.default_rng(3)
    features = [rng.standard_normal((m, M)) for m in SIZES]
    scales = [rng.uniform(0.5, 2.0, m) for m in SIZES]
    obs = [Observations.of(rng.standard_normal(len(v)), noise_scale=v) for v in scales]
    offsets = [0.3, -0.2, 0.0]
    loadings = rng.standard_normal((3, 2))
    covariance = loadings @ loadings.T + np.diag([0.5, 1.0, 0.2])
    return features, obs, offsets, rng.uniform(0.2, 2.0, M), covariance, np.array([0.3, 0.1, 0.7])


def dense(features, obs, offsets, d, covariance, noise):
    """Joint distribution of all labels, and of the weights given them."""
    y = np.concatenate([part.y - offset for part, offset in zip(obs, offsets, strict=True)])
    stacked = np.zeros((len(y), 3 * M))
    start = 0
    for c, phi in enumerate(features):
        stacked[start : start + len(phi), c * M : (c + 1) * M] = phi
        start += len(phi)
    prior = np.kron(covariance, np.diag(d))
    errors = np.concatenate([s * part.noise_scale for s, part in zip(noise, obs, strict=True)])
    K = stacked @ prior @ stacked.T + np.diag(errors)
    gain = prior @ stacked.T @ np.linalg.inv(K)
    log_evidence = multivariate_normal(np.zeros(len(y)), K).logpdf(y)
    return log_evidence, gain @ y, prior - gain @ stacked @ prior


def test_linked_outputs_are_the_dense_model(case):
    features, obs, offsets, d, covariance, noise = case
    result = LinkedGaussian(features, obs, offsets).evaluate(d, covariance, noise)
    log_evidence, mean, joint = dense(*case)
    assert result.log_evidence == pytest.approx(log_evidence, rel=1e-10)
    np.testing.assert_allclose(np.concatenate([p.mean for p in result.posteriors]), mean, atol=1e-10)
    factor = np.concatenate([p.factor for p in result.posteriors])
    np.testing.assert_allclose(factor @ factor.T, joint, atol=1e-10)


def test_derivatives_of_linked_outputs(case):
    features, obs, offsets, d, covariance, noise = case
    inference = LinkedGaussian(features, obs, offsets)
    result = inference.evaluate(d, covariance, noise)

    def slope(change, step=1e-5):
        high, low = (inference.evaluate(*change(side * step)).log_evidence for side in (1, -1))
        return (high - low) / (2 * step)

    for i in range(M):
        e = np.eye(M)[i]
        assert slope(lambda h, e=e: (d * np.exp(h * e), covariance, noise)) == pytest.approx(
            result.gradient_log_d[i], abs=1e-6
        )
    for c in range(3):
        e = np.eye(3)[c]
        assert slope(lambda h, e=e: (d, covariance, noise * np.exp(h * e))) == pytest.approx(
            result.gradient_log_noise[c], abs=1e-6
        )
        for k in range(c + 1):
            E = np.zeros((3, 3))
            E[c, k] = E[k, c] = 1.0
            assert slope(lambda h, E=E: (d, covariance + h * E, noise)) == pytest.approx(
                float((result.gradient_covariance * E).sum()), abs=1e-5
            )


def test_shared_evidence_is_the_sum_in_the_units_of_each_output(case):
    features, obs, offsets, d, _, _ = case
    outputs = [
        GaussianInference(phi, part.y - offset, part.noise_scale)
        for phi, part, offset in zip(features, obs, offsets, strict=True)
    ]
    ratios = np.array([1.0, 4.0, 0.25])
    shared = SharedInference(outputs, ratios).evaluate(Point(d, Gaussian(0.3)))
    each = [part.evaluate(Point(r * d, Gaussian(0.3 * r))) for part, r in zip(outputs, ratios, strict=True)]
    assert shared.log_evidence == pytest.approx(sum(part.log_evidence for part in each))
    # Independent outputs are linked ones with a diagonal covariance.
    linked = LinkedGaussian(features, obs, offsets).evaluate(d, np.diag(ratios), 0.3 * ratios)
    assert shared.log_evidence == pytest.approx(linked.log_evidence)
    np.testing.assert_allclose(shared.gradient_log_d, linked.gradient_log_d, atol=1e-10)
    assert shared.gradient_parameters[0] == pytest.approx(linked.gradient_log_noise.sum())
