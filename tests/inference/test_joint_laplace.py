"""The Laplace approximation with a latent residual, against the dense one."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import poisson

from flgp.geometry.point_cloud import NeighborSearch
from flgp.inference.joint import JointData, evaluate
from flgp.inference.joint_laplace import LatentData, evaluate_latent
from flgp.inference.laplace import LaplaceInference
from flgp.inference.posterior import Point
from flgp.likelihoods import Bernoulli, Gamma, Gaussian, NegativeBinomial, Observations, Poisson, StudentT
from flgp.process.kriging import JointPosterior, kriged_moments, kriging_weights
from flgp.terms.local.dissection import dissect
from flgp.terms.local.euclidean import JITTER, KERNEL_NAMES, LocalModel, has_shape
from flgp.terms.local.neighborhoods import previous_neighborhoods

LIKELIHOODS = [
    Poisson(),
    Bernoulli(),
    NegativeBinomial(dispersion=0.5),
    Gamma(shape=2.0),
    StudentT(scale=0.5),
    Gaussian(noise_variance=0.3),
]


def labels(likelihood, rng, m):
    if likelihood.name == "bernoulli":
        y = rng.random(m) < 0.5
    elif likelihood.discrete:
        y = rng.poisson(3.0, m)
    else:
        y = rng.exponential(1.0, m) + 0.1
    weight = None if likelihood.name == "gaussian" else rng.uniform(0.5, 2.0, m)
    return Observations.of(np.asarray(y, float), weight=weight)


def make(rng, likelihood, s=70, m=85, M=5, k=None):
    """Labels at s distinct points, some of them at the same ones; the last feature is an intercept."""
    sites = rng.random((s, 2))
    places = np.concatenate([np.arange(s), rng.integers(0, s, m - s)])
    features = np.column_stack([rng.standard_normal((m, M - 1)), np.ones(m)])
    near = previous_neighborhoods(sites, k or s, rng.permutation(s))
    data = LatentData(features, labels(likelihood, rng, m), 0.2, places, near, dissect(sites, near))
    return sites, data, rng.uniform(0.1, 1.0, M)


def prior_covariance(points, features, d, local):
    return (features * d) @ features.T + local.covariance(cdist(points, points))


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda lik: lik.name)
@pytest.mark.parametrize("kernel", ["matern12", "matern52"])
def test_all_neighbors_give_the_dense_approximation(rng, likelihood, kernel):
    sites, data, d = make(rng, likelihood)
    local = LocalModel(kernel, 0.3, 0.8, 0.0)
    result = evaluate_latent(data, d, likelihood, local)
    new, phi = rng.random((20, 2)), rng.standard_normal((20, len(d)))
    m = len(data.places)
    everywhere = np.concatenate([sites[data.places], new])
    K = prior_covariance(everywhere, np.concatenate([data.features, phi]), d, local)
    K[:m, :m] += JITTER * local.variance * (data.places[:, None] == data.places)
    # The dense model as one whose features are the eigenvectors of K.
    values, vectors = np.linalg.eigh(K[:m, :m])
    dense = LaplaceInference(vectors, data.obs, data.offset)
    expected = dense.evaluate(Point(np.maximum(values, 0.0), likelihood))
    assert result.log_evidence == pytest.approx(expected.log_evidence, abs=1e-8)
    np.testing.assert_allclose(result.state, data.offset + vectors @ expected.posterior.mean, atol=1e-6)
    W = data.obs.weight * likelihood.slope_and_expected_curvature(data.obs, result.state)[1]
    gain = np.linalg.solve(
        np.eye(m) + W[:, None] * K[:m, :m], np.column_stack([expected.state, W[:, None] * K[:m, m:]])
    )
    posterior = JointPosterior.of_latent(sites, result.posterior, local, len(sites))
    kriging = kriging_weights(posterior, new, NeighborSearch(sites))
    weights = result.posterior
    moments = kriged_moments(posterior, kriging, phi @ weights.mean, phi @ weights.factor)
    np.testing.assert_allclose(moments.mean, K[m:, :m] @ expected.state, atol=1e-6)
    np.testing.assert_allclose(moments.variance, np.diag(K[m:, m:] - K[m:, :m] @ gain[:, 1:]), atol=1e-6)
    # The parts on their own: their covariances with the labels are those of their prior.
    h_variance = ((phi @ weights.factor) ** 2).sum(axis=1)
    for mean, variance, prior, own in (
        (phi @ weights.mean, h_variance, phi**2 @ d, (phi * d) @ data.features.T),
        (moments.local_mean, moments.local_variance, 0.8, local.covariance(cdist(new, sites[data.places]))),
    ):
        np.testing.assert_allclose(mean, own @ expected.state, atol=1e-6)
        explained = own @ np.linalg.solve(np.eye(m) + W[:, None] * K[:m, :m], W[:, None] * own.T)
        np.testing.assert_allclose(variance, prior - np.diag(explained), atol=1e-6)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda lik: lik.name)
def test_gradient_is_exact(rng, likelihood):
    _, data, d = make(rng, likelihood, k=8)
    d[1] = 0.0
    check_gradient(data, d, likelihood, LocalModel("matern32", 0.3, 0.8, 0.0))


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_gradient_is_exact_for_every_kernel(rng, kernel):
    _, data, d = make(rng, Poisson(), M=95, k=8)  # more features than labels, too
    check_gradient(data, d, Poisson(), LocalModel(kernel, 0.1, 0.8, 0.0, 1.5))


def check_gradient(data, d, likelihood, local, h=1e-4):
    result = evaluate_latent(data, d, likelihood, local)

    def value(d, likelihood, local):
        return evaluate_latent(data, d, likelihood, local, result.state).log_evidence

    for name, slope in zip(likelihood.parameter_names, result.gradient_parameters, strict=True):
        at = getattr(likelihood, name)
        up, down = (
            value(d, likelihood.with_parameters(**{name: at * np.exp(s * h)}), local) for s in (1, -1)
        )
        assert slope == pytest.approx((up - down) / (2 * h), abs=2e-5, rel=1e-6)
    names = ("length_scale", "variance", "shape")[: 3 if has_shape(local.kernel) else 2]
    for name, slope in zip(names, result.gradient_local, strict=True):
        at = getattr(local, name)
        up, down = (value(d, likelihood, replace(local, **{name: at * np.exp(s * h)})) for s in (1, -1))
        assert slope == pytest.approx((up - down) / (2 * h), abs=2e-5, rel=1e-6)
    for i in (0, 1, len(d) - 1):
        step = np.exp(h * np.eye(len(d))[i])
        up, down = (value(d * step**s, likelihood, local) for s in (1, -1))
        assert result.gradient_log_d[i] == pytest.approx((up - down) / (2 * h), abs=2e-5)


def test_gaussian_labels_agree_with_the_closed_form(rng):
    _, data, d = make(rng, Gaussian(), m=70)
    noise = 0.3
    local = LocalModel("matern32", 0.3, 0.8, 0.0)
    result = evaluate_latent(data, d, Gaussian(noise_variance=noise), local)
    joint = JointData(data.features, data.obs.y - data.offset, data.obs.noise_scale, data.near)
    expected = evaluate(joint, d, replace(local, noise_variance=noise))
    assert result.log_evidence == pytest.approx(expected.log_evidence, abs=1e-8)
    np.testing.assert_allclose(result.gradient_log_d, expected.gradient_log_d, atol=1e-7)
    np.testing.assert_allclose(result.gradient_parameters, expected.gradient_parameters, atol=1e-7)
    np.testing.assert_allclose(result.gradient_local, expected.gradient_local, atol=1e-7)
    np.testing.assert_allclose(result.posterior.mean, expected.posterior.mean, atol=1e-7)


def test_the_start_does_not_matter(rng):
    _, data, d = make(rng, Poisson(), k=8)
    local = LocalModel("matern32", 0.3, 0.8, 0.0)
    result = evaluate_latent(data, d, Poisson(), local)
    for start in (result.state, rng.normal(0, 5, len(result.state)), np.full(len(result.state), 300.0)):
        again = evaluate_latent(data, d, Poisson(), local, start)
        assert again.log_evidence == pytest.approx(result.log_evidence, abs=1e-9)


def test_labels_at_the_same_place_share_the_latent_value(rng):
    sites = rng.random((40, 2))
    near = previous_neighborhoods(sites, 8, rng.permutation(40))
    features, fronts = rng.standard_normal((40, 3)), dissect(sites, near)
    y = rng.poisson(2.0, (40, 4)).astype(float)
    four = LatentData(
        np.repeat(features, 4, axis=0),
        Observations.of(y.ravel()),
        0.0,
        np.repeat(np.arange(40), 4),
        near,
        fronts,
    )
    sums = Observations.of(y.sum(axis=1), exposure=np.full(40, 4.0))
    one = LatentData(features, sums, 0.0, np.arange(40), near, fronts)
    local = LocalModel("matern32", 0.3, 0.8, 0.0)
    a, b = (evaluate_latent(data, np.ones(3), Poisson(), local) for data in (four, one))
    # Four counts of rate e^f are as one of rate 4e^f, up to a factor without f.
    constant = poisson.logpmf(y, 1.0).sum() - poisson.logpmf(sums.y, 4.0).sum()
    assert a.log_evidence - b.log_evidence == pytest.approx(constant, abs=1e-8)
    np.testing.assert_allclose(a.gradient_local, b.gradient_local, atol=1e-7)
    np.testing.assert_allclose(a.posterior.local_mean, b.posterior.local_mean, atol=1e-7)


def test_points_almost_at_the_same_place(rng):
    sites = np.repeat(rng.random((20, 2)), 3, axis=0) + 1e-11 * rng.standard_normal((60, 2))
    near = previous_neighborhoods(sites, 59, rng.permutation(60))
    data = LatentData(
        np.ones((60, 1)), labels(Poisson(), rng, 60), 0.0, np.arange(60), near, dissect(sites, near)
    )
    local = LocalModel("squared_exponential", 0.2, 1.0, 0.0)
    result = evaluate_latent(data, np.ones(1), Poisson(), local)
    joined = previous_neighborhoods(sites[::3], 19, np.arange(20))
    merged = LatentData(
        data.features, data.obs, 0.0, np.repeat(np.arange(20), 3), joined, dissect(sites[::3], joined)
    )
    expected = evaluate_latent(merged, np.ones(1), Poisson(), local)
    assert np.isfinite(result.gradient_local).all()
    assert result.log_evidence == pytest.approx(expected.log_evidence, abs=1e-3)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_extreme_labels(rng, scale):
    _, data, d = make(rng, Poisson(), k=6)
    for likelihood, y in (
        (Poisson(), rng.integers(0, 10**6, 85)),
        (Poisson(), np.zeros(85)),
        (Bernoulli(), np.ones(85)),
    ):
        obs = Observations.of(np.asarray(y, float))
        extreme = LatentData(data.features, obs, 0.0, data.places, data.near, data.fronts)
        local = LocalModel("matern32", 0.3, scale, 0.0)
        result = evaluate_latent(extreme, scale * d, likelihood, local)
        assert np.isfinite(result.log_evidence)
        assert np.isfinite(result.gradient_local).all()
        # At the mode v = Aᵀ∂log p/∂f.
        slope = likelihood.derivatives(obs, result.state).gradient
        v = result.posterior.mean / np.sqrt(scale * d)
        np.testing.assert_allclose(v, np.sqrt(scale * d) * (data.features.T @ slope), rtol=1e-3, atol=1e-3)
