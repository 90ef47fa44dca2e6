import numpy as np

from flgp.terms.local.batched import cholesky, solve_lower, solve_upper


def test_factor_and_solves_match_numpy(rng):
    k, b = 7, 11
    X = rng.standard_normal((b, k, k))
    A = X @ X.transpose(0, 2, 1) + np.eye(k)
    right = rng.standard_normal((b, k, 2))
    L = cholesky(np.moveaxis(A, 0, -1).copy())
    np.testing.assert_allclose(np.tril(np.moveaxis(L, -1, 0)), np.linalg.cholesky(A), atol=1e-12)
    solved = solve_upper(L, solve_lower(L, right.transpose(1, 2, 0).copy()))
    np.testing.assert_allclose(solved.transpose(2, 0, 1), np.linalg.solve(A, right), atol=1e-10)


def test_only_the_lower_triangle_is_read(rng):
    A = np.full((3, 3, 2), np.nan)
    dense = np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
    A[np.tril_indices(3)] = dense[np.tril_indices(3)][:, None]
    L = cholesky(A)
    np.testing.assert_allclose(np.tril(L[:, :, 1]), np.linalg.cholesky(dense))
    one = solve_upper(L, solve_lower(L, np.ones((3, 2))))
    np.testing.assert_allclose(one[:, 0], np.linalg.solve(dense, np.ones(3)))
