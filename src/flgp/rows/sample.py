"""Random rows whose choice and order depend on what the rows hold, not on where they stand.

Every row gets a key, a hash of its numbers under random coefficients; the rows with the smallest keys are the
sample, in the order of their keys. The same rows in another order give the same sample, bit by bit. Numbers
count by where they lie in the range of their column, so another unit of a column gives the same sample, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from .._typing import Array, IntArray, RowLike
from .blocks import row_blocks, take_rows

Words = NDArray[np.uint64]

# Constants of Steele, Lea & Flood's SplitMix64 (2014), which leave no pattern in the numbers.
_MIXERS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_HALF = np.uint64(32)
_LARGEST = np.uint64(2**64 - 1)
# Cells of a column's range: few numbers change their cell when a change of unit rounds them.
_CELLS = 2.0**24
# Numbers that are hashed at a time, so that temporaries stay in the cache.
_NUMBERS = 32_768
# From this many columns on, they are reduced together.
_NARROW = 12


def random_rows(X: RowLike, count: int, rng: np.random.Generator) -> Array:
    """`count` rows (all if there are fewer) of X (n, p), without replacement."""
    chosen = random_order(X, count, rng)
    if isinstance(X, np.ndarray):
        return X[chosen]
    forwards = np.sort(chosen)  # so that files are read forwards
    return take_rows(X, forwards)[np.searchsorted(forwards, chosen)]


@dataclass(frozen=True, eq=False)
class Sample:
    """Random rows of X, chosen once: a smaller sample is the beginning of a larger one."""

    X: RowLike
    most: int

    def first(self, count: int) -> Array:
        """The first `count` of them, at most `most`; fewer if X has fewer."""
        return self._rows[:count]

    @cached_property
    def _rows(self) -> Array:
        return random_rows(self.X, self.most, np.random.default_rng(0))


def random_order(X: RowLike, count: int, rng: np.random.Generator) -> IntArray:
    """The numbers of those rows. Equal rows have equal keys, so it does not matter which one is taken."""
    coefficients = rng.integers(2**64, size=1 + X.shape[1], dtype=np.uint64)
    blocks = row_blocks(X)
    ends = blocks.reduce(_ends, _wider)
    # Keys are spread evenly unless few rows are distinct: nearly always enough of them are below the limit.
    likely = (count + 10.0 * np.sqrt(count) + 100.0) / max(X.shape[0], 1)
    for share in (likely, 1.0):
        limit = _LARGEST if share >= 0.5 else np.uint64(share * 2.0**64)
        found: _Keys = blocks.reduce(partial(_keys_of, coefficients, ends, count, limit), _merged)
        if len(found.key) >= count or limit == _LARGEST:
            break
    return found.smallest().in_order()


def _ends(block: Array) -> tuple[Array, Array]:
    """Smallest and largest number of each column; of no rows, none."""
    if len(block) == 0:
        return np.full(block.shape[1], np.inf), np.full(block.shape[1], -np.inf)
    if block.shape[1] < _NARROW:  # column by column: along an axis of 2 NumPy takes thirty times as long
        low, high = ([end(column) for column in block.T] for end in (np.min, np.max))
    else:
        low, high = block.min(axis=0), block.max(axis=0)
    return np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)


def _wider(first: tuple[Array, Array], second: tuple[Array, Array]) -> tuple[Array, Array]:
    return np.minimum(first[0], second[0]), np.maximum(first[1], second[1])


@dataclass(frozen=True)
class _Keys:
    """Keys of rows in some blocks, the smallest included, and where these rows are among the `n` rows."""

    key: Words  # (k,)
    exact: Words  # (k,) keys of the numbers themselves, for rows that differ by less than a cell
    row: IntArray  # (k,)
    n: int
    count: int  # how many are wanted in the end

    def smallest(self) -> _Keys:
        """At most `count` of them."""
        kept = _smallest(self.key, self.count)
        return replace(self, key=self.key[kept], exact=self.exact[kept], row=self.row[kept])

    def in_order(self) -> IntArray:
        """The rows in the order of their keys; equal rows as they stand."""
        return self.row[np.lexsort([self.row, self.exact, self.key])]


def _keys_of(
    coefficients: Words, ends: tuple[Array, Array], count: int, limit: np.uint64, block: Array
) -> _Keys:
    """Those of a block that are below a limit."""
    key = keys(block, coefficients, ends)
    row = _smallest(key, count) if limit == _LARGEST else np.flatnonzero(key <= limit)
    return _Keys(key[row], keys(block[row], coefficients), row, len(block), count)


def _smallest(key: Words, count: int) -> IntArray:
    """The positions of at most `count` of the smallest keys."""
    if len(key) <= count:
        return np.arange(len(key))
    return np.argpartition(key, count - 1)[:count]


def _merged(first: _Keys, second: _Keys) -> _Keys:
    key = np.concatenate([first.key, second.key])
    exact = np.concatenate([first.exact, second.exact])
    row = np.concatenate([first.row, second.row + first.n])
    both = _Keys(key, exact, row, first.n + second.n, first.count)
    return both.smallest() if len(key) > 2 * both.count else both


def keys(block: Array, coefficients: Words, ends: tuple[Array, Array] | None = None) -> Words:
    """Hashes (b,) of rows (b, p): sums of products modulo 2^64, the same in any dtype.

    The first of the coefficients (1 + p,) is added, so that the key of a row of zeros is random too. With the
    `ends` (p,) of the columns, a number is replaced by the number of its cell, one of `_CELLS` in the range.
    """
    total = np.full(len(block), coefficients[0])
    odd = coefficients[1:] | np.uint64(1)
    if ends is not None:
        # Halves, because the range itself may be too large.
        low, high = 0.5 * ends[0], 0.5 * ends[1]
        width = np.where(high > low, high - low, 1.0)
    step = max(_NUMBERS // max(len(odd), 1), 1)
    for start in range(0, len(block), step):
        rows = slice(start, start + step)
        values = np.array(block[rows], dtype=np.float64, order="C")
        if ends is None:
            values += 0.0  # -0.0 is 0.0
        else:
            values *= 0.5
            values -= low
            values /= width
            values *= _CELLS
            np.rint(values, out=values)
            values += 0.0
        bits = values.view(np.uint64)
        # Round numbers differ in their first bits only, and products would move these out of the word.
        bits ^= bits >> _HALF
        total[rows] += np.einsum("ij,j->i", bits, odd)
    total = (total ^ (total >> _SHIFTS[0])) * _MIXERS[0]
    total = (total ^ (total >> _SHIFTS[1])) * _MIXERS[1]
    return total ^ (total >> _SHIFTS[2])
