"""Stage 6: the prior variance of each eigenfunction, a decreasing function of its eigenvalue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .._typing import Array
from .heat import Heat
from .matern import Matern


class SpectralKernel(Protocol):
    """d_i / a² as a function of λ_i and the diffusion time t."""

    def log_density(self, eigenvalues: Array, time: float) -> Array:
        """log(d_i / a²), shape (M,)."""
        ...

    def log_density_slope(self, eigenvalues: Array, time: float) -> Array:
        """Derivative of `log_density` in log t, shape (M,)."""
        ...


# By the names that estimators take; each is made from `nu`.
KERNELS: dict[str, Callable[[float], SpectralKernel]] = {
    "heat": lambda nu: Heat(),
    "matern": Matern,
}


def get_kernel(kernel: str | SpectralKernel, nu: float = 1.5) -> SpectralKernel:
    """A kernel by its name, or as it is."""
    return KERNELS[kernel](float(nu)) if isinstance(kernel, str) else kernel


__all__ = ["KERNELS", "Heat", "Matern", "SpectralKernel", "get_kernel"]
