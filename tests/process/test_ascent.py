import numpy as np
import pytest

from flgp.process.ascent import ascend


@pytest.mark.parametrize("first_step", [np.inf, 1.0, 0.3])
def test_the_first_step_is_no_longer_than_said(first_step):
    """A slope of 40 at the start, and bounds on all sides: without a limit the search begins in a corner."""
    seen = []

    def hill(x):
        seen.append(x.copy())
        return -20.0 * float((x - 1.0) @ (x - 1.0)), -40.0 * (x - 1.0)

    found = ascend(hill, np.zeros(2), [(-50.0, 50.0), (0.0, 0.0)], gtol=1e-6, first_step=first_step)
    assert abs(seen[1][0]) == pytest.approx(min(first_step, 40.0))
    np.testing.assert_allclose(found.x, [1.0, 0.0], atol=1e-6)
    assert found.fun == pytest.approx(20.0)
    assert len({tuple(x) for x in seen}) == len(seen)  # nothing is asked twice


def test_bounds_that_leave_nothing_to_search():
    """SciPy has an answer of another kind for these, which raised an AttributeError."""
    found = ascend(lambda x: (-float(x @ x), -2.0 * x), np.ones(2), [(1.0, 1.0), (1.0, 1.0)], first_step=1.0)
    np.testing.assert_array_equal(found.x, [1.0, 1.0])
    assert found.fun == 2.0
    np.testing.assert_array_equal(found.jac, [2.0, 2.0])
    assert found.success
