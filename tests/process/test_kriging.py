"""f = h + u at any points: the field against the dense joint Gaussian."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from flgp.geometry.base import MatrixRows
from flgp.inference.joint import JointData, evaluate
from flgp.kernels import Heat
from flgp.process.field import WeightField
from flgp.process.kriging import JointPosterior
from flgp.process.local_field import LocalField
from flgp.terms import Constant, Manifold, Terms, TermView
from flgp.terms.base import View
from flgp.terms.local.euclidean import JITTER, KERNEL_NAMES, LocalModel
from flgp.terms.local.neighborhoods import coarse_to_fine, previous_neighborhoods


def weights_of(points, features, y, d, local, k, scale):
    near = previous_neighborhoods(points, k, coarse_to_fine(points, np.random.default_rng(0)))
    return evaluate(JointData(features, y, scale, near), d, local).posterior


def fit(points, features, y, d, local, k, scale=None, lift=None):
    """The field for weights of features that are given at every point, or at nodes by a `lift` (s, M)."""
    scale = np.ones(len(y)) if scale is None else scale
    lift = np.eye(len(d)) if lift is None else lift
    weights = weights_of(points, features, y, d, local, k, scale)
    basis = SimpleNamespace(eigenvalues=np.zeros(len(d)), at_nodes=lambda values: lift @ values)
    field = WeightField.of(Terms((Manifold(basis, Heat()),)), weights, d, Constant())
    return LocalField(field, JointPosterior.of(points, features, y, scale, weights, local, k))


def at(points, z, gap=None):
    """New points, with their weights over the nodes (the features themselves, without a lift)."""
    return View((TermView(MatrixRows(z), gap),), len(points), points)


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
    field, view = fit(points, features, y, d, local, k, scale), at(new, rows)
    moments = field.kriged(view)
    mean, cov = dense_posterior(points, features, y, scale, d, new, rows, local)
    n = len(new)
    h, u = slice(0, n), slice(n, 2 * n)
    total = cov[h, h] + cov[u, u] + cov[h, u] + cov[u, h]
    _, (h_mean, h_variance), (u_mean, u_variance) = field.term_moments(view)
    for ours, dense in (
        (h_mean, mean[h]),
        (h_variance, np.diag(cov[h, h])),
        (u_mean, mean[u]),
        (u_variance, np.diag(cov[u, u])),
        (moments.local_mean, mean[u]),
        (moments.local_variance, np.diag(cov[u, u])),
        (moments.mean, mean[h] + mean[u]),
        (moments.variance, np.diag(total)),
        (field.means(view), mean[h] + mean[u]),
        (field.variances(view), np.diag(total)),
        (field.covariances(view), total),
    ):
        np.testing.assert_allclose(ours, dense, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_joint_covariance_with_few_neighbors(problem, kernel, noise):
    points, features, y, scale, d, new, rows = problem
    new = np.concatenate([new, new[:2], points[:2]])  # duplicates, and labelled points themselves
    rows = np.concatenate([rows, rows[:2], features[:2]])
    field = fit(points, features, y, d, LocalModel(kernel, 0.3, 1.7, noise), 8, scale)
    moments, covariance = field.kriged(at(new, rows)), field.covariances(at(new, rows))
    np.testing.assert_allclose(field.means(at(new, rows)), moments.mean, atol=1e-10)
    np.testing.assert_allclose(np.diag(covariance), moments.variance, atol=1e-8)
    assert np.linalg.eigvalsh(covariance).min() > -1e-8
    # A point asked for twice is one point.
    np.testing.assert_allclose(covariance[0, 25], covariance[0, 0], atol=1e-8)
    # What no feature carries is added, point by point.
    gap = np.linspace(0.0, 0.5, len(new))
    off = at(new, rows, gap)
    np.testing.assert_allclose(field.variances(off), moments.variance + gap * d.sum(), atol=1e-10)
    np.testing.assert_allclose(field.covariances(off), covariance + np.diag(gap * d.sum()), atol=1e-10)


def test_rows_of_a_lift_and_one_row_at_a_time(problem, rng):
    points, features, y, scale, d, new, _ = problem
    lift = rng.standard_normal((12, 5))
    z = sparse.csr_array(rng.random((len(new), 12)) * (rng.random((len(new), 12)) < 0.3))
    local = LocalModel("matern32", 0.3, 1.0, 0.1)
    field = fit(points, features, y, d, local, 10, scale)
    lifted = fit(points, features, y, d, local, 10, scale, lift)
    whole, by_lift = field.kriged(at(new, z @ lift)), lifted.kriged(at(new, z))
    one_by_one = [lifted.kriged(at(new[i : i + 1], z[i : i + 1])) for i in range(len(new))]
    for name in ("mean", "variance", "local_mean", "local_variance"):
        np.testing.assert_allclose(getattr(by_lift, name), getattr(whole, name), atol=1e-10)
        single = [getattr(moments, name)[0] for moments in one_by_one]
        np.testing.assert_allclose(single, getattr(whole, name), atol=1e-10)
    np.testing.assert_allclose(lifted.covariances(at(new, z)), field.covariances(at(new, z @ lift)))


def test_far_away_u_returns_to_its_prior(problem):
    points, features, y, scale, d, _, rows = problem
    field = fit(points, features, y, d, LocalModel("matern32", 0.3, 1.7, 0.1), 10, scale)
    moments = field.kriged(at(np.full((3, 2), 1e6), rows[:3]))
    np.testing.assert_allclose(moments.local_mean, 0.0, atol=1e-12)
    np.testing.assert_allclose(moments.local_variance, 1.7)


def test_duplicates_without_noise(rng):
    points = np.repeat(rng.random((20, 2)), 2, axis=0)
    y = np.repeat(rng.standard_normal(20), 2)
    field = fit(points, np.ones((40, 1)), y, np.ones(1), LocalModel("matern32", 0.3, 1.0, 0.0), 8)
    moments = field.kriged(at(points, np.ones((40, 1))))
    np.testing.assert_allclose(moments.mean, y, atol=1e-5)
    assert np.all(moments.variance >= 0)
    assert moments.variance.max() < 1e-6


@pytest.mark.parametrize("k", [5, 40])
def test_the_mean_is_the_same_bits_with_and_without_the_variance(problem, k):
    """Nearly without noise, two ways to the same mean differed by 1e-8 of it."""
    points, features, y, scale, d, new, rows = problem
    local = LocalModel("matern52", 1.0, 2.0, 1e-14)
    field = fit(points, features, y, d, local, k, scale)
    view = at(new, rows)
    np.testing.assert_array_equal(field.means(view), field.kriged(view).mean)


def test_no_points(problem):
    points, features, y, scale, d, *_ = problem
    nothing = at(np.empty((0, 2)), np.empty((0, 5)))
    for k in (8, 70):
        field = fit(points, features, y, d, LocalModel("matern32", 0.3, 1.0, 0.1), k, scale)
        assert field.means(nothing).shape == (0,)
        assert field.kriged(nothing).mean.shape == (0,)


def test_counts_below_one_are_refused(problem):
    points, features, y, scale, d, *_ = problem
    local = LocalModel("matern32", 0.3, 1.0, 0.1)
    weights = weights_of(points, features, y, d, local, 5, scale)
    with pytest.raises(ValueError, match="at least 1"):
        JointPosterior.of(points, features, y, scale, weights, local, 0)


def test_errors_have_the_stated_variance(rng):
    """Draws from the model itself: standardised errors with few neighbours have unit variance."""
    m, n = 500, 1500
    X = rng.random((m + n, 2))
    phi = np.column_stack([np.sin(3 * X[:, 0]), np.cos(4 * X[:, 1]), np.ones(m + n)])
    d, local = np.array([2.0, 1.0, 4.0]), LocalModel("matern32", 0.15, 0.8, 0.1)
    K = (phi * d) @ phi.T + local.covariance(cdist(X, X)) + 1e-9 * np.eye(m + n)
    f = np.linalg.cholesky(K) @ rng.standard_normal(m + n)
    y = f + np.sqrt(0.1) * rng.standard_normal(m + n)
    moments = fit(X[:m], phi[:m], y[:m], d, local, 15).kriged(at(X[m:], phi[m:]))
    score = (y[m:] - moments.mean) / np.sqrt(moments.variance + 0.1)
    assert np.mean(score**2) == pytest.approx(1.0, abs=0.12)
    assert np.mean(np.abs(score) < 1.96) == pytest.approx(0.95, abs=0.02)
