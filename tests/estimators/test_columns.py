import numpy as np
import pytest

from flgp.estimators.columns import choose_roles, positions, scaled_columns
from flgp.estimators.locator import Locator
from flgp.geometry.point_cloud import PointCloud


def test_all_columns_by_default(rng):
    X = rng.random((40, 3))
    roles = choose_roles(PointCloud(n_anchors=5), 3, None)
    geometry = PointCloud(n_anchors=5).fit(X, rng)
    np.testing.assert_array_equal(roles.geometry_of(X), X)
    np.testing.assert_array_equal(Locator(geometry, roles).coordinates(X), X)


def test_positions_names_and_factors(rng):
    X = rng.random((5, 3)).astype(np.float32)
    np.testing.assert_array_equal(scaled_columns([2, 0], 3).of(X), X[:, [2, 0]])
    np.testing.assert_array_equal(scaled_columns("b", 3, ["a", "b", "c"]).of(X), X[:, [1]])
    scaled = scaled_columns({"c": 3.0, "a": 0.5}, 3, ["a", "b", "c"]).of(X)
    np.testing.assert_array_equal(scaled, X[:, [2, 0]].astype(float) * [3.0, 0.5])
    np.testing.assert_array_equal(positions("linear", ["c", 0], 3, ["a", "b", "c"]), [2, 0])
    np.testing.assert_array_equal(positions("groups", 1, 3), [1])


BAD = [
    ([3], "has 3, but X has the columns 0 to 2"),
    ([-1], "has -1"),
    ([1.5], "has 1.5"),
    ([True], "has True"),
    (["d"], "'d', which is not a column"),
    ([], "at least one column"),
    ([0, 0], "none twice"),
    ([0, "a"], "none twice"),
]


@pytest.mark.parametrize(("given", "message"), [*BAD, ({0: 0.0}, "positive"), ({0: np.inf}, "positive")])
def test_bad_columns(given, message):
    with pytest.raises(ValueError, match=f"residual_columns.*{message}"):
        scaled_columns(given, 3, ["a", "b", "c"])
    if isinstance(given, list) and given == ["d"]:
        with pytest.raises(ValueError, match="no column names"):
            scaled_columns(given, 3)


@pytest.mark.parametrize(("given", "message"), [*BAD, (2.5, "by position or name")])
def test_bad_columns_are_reported_by_argument(given, message):
    with pytest.raises(ValueError, match=f"linear.*{message}"):
        positions("linear", given, 3, ["a", "b", "c"])
