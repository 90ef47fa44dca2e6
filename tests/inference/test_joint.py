from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.stats import multivariate_normal

from flgp._threads import threads
from flgp.inference.dense import DenseInference
from flgp.inference.joint import JointData, evaluate
from flgp.inference.local import JointInference, local_inference
from flgp.inference.posterior import Point
from flgp.likelihoods import Gaussian, Observations
from flgp.terms.local.euclidean import JITTER, KERNEL_NAMES, LocalModel
from flgp.terms.local.neighborhoods import previous_neighborhoods


def make(rng, m=80, M=6, k=None, points=None):
    points = rng.random((m, 2)) if points is None else points
    m = len(points)
    features = np.column_stack([rng.standard_normal((m, M - 1)), np.ones(m)])  # the last is an intercept
    y, scale = rng.standard_normal(m) + 1.0, rng.uniform(0.5, 2.0, m)
    near = previous_neighborhoods(points, k or m, rng.permutation(m))
    return points, JointData(features, y, scale, near), rng.uniform(0.1, 2.0, M)


def dense_covariance(points, data, d, local):
    K = local.covariance(cdist(points, points))
    noise = local.noise_variance * data.noise_scale + JITTER * local.variance
    return (data.features * d) @ data.features.T + K + np.diag(noise)


def learned(result):
    """The gradient in log ℓ, log a_u², log σ² and, for a kernel with a shape, log α."""
    return np.insert(result.gradient_local, 2, result.gradient_parameters)


def dense_gradient(points, data, d, local):
    """½ tr[(ααᵀ - C⁻¹) ∂C] in log d, log ℓ, log a_u², log σ²."""
    C = dense_covariance(points, data, d, local)
    inverse = np.linalg.inv(C)
    alpha = inverse @ data.y
    D = cdist(points, points)
    K = local.covariance(D)
    by_feature = [d[i] * np.outer(phi, phi) for i, phi in enumerate(data.features.T)]
    by_length, *by_shape = local.slopes(D, K)
    by_variance = K + JITTER * local.variance * np.eye(len(D))
    by_noise = np.diag(local.noise_variance * data.noise_scale)
    slopes = [*by_feature, by_length, by_variance, by_noise, *by_shape]
    return np.array([0.5 * (alpha @ G @ alpha - np.sum(inverse * G)) for G in slopes])


