"""Shared by the simulated data sets on manifolds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._typing import Array

Sampling = Literal["uniform", "grid"]
RandomState = int | np.random.Generator | np.random.SeedSequence | None


@dataclass(frozen=True)
class RegressionData:
    """Points with a known function on them."""

    X: Array  # (n, p) points
    f: Array  # (n,) the function without noise
    noise: Array  # (n,) the noise of the observations

    @property
    def y(self) -> Array:
        """Noisy observations f + noise, shape (n,)."""
        return self.f + self.noise


def streams(random_state: RandomState, count: int) -> list[np.random.Generator]:
    """Independent generators, so that, for example, a change of the noise does not move the points."""
    return np.random.default_rng(random_state).spawn(count)


def check_count(n: int) -> int:
    """The number of points; raises a ValueError if it is not a positive integer."""
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
        raise ValueError(f"n={n!r} must be a positive integer: the number of points.")
    return int(n)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise a ValueError that lists the choices."""
    if value not in choices:
        raise ValueError(f"Unknown {name}={value!r}. Use one of {', '.join(map(repr, choices))}.")


def draw_noise(n: int, sd: float, rng: np.random.Generator) -> Array:
    """Gaussian noise of shape (n,)."""
    if not sd >= 0:
        raise ValueError(f"noise_sd={sd!r} must not be negative.")
    return sd * rng.standard_normal(n)
