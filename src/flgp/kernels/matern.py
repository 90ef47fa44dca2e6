"""The Matérn kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._stored import stored
from .._typing import Array


@stored("Matérn kernel")
@dataclass(frozen=True)
class Matern:
    """d_i / a² = (1 + tλ_i/ν)^(-ν), which tends to the heat kernel as ν → ∞ and keeps t's meaning."""

    nu: float = 1.5

    def log_density(self, eigenvalues: Array, time: float) -> Array:
        """log(d_i / a²), shape (M,)."""
        return -self.nu * np.log1p(time * eigenvalues / self.nu)

    def log_density_slope(self, eigenvalues: Array, time: float) -> Array:
        """Derivative of `log_density` in log t, shape (M,)."""
        rate = time * eigenvalues
        return -rate / (1.0 + rate / self.nu)
