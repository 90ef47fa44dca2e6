"""Stage 6: the prior variance of each eigenfunction, a decreasing function of its eigenvalue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ._stored import stored
from ._typing import Array


class SpectralKernel(Protocol):
    """d_i / a² as a function of λ_i and the diffusion time t."""

    def log_density(self, eigenvalues: Array, time: float) -> Array:
        """log(d_i / a²), shape (M,)."""
        ...

    def log_density_slope(self, eigenvalues: Array, time: float) -> Array:
        """Derivative of `log_density` in log t, shape (M,)."""
        ...


@stored("heat kernel")
@dataclass(frozen=True)
class Heat:
    """d_i / a² = exp(-tλ_i)."""

    def log_density(self, eigenvalues: Array, time: float) -> Array:
        """-tλ."""
        return -(time * eigenvalues)

    log_density_slope = log_density


@stored("Matérn kernel")
@dataclass(frozen=True)
class Matern:
    """d_i / a² = (1 + tλ_i/ν)^(-ν), which tends to the heat kernel as ν → ∞ and keeps t's meaning."""

    nu: float = 1.5

    def log_density(self, eigenvalues: Array, time: float) -> Array:
        """-ν log(1 + tλ/ν)."""
        return -self.nu * np.log1p(time * eigenvalues / self.nu)

    def log_density_slope(self, eigenvalues: Array, time: float) -> Array:
        """-tλ/(1 + tλ/ν)."""
        rate = time * eigenvalues
        return -rate / (1.0 + rate / self.nu)


# By the names that estimators take; each is made from `nu`.
KERNELS: dict[str, Callable[[float], SpectralKernel]] = {"heat": lambda nu: Heat(), "matern": Matern}


def get_kernel(kernel: str | SpectralKernel, nu: float = 1.5) -> SpectralKernel:
    """A kernel by its name, or as it is."""
    return KERNELS[kernel](float(nu)) if isinstance(kernel, str) else kernel


__all__ = ["KERNELS", "Heat", "Matern", "SpectralKernel", "get_kernel"]
