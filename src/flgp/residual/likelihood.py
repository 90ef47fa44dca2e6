"""Gaussian noise together with the short-range part's own parameters, so that one search learns them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..likelihoods import Gaussian
from .euclidean import LocalModel, has_shape

LENGTH_SCALE, VARIANCE, SHAPE = "residual_length_scale", "residual_variance", "residual_shape"


@dataclass(frozen=True)
class LocalGaussian(Gaussian):
    """y = h + u + noise: to whoever knows f = h + u, a Gaussian likelihood.

    Parameters
    ----------
    noise_variance : σ²
    residual_kernel : name of u's correlation function
    residual_length_scale : ℓ
    residual_variance : a_u²
    """

    residual_kernel: str = "matern52"
    residual_length_scale: float | None = None
    residual_variance: float | None = None

    # In the order of the gradient of `joint.evaluate`.
    parameter_names: ClassVar[tuple[str, ...]] = (LENGTH_SCALE, VARIANCE, "noise_variance")

    @property
    def local(self) -> LocalModel:
        """The short-range part and the noise, which must be set by now."""
        values = [self._parameter(name) for name in self.parameter_names]
        return LocalModel(self.residual_kernel, *values)


@dataclass(frozen=True)
class ShapedLocalGaussian(LocalGaussian):
    """The same for a kernel with a shape.

    Parameters
    ----------
    residual_shape : α
    """

    residual_shape: float | None = None

    parameter_names: ClassVar[tuple[str, ...]] = (*LocalGaussian.parameter_names, SHAPE)


def local_gaussian(kernel: str) -> LocalGaussian:
    """The likelihood for a residual kernel, with everything to be learned."""
    kind = ShapedLocalGaussian if has_shape(kernel) else LocalGaussian
    return kind(residual_kernel=kernel)
