import numpy as np
import pytest
from scipy.spatial.distance import cdist

from flgp._threads import threads
from flgp.terms.local.euclidean import JITTER, KERNEL_NAMES, LocalModel
from flgp.terms.local.neighborhoods import coarse_to_fine, previous_neighborhoods
from flgp.terms.local.vecchia import vecchia_factor


def dense(points, local, scale):
    K = local.covariance(cdist(points, points))
    return K + np.diag(local.noise_variance * scale + JITTER * local.variance)


@pytest.fixture
def problem(rng):
    points, scale = rng.random((90, 2)), rng.uniform(0.5, 2.0, 90)
    return points, scale, rng.permutation(90)


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
@pytest.mark.parametrize("k", [89, 500])
def test_all_neighbors_give_the_dense_covariance(problem, kernel, k):
    points, scale, order = problem
    local = LocalModel(kernel, 0.3, 1.7, 0.05)
    factor, _ = vecchia_factor(previous_neighborhoods(points, k, order), local, scale)
    S = dense(points, local, scale)
    W = factor.matrix.toarray()
    np.testing.assert_allclose(W.T @ W @ S, np.eye(90), atol=1e-9)
    assert factor.log_determinant == pytest.approx(np.linalg.slogdet(S)[1], abs=1e-9)


def test_rows_are_the_conditionals_on_the_neighbors(problem):
    points, scale, order = problem
    local = LocalModel("matern32", 0.3, 1.7, 0.05)
    near = previous_neighborhoods(points, 6, order)
    factor, _ = vecchia_factor(near, local, scale)
    S = dense(points, local, scale)
    for i in order[6:]:
        N = near.neighbors[i]
        b = np.linalg.solve(S[np.ix_(N, N)], S[N, i])
        np.testing.assert_allclose(factor.coefficients[i], b, atol=1e-10)
        assert factor.variances[i] == pytest.approx(S[i, i] - b @ S[N, i], abs=1e-10)


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_slopes_are_derivatives(problem, kernel):
    points, scale, order = problem
    near, h = previous_neighborhoods(points, 7, order), 1e-5

    def at(log_length=0.0, log_variance=0.0, log_noise=0.0, log_shape=0.0):
        values = np.exp([log_length, log_variance, log_noise, log_shape]) * (0.3, 1.7, 0.1, 0.5)
        return vecchia_factor(near, LocalModel(kernel, *values), scale)

    factor, slopes = at()
    for index, name in enumerate(("log_length", "log_noise", "log_shape")[: len(slopes.variances)]):
        up, down = at(**{name: h})[0], at(**{name: -h})[0]
        numeric = (up.coefficients - down.coefficients) / (2 * h)
        np.testing.assert_allclose(slopes.coefficients[index], numeric, atol=1e-7)
        np.testing.assert_allclose(
            slopes.variances[index], (up.variances - down.variances) / (2 * h), atol=1e-7
        )
    up, down = at(log_variance=h)[0], at(log_variance=-h)[0]
    numeric = (up.coefficients - down.coefficients) / (2 * h)
    np.testing.assert_allclose(-slopes.coefficients[1], numeric, atol=1e-7)
    numeric = (up.variances - down.variances) / (2 * h)
    np.testing.assert_allclose(factor.variances - slopes.variances[1], numeric, atol=1e-7)


def test_more_neighbors_bring_it_closer_to_the_dense_model(rng):
    points = rng.random((400, 2))
    local = LocalModel("matern32", 0.2, 1.0, 0.02)
    order = coarse_to_fine(points, rng)
    exact = np.linalg.slogdet(dense(points, local, np.ones(400)))[1]
    divergence = []
    for k in (5, 15, 30):
        factor, _ = vecchia_factor(previous_neighborhoods(points, k, order), local, np.ones(400))
        divergence.append(0.5 * (factor.log_determinant - exact))
    assert np.all(np.diff(divergence) < 0)
    assert 0 <= divergence[-1] < 0.5


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_duplicates_without_noise_stay_positive(rng, kernel):
    points = np.repeat(rng.random((30, 2)), 3, axis=0)
    near = previous_neighborhoods(points, 12, rng.permutation(90))
    for length in (1e-3, 0.3, 1e3):
        factor, slopes = vecchia_factor(near, LocalModel(kernel, length, 2.0, 0.0), np.ones(90))
        assert np.all(factor.variances > 0)
        assert np.isfinite(factor.coefficients).all()
        assert np.isfinite(slopes.coefficients).all()


def test_threads_do_not_change_a_bit(rng):
    near = previous_neighborhoods(rng.random((1500, 3)), 25, rng.permutation(1500))
    local = LocalModel("matern52", 0.3, 1.0, 0.1)
    one, _ = vecchia_factor(near, local, np.ones(1500))
    with threads(2):
        two, _ = vecchia_factor(near, local, np.ones(1500))
    np.testing.assert_array_equal(one.coefficients, two.coefficients)
    np.testing.assert_array_equal(one.variances, two.variances)
