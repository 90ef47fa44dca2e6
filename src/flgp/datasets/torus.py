"""The flat torus in four dimensions and the ring torus in three."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .._typing import Array
from .._words import check_choice
from .exact import Measure, torus_distance, torus_heat_kernel
from .points import RandomState, RegressionData, Sampling, check_count, draw_noise, streams

_PLASTIC = 1.32471795724474602596  # real root of x³ = x + 1: the golden ratio of two dimensions


@dataclass(frozen=True)
class TorusData(RegressionData):
    """Points on a torus; X has shape (n, 4) (flat) or (n, 3) (ring)."""

    angles: Array  # (n, 2)
    radii: tuple[float, float]
    embedding: str

    def distances_from(self, row: int) -> Array:
        """Geodesic distances from one row to all, shape (n,); of the flat torus only."""
        self._need_flat()
        return torus_distance(self.angles, self.angles[row], radii=self.radii)

    def heat_kernel_from(self, row: int, t: float, *, measure: Measure = "volume") -> Array:
        """Exact heat kernel between one row and all, shape (n,); of the flat torus only."""
        self._need_flat()
        return torus_heat_kernel(self.angles, self.angles[row], t, radii=self.radii, measure=measure)

    def _need_flat(self) -> None:
        if self.embedding != "flat":
            raise ValueError("The ring torus has no closed form: use embedding='flat'.")


def torus(
    n: int = 6000,
    *,
    embedding: Literal["flat", "ring"] = "flat",
    sampling: Sampling = "uniform",
    radii: tuple[float, float] | None = None,
    noise_sd: float = 0.1,
    random_state: RandomState = None,
) -> TorusData:
    """Torus with points uniform by area and f = sin u + cos 2v + sin(u - v).

    Parameters
    ----------
    n : int
        Number of points.
    embedding : {"flat", "ring"}
        "flat": the product of two circles, in four dimensions; its geodesics and heat kernel are exact.
        "ring": the doughnut in three dimensions, radii[0] from the centre to the tube's axis.
    sampling : {"uniform", "grid"}
        Independent points, or a low-discrepancy lattice.
    radii : tuple of float, optional
        Default (1, 1) for "flat", (1, 0.4) for "ring".
    noise_sd : float
        Standard deviation of the noise.
    random_state : int, Generator, SeedSequence or None
        Seed.

    Returns
    -------
    TorusData

    Examples
    --------
    >>> from flgp.datasets import torus
    >>> torus(100, embedding="ring", random_state=0).X.shape
    (100, 3)
    """
    check_choice("embedding", embedding, ("flat", "ring"))
    check_choice("sampling", sampling, ("uniform", "grid"))
    n = check_count(n)
    large, small = radii or ((1.0, 1.0) if embedding == "flat" else (1.0, 0.4))
    if not (small > 0 and large > 0) or (embedding == "ring" and large <= small):
        raise ValueError(f"radii={radii!r} must be positive and, for a ring, decreasing.")
    place, noise = streams(random_state, 2)
    if sampling == "grid":
        share = np.arange(n)[:, None] * np.array([1 / _PLASTIC, 1 / _PLASTIC**2]) % 1.0
    else:
        share = place.uniform(size=(n, 2))
    u, v = 2 * np.pi * share.T
    if embedding == "flat":
        X = np.column_stack([large * np.cos(u), large * np.sin(u), small * np.cos(v), small * np.sin(v)])
    else:
        v = _tube_angle(v, small / large)
        from_axis = large + small * np.cos(v)
        X = np.column_stack([from_axis * np.cos(u), from_axis * np.sin(u), small * np.sin(v)])
    f = np.sin(u) + np.cos(2 * v) + np.sin(u - v)
    noise_column = draw_noise(n, noise_sd, noise)
    return TorusData(X, f, noise_column, np.column_stack([u, v]), (large, small), embedding)


def _tube_angle(area: Array, ratio: float) -> Array:
    """Solve v + ratio·sin v = area for v in [0, 2π]: the area of a ring torus is ∝ 1 + ratio·cos v."""
    low, high = np.zeros_like(area), np.full_like(area, 2 * np.pi)
    for _ in range(55):  # bisection to the last bit
        middle = (low + high) / 2
        above = middle + ratio * np.sin(middle) > area
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return (low + high) / 2
