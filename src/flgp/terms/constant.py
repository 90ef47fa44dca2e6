"""The constant of one latent function."""

from __future__ import annotations

from dataclasses import dataclass

from .._stored import stored


@stored("constant term")
@dataclass(frozen=True)
class Constant:
    """c ~ N(mean, variance): a prior mean, and how far the labels may move it."""

    mean: float = 0.0
    variance: float | None = None  # None: c is exactly `mean`

    name = "constant"

    @property
    def learned(self) -> bool:
        """Whether there is a weight for it, the last one of all."""
        return self.variance is not None
