"""Columns on one scale, heavy tails drawn in."""

import numpy as np
import pytest
from scipy.stats import kurtosis

from flgp.rows.blocks import StackedRows
from flgp.rows.even import EvenColumns, common_scale, summarize


def table(n=2000):
    rng = np.random.default_rng(0)
    amount = np.where(rng.random(n) < 0.6, 0.0, rng.lognormal(0.0, 1.5, n))
    heavy, light, rare = rng.lognormal(2.0, 1.5, n), 30.0 + 5.0 * rng.standard_normal(n), rng.random(n) < 0.05
    return np.column_stack([heavy, light, rare.astype(float), amount, np.full(n, 7.0)])


def test_light_tails_are_shifted_and_scaled_only():
    X = table()[:, [1, 2]]
    summary = summarize(X, np.arange(2))
    even = EvenColumns.of(X, X)
    assert (even.unit == 0).all()
    np.testing.assert_allclose(even(X), (X - summary.mean) * common_scale(summary), rtol=1e-10, atol=1e-12)


def test_heavy_tails_are_drawn_in_and_keep_their_order():
    X = table()
    Z = EvenColumns.of(X, X)(X)
    assert kurtosis(Z[:, 0]) < 1.0
    for j in (0, 3):
        assert kurtosis(Z[:, j]) < 0.2 * kurtosis(X[:, j])
        order = np.argsort(X[:, j], kind="stable")
        assert (np.diff(Z[order, j]) >= 0).all()
    assert (Z[:, 4] == 0).all()


def test_the_inverse_gives_the_columns_back():
    X = table()
    even = EvenColumns.of(X, X)
    np.testing.assert_allclose(even.inverse(even(X)), X, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("unit", "offset"), [(1e9, 0.0), (1e-9, 0.0), (1.0, 1e6)])
def test_units_and_offsets_do_not_matter(unit, offset):
    X = table()[:, :2]
    moved = unit * X + offset
    np.testing.assert_allclose(EvenColumns.of(moved, moved)(moved), EvenColumns.of(X, X)(X), atol=1e-5)


def test_rows_in_parts_are_as_the_whole():
    X = table()
    whole, parts = EvenColumns.of(X, X), EvenColumns.of(StackedRows(X[:700], X[700:]), X)
    for name in ("center", "unit", "scale"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-12)


def test_rows_far_away_stay_finite():
    X = table()
    far = EvenColumns.of(X, X)(np.full((1, X.shape[1]), 1e200))
    assert np.isfinite(far).all()


def test_columns_alike_are_left_alone_in_distance():
    X = np.random.default_rng(1).standard_normal((500, 3))
    assert not EvenColumns.of(X, X).changes_distances
    assert EvenColumns.of(X * [1.0, 5.0, 1.0], X * [1.0, 5.0, 1.0]).changes_distances
