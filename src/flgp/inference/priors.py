"""Priors of the hyperparameters, all as densities of the logarithm of the parameter.

Each is called with x = log(value) and returns the log-density of x, up to a constant, and its slope.
The Jacobian of the logarithm is included, so the mode does not depend on how the search is scaled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Prior(Protocol):
    """log π(x) and its derivative, for x = log(value)."""

    def __call__(self, x: float) -> tuple[float, float]: ...  # noqa: D102 - the class says it


@dataclass(frozen=True)
class Flat:
    """Uniform in the logarithm."""

    def __call__(self, x: float) -> tuple[float, float]:
        """Zero everywhere."""
        return 0.0, 0.0


@dataclass(frozen=True)
class LogNormal:
    """log(value) ~ N(log median, spread²)."""

    median: float
    spread: float

    def __call__(self, x: float) -> tuple[float, float]:
        """Log π(x) and its slope."""
        u = (x - np.log(self.median)) / self.spread
        return -0.5 * u**2, -u / self.spread


@dataclass(frozen=True)
class HalfNormal:
    """√value ~ half-normal: for a variance whose standard deviation is of order `scale`."""

    scale: float

    def __call__(self, x: float) -> tuple[float, float]:
        """Log π(x) and its slope; √value = exp(x/2) has Jacobian exp(x/2)/2."""
        square = np.exp(min(x, 600.0)) / self.scale**2
        return 0.5 * x - 0.5 * square, 0.5 - 0.5 * square


@dataclass(frozen=True)
class InverseGamma:
    """value ~ inverse-gamma(shape, rate)."""

    shape: float
    rate: float

    def __call__(self, x: float) -> tuple[float, float]:
        """Log π(x) and its slope."""
        pull = self.rate * np.exp(min(-x, 600.0))
        return -self.shape * x - pull, -self.shape + pull


@dataclass(frozen=True)
class GraphTime:
    """The R package's prior of t in graph steps: -log π(t) = p log t + (t/τ)^(-q).

    p = 1 is uniform in log t. The second term only keeps t from falling below about τ steps, where the
    kernel would be narrower than the graph's own step.
    """

    p: float = 1.0
    tau: float = 2.0
    q: float = 10.0

    def __call__(self, x: float) -> tuple[float, float]:
        """Log π(x) and its slope."""
        barrier = np.exp(np.clip(-self.q * (x - np.log(self.tau)), -600.0, 600.0))
        return (1.0 - self.p) * x - barrier, 1.0 - self.p + self.q * barrier
