"""A long sheet folded into layers: long-range signal along it, short-range signal in space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .._typing import Array
from .._words import check_choice
from .points import RandomState, SheetData, check_count, draw_noise, streams

_N_FREQUENCIES = 2048
_BLOCK = 4096


@dataclass(frozen=True)
class FoldedSheetData(SheetData):
    """Points on the folded sheet, with f = long_range + short_range."""

    long_range: Array  # (n,)
    short_range: Array  # (n,)

    @property
    def width(self) -> Array:
        """Coordinate across the sheet (y), shape (n,)."""
        return self.coordinates[:, 1]


def folded_sheet(
    n: int = 20_000,
    *,
    length: float = 12.0,
    width: float = 1.0,
    n_layers: int = 12,
    gap: float = 0.08,
    jitter: float = 0.005,
    length_scale: float = 0.04,
    short_range_variance: float = 0.25,
    short_range_metric: Literal["space", "sheet"] = "space",
    noise_sd: float = 0.2,
    random_state: RandomState = None,
) -> FoldedSheetData:
    """Uniform points on a sheet folded like a serpentine in x-z, with a signal of two ranges and noise.

    The layers are flat and joined by half circles of diameter `gap`, so the sheet is smooth and is not
    stretched anywhere: its geodesics are those of the flat rectangle. The long-range signal is
    2 sin(2π·arc/6) + cos(4πy).

    Parameters
    ----------
    n : int
        Number of points.
    length, width : float
        Sides of the sheet.
    n_layers : int
        Number of layers.
    gap : float
        Distance between neighbouring layers.
    jitter : float
        Standard deviation of the Gaussian displacement of each point, in each of the three directions.
    length_scale, short_range_variance : float
        Squared-exponential Gaussian process of the short-range signal, exp(-d²/2ℓ²) times the variance.
    short_range_metric : {"space", "sheet"}
        Its distance d: straight through space between the (jittered) points, or along the sheet.
    noise_sd : float
        Standard deviation of the noise.
    random_state : int, Generator, SeedSequence or None
        Seed.

    Returns
    -------
    FoldedSheetData

    Notes
    -----
    The short-range draw uses 2048 random Fourier frequencies, each with a sine and a cosine: O(n), Gaussian
    given the frequencies, and its covariance is the squared exponential to about 0.02 of the variance.

    Examples
    --------
    >>> from flgp.datasets import folded_sheet
    >>> folded_sheet(500, random_state=0).X.shape
    (500, 3)
    """
    check_choice("short_range_metric", short_range_metric, ("space", "sheet"))
    n = check_count(n)
    straight = length / n_layers - (n_layers - 1) / n_layers * np.pi * gap / 2
    if not (straight > 0 and gap > 0 and width > 0):
        raise ValueError(
            f"A sheet of length={length} and width={width} cannot be folded into n_layers={n_layers} with "
            f"gap={gap}: all must be positive and the turns shorter than the sheet."
        )
    place, shake, field, noise = streams(random_state, 4)
    arc, across = place.uniform(0, length, n), place.uniform(0, width, n)
    x, z = _fold(arc, straight, gap, n_layers)
    X = np.column_stack([x, across, z]) + jitter * shake.standard_normal((n, 3))

    long_range = 2 * np.sin(2 * np.pi * arc / 6) + np.cos(4 * np.pi * across)
    coordinates = np.column_stack([arc, across])
    where = X if short_range_metric == "space" else coordinates
    short_range = np.sqrt(short_range_variance) * _draw_field(where / length_scale, field)
    return FoldedSheetData(
        X=X,
        f=long_range + short_range,
        noise=draw_noise(n, noise_sd, noise),
        long_range=long_range,
        short_range=short_range,
        coordinates=coordinates,
        sides=(length, width),
    )


def _fold(arc: Array, straight: float, gap: float, n_layers: int) -> tuple[Array, Array]:
    """Place the coordinate along the sheet in the x-z plane, at unit speed."""
    radius = gap / 2
    layer = np.minimum(arc // (straight + np.pi * radius), n_layers - 1)
    along = arc - layer * (straight + np.pi * radius)
    turn = np.maximum(along - straight, 0) / radius  # angle on the half circle, 0 on the flat part
    x = np.minimum(along, straight) + radius * np.sin(turn)
    z = layer * gap + radius * (1 - np.cos(turn))
    return np.where(layer % 2 == 0, x, straight - x), z  # every other layer runs backwards


def _draw_field(points: Array, rng: np.random.Generator) -> Array:
    """One draw, at (n, p) points, of a process with covariance exp(-d²/2)."""
    frequencies = rng.standard_normal((points.shape[1], _N_FREQUENCIES))
    cosine, sine = rng.standard_normal((2, _N_FREQUENCIES)) / np.sqrt(_N_FREQUENCIES)
    draw = np.empty(len(points))
    for start in range(0, len(points), _BLOCK):
        # Single precision is many times faster; its error is 1e-4 of the standard deviation.
        phase = (points[start : start + _BLOCK] @ frequencies).astype(np.float32)
        draw[start : start + _BLOCK] = np.cos(phase) @ cosine + np.sin(phase) @ sine
    return draw
