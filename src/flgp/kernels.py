"""Stage 6: the prior variance of each eigenfunction, a decreasing function of its eigenvalue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._typing import Array

KERNELS = ("heat", "matern")


@dataclass(frozen=True)
class SpectralKernel:
    """d_i / a² as a function of λ_i and the diffusion time t.

    heat: exp(-tλ). matern: (1 + tλ/ν)^(-ν), which tends to heat as ν → ∞ and keeps t's meaning.
    """

    kind: str = "heat"
    nu: float = 1.5

    def log_density(self, eigenvalues: Array, time: float) -> Array:
        """log(d_i / a²), shape (M,)."""
        rate = time * eigenvalues
        return -rate if self.kind == "heat" else -self.nu * np.log1p(rate / self.nu)

    def log_density_slope(self, eigenvalues: Array, time: float) -> Array:
        """Derivative of `log_density` in log t, shape (M,)."""
        rate = time * eigenvalues
        return -rate if self.kind == "heat" else -rate / (1.0 + rate / self.nu)
