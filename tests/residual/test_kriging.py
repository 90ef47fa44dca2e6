import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from flgp.residual.covariance import predict_covariance
from flgp.residual.euclidean import JITTER, KERNEL_NAMES, LocalModel
from flgp.residual.joint import JointData, evaluate
from flgp.residual.kriging import JointPosterior, predict
from flgp.residual.neighborhoods import coarse_to_fine, previous_neighborhoods


def fit(points, features, y, d, local, k, scale=None):
    scale = np.ones(len(y)) if scale is None else scale
    near = previous_neighborhoods(points, k, coarse_to_fine(points, np.random.default_rng(0)))
    weights = evaluate(JointData(features, y, scale, near), d, local).posterior
    return JointPosterior.of(points, features, y, scale, weights, local, k)


@pytest.fixture
def problem(rng):
    m, n, M = 70, 25, 5
    points, new = rng.random((m, 2)), rng.random((n, 2))
    features, rows = rng.standard_normal((m, M)), rng.standard_normal((n, M))
    return (
        points,
        features,
        rng.standard_normal(m),
        rng.uniform(0.5, 2.0, m),
        rng.uniform(0.1, 2.0, M),
        new,
        rows,
    )


def dense_posterior(points, features, y, scale, d, new, rows, local):
    """Means and joint covariance of (h, u) at the new points from the dense joint Gaussian."""
    noise = np.diag(local.noise_variance * scale + JITTER * local.variance)
    C = (features * d) @ features.T + local.covariance(cdist(points, points)) + noise
    cross = np.concatenate([(rows * d) @ features.T, local.covariance(cdist(new, points))])
    n = len(new)
    prior = np.zeros((2 * n, 2 * n))
    prior[:n, :n], prior[n:, n:] = (rows * d) @ rows.T, local.covariance(cdist(new, new))
    return cross @ np.linalg.solve(C, y), prior - cross @ np.linalg.solve(C, cross.T)


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
@pytest.mark.parametrize("k", [70, 300])
def test_all_neighbors_give_the_dense_posterior(problem, kernel, k):
    points, features, y, scale, d, new, rows = problem
    local = LocalModel(kernel, 0.3, 1.7, 0.2)
    posterior = fit(points, features, y, d, local, k, scale)
    parts = predict(posterior, new, rows)
    mean, cov = dense_posterior(points, features, y, scale, d, new, rows, local)
    n = len(new)
    h, u = slice(0, n), slice(n, 2 * n)
    total = cov[h, h] + cov[u, u] + cov[h, u] + cov[u, h]
    for ours, dense in (
        (parts.manifold_mean, mean[h]),
        (parts.local_mean, mean[u]),
        (parts.mean, mean[h] + mean[u]),
        (parts.manifold_variance, np.diag(cov[h, h])),
        (parts.local_variance, np.diag(cov[u, u])),
        (parts.covariance, np.diag(cov[h, u])),
        (parts.variance, np.diag(total)),
    ):
        np.testing.assert_allclose(ours, dense, atol=1e-8)
    joint_mean, joint = predict_covariance(posterior, new, rows)
    np.testing.assert_allclose(joint_mean, mean[h] + mean[u], atol=1e-8)
    np.testing.assert_allclose(joint, total, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_joint_covariance_with_few_neighbors(problem, kernel, noise):
    points, features, y, scale, d, new, rows = problem
    new = np.concatenate([new, new[:2], points[:2]])  # duplicates, and labelled points themselves
    rows = np.concatenate([rows, rows[:2], features[:2]])
    posterior = fit(points, features, y, d, LocalModel(kernel, 0.3, 1.7, noise), 8, scale)
    parts = predict(posterior, new, rows)
    mean, covariance = predict_covariance(posterior, new, rows)
    np.testing.assert_allclose(mean, parts.mean, atol=1e-10)
    np.testing.assert_allclose(np.diag(covariance), parts.variance, atol=1e-8)
    assert np.linalg.eigvalsh(covariance).min() > -1e-8
    # A point asked for twice is one point.
    np.testing.assert_allclose(covariance[0, 25], covariance[0, 0], atol=1e-8)
    together = parts.manifold_variance + parts.local_variance + 2 * parts.covariance
    np.testing.assert_allclose(together, parts.variance, atol=1e-10)


def test_rows_of_a_lift_and_one_row_at_a_time(problem, rng):
    points, features, y, scale, d, new, _ = problem
    lift = rng.standard_normal((12, 5))
    z = sparse.csr_array(rng.random((len(new), 12)) * (rng.random((len(new), 12)) < 0.3))
    posterior = fit(points, features, y, d, LocalModel("matern32", 0.3, 1.0, 0.1), 10, scale)
    whole = predict(posterior, new, z @ lift, n_threads=2)
    lifted = posterior.in_rows_of(lift)
    by_lift = predict(lifted, new, z)
    for name in ("mean", "variance", "manifold_variance", "covariance"):
        np.testing.assert_allclose(getattr(by_lift, name), getattr(whole, name), atol=1e-10)
        single = [getattr(predict(lifted, new[i : i + 1], z[i : i + 1]), name)[0] for i in range(len(new))]
        np.testing.assert_allclose(single, getattr(whole, name), atol=1e-10)
    np.testing.assert_allclose(
        predict_covariance(lifted, new, z)[1], predict_covariance(posterior, new, z @ lift)[1]
    )


def test_far_away_u_returns_to_its_prior(problem):
    points, features, y, scale, d, _, rows = problem
    posterior = fit(points, features, y, d, LocalModel("matern32", 0.3, 1.7, 0.1), 10, scale)
    parts = predict(posterior, np.full((3, 2), 1e6), rows[:3])
    np.testing.assert_allclose(parts.local_mean, 0.0, atol=1e-12)
    np.testing.assert_allclose(parts.local_variance, 1.7)


def test_duplicates_without_noise_and_no_points(rng):
    points = np.repeat(rng.random((20, 2)), 2, axis=0)
    y = np.repeat(rng.standard_normal(20), 2)
    posterior = fit(points, np.ones((40, 1)), y, np.ones(1), LocalModel("matern32", 0.3, 1.0, 0.0), 8)
    parts = predict(posterior, points, np.ones((40, 1)))
    np.testing.assert_allclose(parts.mean, y, atol=1e-5)
    assert np.all(parts.variance >= 0)
    assert parts.variance.max() < 1e-6
    assert predict(posterior, np.empty((0, 2)), np.empty((0, 1))).mean.shape == (0,)


def test_counts_below_one_are_refused(problem):
    points, features, y, scale, d, *_ = problem
    weights = fit(points, features, y, d, LocalModel("matern32", 0.3, 1.0, 0.1), 5).weights
    with pytest.raises(ValueError, match="at least 1"):
        JointPosterior.of(points, features, y, scale, weights, LocalModel("matern32", 0.3, 1.0, 0.1), 0)


def test_errors_have_the_stated_variance(rng):
    """Draws from the model itself: standardised errors with few neighbours have unit variance."""
    m, n = 500, 1500
    X = rng.random((m + n, 2))
    phi = np.column_stack([np.sin(3 * X[:, 0]), np.cos(4 * X[:, 1]), np.ones(m + n)])
    d, local = np.array([2.0, 1.0, 4.0]), LocalModel("matern32", 0.15, 0.8, 0.1)
    K = (phi * d) @ phi.T + local.covariance(cdist(X, X)) + 1e-9 * np.eye(m + n)
    f = np.linalg.cholesky(K) @ rng.standard_normal(m + n)
    y = f + np.sqrt(0.1) * rng.standard_normal(m + n)
    parts = predict(fit(X[:m], phi[:m], y[:m], d, local, 15), X[m:], phi[m:])
    score = (y[m:] - parts.mean) / np.sqrt(parts.variance + 0.1)
    assert np.mean(score**2) == pytest.approx(1.0, abs=0.12)
    assert np.mean(np.abs(score) < 1.96) == pytest.approx(0.95, abs=0.02)
