"""The spiral of Figure 1 of the paper, with several sampling distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from .._typing import Array
from .._words import check_choice
from .exact import Measure, interval_heat_kernel, spiral_arc_length
from .points import RandomState, RegressionData, check_count, draw_noise, streams

SpiralSampling = Literal["grid", "uniform", "blocks", "sine"]

N_TURNS = 4
SPIRAL_END = 2 * np.pi * N_TURNS
_LAWS = ("grid", "uniform", "blocks", "sine")
_TURN_MASS = np.array([9, 1, 9, 1]) / 20  # "blocks"


@dataclass(frozen=True)
class SpiralData(RegressionData):
    """Points on the spiral; X has shape (n, 2)."""

    theta: Array  # (n,) angle
    arc: Array  # (n,) arc length from θ = 0

    def distances_from(self, row: int) -> Array:
        """Geodesic distances (arc lengths) from one row to all, shape (n,)."""
        return np.abs(self.arc - self.arc[row])

    def heat_kernel_from(self, row: int, t: float, *, measure: Measure = "volume") -> Array:
        """Exact heat kernel (reflecting ends) between one row and all, shape (n,)."""
        length = float(spiral_arc_length(SPIRAL_END))
        return interval_heat_kernel(self.arc, self.arc[row], t, length=length, measure=measure)


def spiral(
    n: int = 4000,
    *,
    sampling: SpiralSampling = "grid",
    noise_sd: float = 0.5,
    random_state: RandomState = None,
) -> SpiralData:
    """Spiral x = (θ+4)^0.7 (cos θ, sin θ) with f = 3 sin(θ/10) + 3 cos(θ/2) + 4 sin(4θ/5).

    Parameters
    ----------
    n : int
        Number of points.
    sampling : {"grid", "uniform", "blocks", "sine"}
        Distribution of θ on [0, 8π]. "grid": equally spaced, ends included; "uniform": independent and
        uniform; "blocks": mass 9/20, 1/20, 9/20, 1/20 on the four turns; "sine": density ∝ `|sin(θ/2)|`, so
        that each turn is dense in its middle and empty at its ends.
    noise_sd : float
        Standard deviation of the noise.
    random_state : int, Generator, SeedSequence or None
        Seed.

    Returns
    -------
    SpiralData

    Examples
    --------
    >>> from flgp.datasets import spiral
    >>> data = spiral(100, noise_sd=0.0)
    >>> bool((data.y == data.f).all())
    True
    """
    check_choice("sampling", sampling, _LAWS)
    place, noise = streams(random_state, 2)
    theta = _draw_angles(check_count(n), sampling, place)
    X = (theta + 4)[:, None] ** 0.7 * np.column_stack([np.cos(theta), np.sin(theta)])
    f = 3 * np.sin(theta / 10) + 3 * np.cos(theta / 2) + 4 * np.sin(4 * theta / 5)
    return SpiralData(X, f, draw_noise(n, noise_sd, noise), theta, spiral_arc_length(theta))


def spiral_density(theta: npt.ArrayLike, sampling: SpiralSampling) -> Array:
    """Density of θ on [0, 8π] under a sampling distribution; 0 outside."""
    check_choice("sampling", sampling, _LAWS)
    theta = np.asarray(theta, dtype=float)
    if sampling == "blocks":
        turn = np.clip(theta // (2 * np.pi), 0, N_TURNS - 1).astype(int)
        density = _TURN_MASS[turn] / (2 * np.pi)
    elif sampling == "sine":
        density = np.abs(np.sin(theta / 2)) / (4 * N_TURNS)
    else:
        density = np.full(theta.shape, 1 / SPIRAL_END)
    return np.where((theta >= 0) & (theta <= SPIRAL_END), density, 0.0)


def _draw_angles(n: int, sampling: SpiralSampling, rng: np.random.Generator) -> Array:
    if sampling == "grid":
        return np.linspace(0, SPIRAL_END, n)
    if sampling == "uniform":
        return rng.uniform(0, SPIRAL_END, n)
    if sampling == "blocks":
        turn = rng.choice(N_TURNS, size=n, p=_TURN_MASS)
        return 2 * np.pi * (turn + rng.uniform(size=n))
    # Inverse of the distribution function (1 - cos(u/2))/2 of the angle u within a turn.
    within = 2 * np.arccos(1 - 2 * rng.uniform(size=n))
    return 2 * np.pi * rng.integers(N_TURNS, size=n) + within
