"""The factor of a precision whose positive definiteness rounding hides."""

import numpy as np
import pytest

from flgp._linalg import safe_cholesky


def _symmetric(eigenvalues):
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((len(eigenvalues), len(eigenvalues))))[0]
    return (Q * eigenvalues) @ Q.T


def test_a_plain_matrix_is_factorised_as_it_is():
    H = _symmetric(np.array([1.0, 2.0, 30.0]))
    L = safe_cholesky(H)
    np.testing.assert_allclose(L @ L.T, H, rtol=1e-14)


@pytest.mark.parametrize("lowest", [-1e-15, -1e-11, -1e-8])
def test_what_rounding_hides_is_restored_by_as_little_as_needed(lowest):
    H = _symmetric(np.array([lowest, 1e-3, 1.0, 1.0]))
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(H)
    L = safe_cholesky(H)
    added = L @ L.T - H
    np.testing.assert_allclose(added, added[0, 0] * np.eye(4), atol=2e-15)
    assert -lowest - 1e-15 <= added[0, 0] <= max(-20 * lowest, 1e-13)


@pytest.mark.parametrize("other", [1.0, np.inf])
def test_what_is_not_positive_definite_at_all_is_refused(other):
    with pytest.raises(np.linalg.LinAlgError):
        safe_cholesky(np.diag([-1.0, other]))
