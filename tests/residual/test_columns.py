import numpy as np
import pytest

from flgp.residual.columns import choose_columns


def test_all_columns_by_default(rng):
    X = rng.random((5, 3))
    np.testing.assert_array_equal(choose_columns(None, 3).of(X), X)


def test_positions_names_and_factors(rng):
    X = rng.random((5, 3)).astype(np.float32)
    np.testing.assert_array_equal(choose_columns([2, 0], 3).of(X), X[:, [2, 0]])
    np.testing.assert_array_equal(choose_columns("b", 3, ["a", "b", "c"]).of(X), X[:, [1]])
    scaled = choose_columns({"c": 3.0, "a": 0.5}, 3, ["a", "b", "c"]).of(X)
    np.testing.assert_array_equal(scaled, X[:, [2, 0]].astype(float) * [3.0, 0.5])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([3], "has 3, but X has the columns 0 to 2"),
        ([-1], "has -1"),
        ([1.5], "has 1.5"),
        ([True], "has True"),
        (["d"], "'d', which is not a column"),
        ([], "at least one column"),
        ([0, 0], "none twice"),
        ([0, "a"], "none twice"),
        ({0: 0.0}, "positive"),
        ({0: np.inf}, "positive"),
    ],
)
def test_bad_columns(given, message):
    with pytest.raises(ValueError, match=message):
        choose_columns(given, 3, ["a", "b", "c"])
    if isinstance(given, list) and given == ["d"]:
        with pytest.raises(ValueError, match="no column names"):
            choose_columns(given, 3)
