import numpy as np
import pytest

from flgp.terms.local.dissection import dissect
from flgp.terms.local.euclidean import LocalModel
from flgp.terms.local.multifrontal import assemble, factorize, selected_inverse
from flgp.terms.local.neighborhoods import coarse_to_fine, previous_neighborhoods
from flgp.terms.local.vecchia import vecchia_factor


def problem(rng, m, p, k):
    """Fronts, prior and curvatures; the dense I - B and precision."""
    points = rng.random((m, p))
    near = previous_neighborhoods(points, k, coarse_to_fine(points, rng))
    prior, _ = vecchia_factor(near, LocalModel("matern12", 0.2, 1.3, 0.0), np.ones(m))
    W = np.where(rng.random(m) < 0.3, 0.0, rng.exponential(2.0, m))
    white = prior.matrix.toarray()
    return (
        dissect(points, near),
        prior,
        W,
        np.sqrt(prior.variances)[:, None] * white,
        white.T @ white + np.diag(W),
    )


@pytest.mark.parametrize(
    ("m", "p", "k"), [(1, 1, 3), (3, 2, 5), (64, 2, 5), (65, 2, 64), (600, 1, 5), (600, 2, 10), (400, 8, 10)]
)
def test_against_dense_matrices(rng, m, p, k):
    fronts, prior, W, conditional, R = problem(rng, m, p, k)
    factor = factorize(fronts, assemble(fronts, prior), W)
    assert factor.log_determinant == pytest.approx(np.linalg.slogdet(R)[1], abs=1e-8)
    right = rng.standard_normal((m, 4))
    inverse = np.linalg.inv(R)
    np.testing.assert_allclose(factor.solve(right), inverse @ right, atol=1e-8)
    half = factor.solve_half(right)
    np.testing.assert_allclose(half.T @ half, right.T @ inverse @ right, rtol=1e-8, atol=1e-8)
    diagonal, products = selected_inverse(factor, fronts, prior)
    np.testing.assert_allclose(diagonal, np.diag(inverse), atol=1e-9)
    expected = conditional @ inverse
    np.testing.assert_allclose(products[:, 0], np.diag(expected), atol=1e-9)
    expected = np.take_along_axis(expected, prior.near.neighbors, axis=1)
    np.testing.assert_allclose(products[:, 1:], expected, atol=1e-9)


def test_right_hand_sides_with_few_entries(rng):
    fronts, prior, W, _, R = problem(rng, 600, 2, 8)
    factor = factorize(fronts, assemble(fronts, prior), W)
    right = np.zeros((600, 5))
    right[[3, 500, 41], [0, 1, 1]] = 1.0, 2.0, -1.0  # and columns of zeros
    half = factor.solve_half(right)
    np.testing.assert_allclose(half.T @ half, right.T @ np.linalg.solve(R, right), atol=1e-10)
    assert np.all(right[[3, 500]] == [[1, 0, 0, 0, 0], [0, 2, 0, 0, 0]])  # not overwritten
