"""A likelihood together with the short-range part's own parameters, so that one search learns them all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..likelihoods import Gaussian, Likelihood
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


@dataclass(frozen=True)
class LocalLikelihood:
    """Any p(y | f = h + u), and the parameters of the latent u.

    Parameters
    ----------
    base : p(y | f)
    residual_kernel : name of u's correlation function
    residual_length_scale : ℓ
    residual_variance : a_u²
    residual_shape : α, for a kernel that has one
    """

    base: Likelihood
    residual_kernel: str = "matern52"
    residual_length_scale: float | None = None
    residual_variance: float | None = None
    residual_shape: float | None = None

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Those of u, then those of p(y | f)."""
        return (*self._local_names, *self.base.parameter_names)

    @property
    def local(self) -> LocalModel:
        """The short-range part, whose parameters must be set by now, without noise."""
        length_scale, variance, *shape = (getattr(self, name) for name in self._local_names)
        if length_scale is None or variance is None or None in shape:
            raise ValueError(f"{', '.join(self._local_names)} need values: use `with_parameters`.")
        return LocalModel(self.residual_kernel, length_scale, variance, 0.0, *shape)

    def with_parameters(self, **values: float) -> LocalLikelihood:
        """The same with some parameters set."""
        local: dict[str, Any] = {name: value for name, value in values.items() if name in self._local_names}
        rest = {name: value for name, value in values.items() if name not in local}
        return replace(self, base=self.base.with_parameters(**rest) if rest else self.base, **local)

    @property
    def _local_names(self) -> tuple[str, ...]:
        names = (LENGTH_SCALE, VARIANCE)
        return (*names, SHAPE) if has_shape(self.residual_kernel) else names


def local_likelihood(likelihood: Likelihood, kernel: str) -> LocalGaussian | LocalLikelihood:
    """A likelihood with a residual of some kernel, everything about u to be learned."""
    if not isinstance(likelihood, Gaussian):
        return LocalLikelihood(likelihood, kernel)
    return (ShapedLocalGaussian if has_shape(kernel) else LocalGaussian)(residual_kernel=kernel)


def of_labels(likelihood: Any) -> Any:
    """p(y | f) of a likelihood with or without residual."""
    return likelihood.base if isinstance(likelihood, LocalLikelihood) else likelihood
