"""Random rows whose choice and order depend on what the rows hold, not on where they stand.

Every row gets a key, a hash of its numbers under random coefficients; the rows with the smallest keys are the
sample, in the order of their keys. The same rows in another order give the same sample, bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._typing import Array, IntArray, RowLike
from .blocks import row_blocks, take_rows

Words = NDArray[np.uint64]

# Constants of Steele, Lea & Flood's SplitMix64 (2014), which turn any pattern of numbers into none.
_MIXERS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_HALF = np.uint64(32)
# Columns that are hashed at a time, so that temporaries stay in the cache.
_COLUMNS = 64


def random_rows(X: RowLike, count: int, rng: np.random.Generator) -> Array:
    """`count` rows (all if there are fewer) of X (n, p), without replacement."""
    chosen = random_order(X, count, rng)
    if isinstance(X, np.ndarray):
        return X[chosen]
    forwards = np.sort(chosen)  # so that files are read forwards
    return take_rows(X, forwards)[np.searchsorted(forwards, chosen)]


def random_order(X: RowLike, count: int, rng: np.random.Generator) -> IntArray:
    """Which rows those are. Equal rows have equal keys, so it does not matter which of them is taken."""
    coefficients = rng.integers(2**64, size=1 + X.shape[1], dtype=np.uint64)
    return row_blocks(X).reduce(_KeysOf(coefficients, count), _merged).smallest().in_order()


@dataclass(frozen=True)
class _Keys:
    """At least the smallest keys of some blocks, and where their rows stand among the `n` rows of these."""

    key: Words  # (k,)
    row: IntArray  # (k,)
    n: int
    count: int  # how many are wanted in the end

    def smallest(self) -> _Keys:
        """No more than are wanted."""
        if len(self.key) <= self.count:
            return self
        kept = np.argpartition(self.key, self.count - 1)[: self.count]
        return replace(self, key=self.key[kept], row=self.row[kept])

    def in_order(self) -> IntArray:
        """The rows in the order of their keys; where these are equal, as they stand."""
        return self.row[np.lexsort([self.row, self.key])]


@dataclass(frozen=True)
class _KeysOf:
    """The keys of a block."""

    coefficients: Words  # (1 + p,)
    count: int

    def __call__(self, block: Array) -> _Keys:
        found = _Keys(keys(block, self.coefficients), np.arange(len(block)), len(block), self.count)
        return found.smallest()


def _merged(first: _Keys, second: _Keys) -> _Keys:
    key = np.concatenate([first.key, second.key])
    row = np.concatenate([first.row, second.row + first.n])
    both = _Keys(key, row, first.n + second.n, first.count)
    return both.smallest() if len(key) > 2 * both.count else both


def keys(block: Array, coefficients: Words) -> Words:
    """Hashes (b,) of rows (b, p): sums of products modulo 2^64, the same in any dtype.

    The first of the coefficients (1 + p,) is added, so that rows of zeros have no key of their own.
    """
    total = np.full(len(block), coefficients[0])
    odd = coefficients[1:] | np.uint64(1)
    for start in range(0, len(odd), _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        values = np.ascontiguousarray(block[:, columns], dtype=np.float64) + 0.0  # -0.0 is 0.0
        bits = values.view(np.uint64)
        # Round numbers differ in their first bits only, and products would move these out of the word.
        bits ^= bits >> _HALF
        total += bits @ odd[columns]
    total = (total ^ (total >> _SHIFTS[0])) * _MIXERS[0]
    total = (total ^ (total >> _SHIFTS[1])) * _MIXERS[1]
    return total ^ (total >> _SHIFTS[2])
