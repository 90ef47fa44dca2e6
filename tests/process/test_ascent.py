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