def by_dense_matrices(points, data, d, local):
    inference = DenseInference(data.features, data.y, data.noise_scale, points, pdist(points))
    return inference.evaluate(Point(d, Gaussian(local.noise_variance), local=local))


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_all_neighbors_give_the_dense_model(rng, kernel, dense):
    points, data, d = make(rng)
    local = LocalModel(kernel, 0.3, 1.7, 0.2)
    result = by_dense_matrices(points, data, d, local) if dense else evaluate(data, d, local)
    C = dense_covariance(points, data, d, local)
    assert result.log_evidence == pytest.approx(multivariate_normal(cov=C).logpdf(data.y), abs=1e-8)
    gradient = np.concatenate([result.gradient_log_d, learned(result)])
    np.testing.assert_allclose(gradient, dense_gradient(points, data, d, local), atol=1e-8)
    gain = d[:, None] * data.features.T
    np.testing.assert_allclose(result.posterior.mean, gain @ np.linalg.solve(C, data.y), atol=1e-8)
    covariance = np.diag(d) - gain @ np.linalg.solve(C, gain.T)
    np.testing.assert_allclose(result.posterior.factor @ result.posterior.factor.T, covariance, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_gradient_is_exact_with_few_neighbors(rng, kernel):
    _, data, d = make(rng, m=70, M=90, k=8)  # more features than rows, too
    theta, h = np.log([0.3, 1.7, 0.2, 0.5]), 1e-5
    result = evaluate(data, d, LocalModel(kernel, *np.exp(theta)))
    assert len(result.gradient_parameters) == 1
    gradient = learned(result)
    assert len(gradient) == (4 if kernel == "rational_quadratic" else 3)
    for i in range(len(gradient)):
        step = h * np.eye(4)[i]
        up, down = (evaluate(data, d, LocalModel(kernel, *np.exp(theta + s * step))) for s in (1, -1))
        numeric = (up.log_evidence - down.log_evidence) / (2 * h)
        assert gradient[i] == pytest.approx(numeric, abs=1e-6)
    for i in (0, 40, 89):
        step = np.exp(h * np.eye(90)[i])
        up, down = (evaluate(data, d * step**s, LocalModel(kernel, *np.exp(theta))) for s in (1, -1))
        numeric = (up.log_evidence - down.log_evidence) / (2 * h)
        assert result.gradient_log_d[i] == pytest.approx(numeric, abs=1e-6)


def test_negligible_features_keep_their_prior(rng):
    _, data, d = make(rng, M=6, k=10)
    local = LocalModel("matern32", 0.3, 1.7, 0.2)
    d[1:3] = 0.0, 1e-22
    result = evaluate(data, d, local)
    kept = [0, 3, 4, 5]
    alone = evaluate(JointData(data.features[:, kept], data.y, data.noise_scale, data.near), d[kept], local)
    assert result.log_evidence == pytest.approx(alone.log_evidence, abs=1e-10)
    np.testing.assert_allclose(learned(result), learned(alone), atol=1e-10)
    np.testing.assert_allclose(result.posterior.mean[kept], alone.posterior.mean, atol=1e-10)
    np.testing.assert_allclose(np.diag(result.posterior.factor)[1:3], [0.0, 1e-11])
    np.testing.assert_array_equal(result.gradient_log_d[1:3], 0.0)
    nothing = evaluate(data, np.zeros(6), local)
    assert np.isfinite(nothing.log_evidence)


def test_duplicate_points(rng):
    points = np.repeat(rng.random((25, 2)), 3, axis=0)
    points, data, d = make(rng, points=points)
    local = LocalModel("squared_exponential", 0.4, 1.0, 0.1)
    expected = multivariate_normal(cov=dense_covariance(points, data, d, local)).logpdf(data.y)
    assert evaluate(data, d, local).log_evidence == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_few_rows_and_equal_labels(rng, m):
    points, data, d = make(rng, m=m, k=30)
    data = JointData(data.features, np.ones(m), data.noise_scale, data.near)
    local = LocalModel("matern12", 0.3, 1.7, 1e-8)
    result = evaluate(data, d, local)
    C = dense_covariance(points, data, d, local)
    expected = multivariate_normal(cov=C, allow_singular=False).logpdf(data.y)
    assert result.log_evidence == pytest.approx(expected, abs=1e-6)
    assert np.isfinite(learned(result)).all()


def test_threads_agree(rng):
    _, data, d = make(rng, m=1200, M=20, k=20)
    local = LocalModel("matern32", 0.1, 1.0, 0.1)
    one = evaluate(data, d, local)
    with threads(2):
        two = evaluate(data, d, local)
    assert one.log_evidence == two.log_evidence
    np.testing.assert_array_equal(learned(one), learned(two))


def test_dense_matrices_are_used_where_all_labels_are_neighbors(rng):
    points, data, d = make(rng, m=40)
    obs = Observations.of(data.y, noise_scale=data.noise_scale)
    local, likelihood = LocalModel("matern52", 0.3, 1.7, 0.2), Gaussian(0.2)

    def chosen(k):
        return local_inference(likelihood, data.features, obs, 0.5, points, k)

    assert isinstance(chosen(38), JointInference)
    assert isinstance(chosen(39), DenseInference)
    results = [chosen(k).evaluate(Point(d, likelihood, local=local)) for k in (38, 39)]
    # Of the last point one neighbour is left out.
    assert results[0].log_evidence == pytest.approx(results[1].log_evidence, abs=1e-2)


def test_parts_of_the_conditionals_add_up_to_all_of_them(rng):
    points, data, d = make(rng, m=40)
    obs, likelihood = Observations.of(data.y, noise_scale=data.noise_scale), Gaussian(0.2)
    local = LocalModel("rational_quadratic", 0.3, 1.7, 0.2, 0.7)
    whole = local_inference(likelihood, data.features, obs, 0.5, points, 10)
    alone = 1e-12 * d  # without features, whose sum of squares is not linear in the rows
    near = whole.near
    halves = [
        evaluate(replace(whole, near=near.take(rows)), alone, replace(local, noise_variance=0.2))
        for rows in (np.arange(0, 40, 2), np.arange(1, 40, 2))
    ]
    expected = whole.evaluate(Point(alone, likelihood, local=local))
    assert np.sum([half.log_evidence for half in halves]) == pytest.approx(expected.log_evidence, abs=1e-9)
    gradient = np.sum([half.gradient_local for half in halves], axis=0)
    np.testing.assert_allclose(gradient, expected.gradient_local, atol=1e-9)


def test_the_gradient_of_a_part_is_that_of_its_evidence(rng):
    points, data, d = make(rng, m=40)
    obs, likelihood = Observations.of(data.y, noise_scale=data.noise_scale), Gaussian(0.2)
    part = local_inference(likelihood, data.features, obs, 0.5, points, 10).part(15)
    assert len(part.near.rows) == 15
    local, h = LocalModel("matern52", 0.3, 1.7, 0.2), 1e-5

    def value(log_length=0.0, log_d=0.0):
        longer = replace(local, length_scale=0.3 * np.exp(log_length))
        return part.evaluate(Point(d * np.exp(log_d), likelihood, local=longer)).log_evidence

    found = part.evaluate(Point(d, likelihood, local=local))
    numeric = (value(log_length=h) - value(log_length=-h)) / (2 * h)
    assert found.gradient_local[0] == pytest.approx(numeric, abs=1e-5)
    numeric = (value(log_d=h) - value(log_d=-h)) / (2 * h)
    assert found.gradient_log_d.sum() == pytest.approx(numeric, abs=1e-5)


@pytest.mark.parametrize("m", [1, 2])
def test_dense_matrices_of_one_or_two_labels(rng, m):
    points, data, d = make(rng, m=2)
    points = points[:m]
    data = JointData(data.features[:m], data.y[:m], data.noise_scale[:m], data.near)
    local = LocalModel("matern52", 0.3, 1.7, 0.2)
    C = dense_covariance(points, data, d, local)
    expected = multivariate_normal(cov=C).logpdf(data.y)
    assert by_dense_matrices(points, data, d, local).log_evidence == pytest.approx(expected, abs=1e-9)
