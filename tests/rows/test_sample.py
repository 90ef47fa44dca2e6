"""Random rows whose choice depends on what they hold, not on where they stand."""

from __future__ import annotations

import numpy as np
import pytest

from flgp.rows.blocks import StackedRows
from flgp.rows.sample import keys, random_order, random_rows


def sampled(X, count=40, seed=0):
    return random_rows(X, count, np.random.default_rng(seed))


@pytest.mark.parametrize("count", [1, 40, 300, 1000])
def test_another_order_of_the_rows_gives_the_same_sample(count):
    X = np.random.default_rng(1).standard_normal((300, 3))
    X[100:120] = X[:20]  # some rows twice
    expected = sampled(X, count)
    assert expected.shape == (min(count, 300), 3)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(300)
        assert np.array_equal(sampled(X[order], count), expected)


def test_blocks_holders_and_dtypes_do_not_matter():
    X = np.random.default_rng(1).integers(-2, 3, (90_000, 2)).astype(np.float32)
    X[:, 1] += np.arange(90_000) / 8
    X[X == 0] = 0.0
    expected = sampled(X)
    negative = np.where(X == 0, -0.0, X)
    for other in (X.astype(float), np.asfortranarray(X), negative, StackedRows(X[:50_000], X[50_000:])):
        assert np.array_equal(sampled(other), expected)
    assert not np.array_equal(sampled(X, seed=1), expected)


def test_rows_are_drawn_without_replacement_and_alike():
    X = np.arange(50.0)[:, None]
    counts = np.zeros(50)
    for seed in range(2000):
        chosen = random_order(X, 10, np.random.default_rng(seed))
        assert len(np.unique(chosen)) == 10
        counts[chosen] += 1
    # Binomial counts with mean 400 and standard deviation 18.
    assert np.abs(counts - 400).max() < 4.5 * 18
    first = [random_order(X, 10, np.random.default_rng(seed))[0] for seed in range(2000)]
    assert np.bincount(first, minlength=50).max() < 40 + 5 * np.sqrt(40)


def test_round_numbers_have_keys_of_their_own():
    """Powers of two differ in their first bits only."""
    powers = 2.0 ** np.arange(-40, 40)
    grid = np.stack(np.meshgrid(powers, powers), axis=-1).reshape(-1, 2)
    coefficients = np.random.default_rng(0).integers(2**64, size=3, dtype=np.uint64)
    assert len(np.unique(keys(grid, coefficients))) == len(grid)


def test_many_columns_are_hashed_together():
    X = np.random.default_rng(0).standard_normal((20, 150))
    coefficients = np.random.default_rng(0).integers(2**64, size=151, dtype=np.uint64)
    found = keys(X, coefficients)
    for column in (0, 63, 64, 149):
        changed = X.copy()
        changed[3, column] += 1.0
        assert (keys(changed, coefficients) != found).tolist() == [row == 3 for row in range(20)]


@pytest.mark.parametrize("unit", [1e-12, 0.3048, 1e3, 1e12, 1e-290, 1e290])
def test_another_unit_gives_the_same_sample(unit):
    X = np.random.default_rng(1).standard_normal((300, 3))
    expected = random_order(X, 40, np.random.default_rng(0))
    units = unit * np.array([1.0, 2.54, -1.0 / 3.0])[:2]
    scaled = np.column_stack([X[:, :2] * units, X[:, 2] + 100.0])
    assert np.array_equal(random_order(scaled, 40, np.random.default_rng(0)), expected)


def test_rows_that_are_closer_than_a_cell_keep_their_order():
    X = 1.0 + 1e-12 * np.random.default_rng(0).standard_normal((50, 2))
    X[0] = 1e6
    order = np.random.default_rng(1).permutation(50)
    assert np.array_equal(sampled(X[order], 50), sampled(X, 50))


def test_few_different_rows_among_many_fill_the_sample():
    """Keys of a hundred different rows are not even: too few rows may be below the first limit."""
    X = np.random.default_rng(0).integers(0, 100, (40_000, 1)).astype(float)
    for seed in range(20):
        chosen = random_order(X, 50, np.random.default_rng(seed))
        assert len(np.unique(chosen)) == 50
        coefficients = np.random.default_rng(seed).integers(2**64, size=2, dtype=np.uint64)
        hashed = keys(X, coefficients, (X.min(axis=0), X.max(axis=0)))
        assert hashed[chosen].tolist() == np.sort(hashed)[:50].tolist()
