"""Sets that are simulated: X and y from a seed."""

from __future__ import annotations

import numpy as np
from sklearn import datasets as sk

from ..._typing import Array, IntArray
from ...datasets import circles, folded_sheet, spiral, swiss_roll

Table = tuple[Array, Array | IntArray]
ROWS = 3_000


def six_circles(seed: int) -> Table:
    """Six concentric circles."""
    data = circles(ROWS, random_state=seed)
    return data.X, np.asarray(data.y)


def moons(seed: int) -> Table:
    """Two half-moons with noise."""
    return sk.make_moons(2_000, noise=0.15, random_state=seed)


def gaussians(seed: int) -> Table:
    """Two overlapping Gaussians in 241 columns; the best possible error is 11 %."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 1_500)
    direction = rng.standard_normal(241)
    shift = 1.23 * direction / np.linalg.norm(direction)
    return rng.standard_normal((1_500, 241)) + np.where(y == 1, 1.0, -1.0)[:, None] * shift, y


def striped_roll(seed: int) -> Table:
    """The sign of the function on the Swiss roll: six stripes, tilted by the height."""
    data = swiss_roll(ROWS, random_state=seed)
    return data.X, (data.f > 0).astype(int)


def friedman(seed: int) -> Table:
    """Friedman's first function: five columns matter, five do not."""
    return sk.make_friedman1(1_000, noise=1.0, random_state=seed)


def noisy_spiral(seed: int) -> Table:
    """A function on a spiral."""
    data = spiral(2_000, random_state=seed)
    return data.X, data.y


def noisy_sheet(seed: int) -> Table:
    """A function on a folded sheet."""
    data = folded_sheet(ROWS, random_state=seed)
    return data.X, data.y
