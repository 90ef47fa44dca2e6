"""The heat kernel."""

from __future__ import annotations

from dataclasses import dataclass

from .._stored import stored
from .._typing import Array


@stored("heat kernel")
@dataclass(frozen=True)
class Heat:
    """d_i / a² = exp(-tλ_i)."""

    def log_density(self, eigenvalues: Array, time: float) -> Array:
        """log(d_i / a²), shape (M,)."""
        return -(time * eigenvalues)

    def log_density_slope(self, eigenvalues: Array, time: float) -> Array:
        """Derivative of `log_density` in log t, shape (M,)."""
        return -(time * eigenvalues)
