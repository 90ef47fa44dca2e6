"""Priors of the hyperparameters, all as densities of the logarithm of the parameter.

Defaults: t as in the R package, uniform in log t above two graph steps (`GraphTime`), or the paper's
(`PaperTime`), or uniform in log t (`Flat`); the standard deviation of f, (a² Σ_i exp(-tλ_i))^(1/2),
half-normal with three times the data's own on the link scale, one rule for all data (`HalfNormal`); noise
inverse-gamma(0.1, 1e-3) in units of the data's variance (`InverseGamma`); other parameters log-normal about
their starting values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ._stored import stored
from ._typing import Array


class Prior(Protocol):
    """log π(x) and its derivative, for x = log(value)."""

    def __call__(self, x: float) -> tuple[float, float]: ...  # noqa: D102 - the class says it


@stored("flat prior")
@dataclass(frozen=True)
class Flat:
    """Uniform in the logarithm."""

    def __call__(self, x: float) -> tuple[float, float]:
        """Zero everywhere."""
        return 0.0, 0.0


@stored("log-normal prior")
@dataclass(frozen=True)
class LogNormal:
    """log(value) ~ N(log median, spread²)."""

    median: float
    spread: float

    def __call__(self, x: float) -> tuple[float, float]:
        """Log π(x) and its slope."""
        u = (x - np.log(self.median)) / self.spread
        return -0.5 * u**2, -u / self.spread


@stored("half-normal prior")
@dataclass(frozen=True)
class HalfNormal:
    """√value ~ half-normal: for a variance whose standard deviation is of order `scale`."""

    scale: float

    def __call__(self, x: float) -> tuple[float, float]:
        """Log π(x) and its slope; √value = exp(x/2) has Jacobian exp(x/2)/2."""
        square = np.exp(min(x, 600.0)) / self.scale**2
        return 0.5 * x - 0.5 * square, 0.5 - 0.5 * square


@stored("inverse-gamma prior")
@dataclass(frozen=True)
class InverseGamma:
    """value ~ inverse-gamma(shape, rate)."""

    shape: float
    rate: float

    def __call__(self, x: float) -> tuple[float, float]:
        """Log π(x) and its slope."""
        pull = self.rate * np.exp(min(-x, 600.0))
        return -self.shape * x - pull, -self.shape + pull


@stored("graph prior of time")
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


@stored("paper prior of time")
@dataclass(frozen=True)
class PaperTime:
    """The paper's prior, π(τ) ∝ τ^(-a0) exp(-τ^(-d/2) log^(1+d/2)(1/τ)) on manifold time τ in (0, 1).

    Graph steps t are mapped to τ = λ₁ t: the time in which the slowest eigenfunction that moves at all falls
    by 1/e is the unit, whatever the graph. Above `upper`, where τ = 1, the prior is zero; the search is
    bounded there. The density is that of log t, Jacobian included.

    Parameters
    ----------
    dimension : float
        d, the intrinsic dimension of the manifold.
    slowest : float
        λ₁, the first eigenvalue of the graph Laplacian that is not zero.
    power : float
        a0.
    """

    dimension: float
    slowest: float
    power: float = 1.0

    @property
    def upper(self) -> float:
        """The largest t with a positive density."""
        return 1.0 / self.slowest

    def __call__(self, x: float) -> tuple[float, float]:
        """Log π(x) and its slope; with L = log(1/τ) the exponent is -e^(dL/2) L^(1+d/2)."""
        half = 0.5 * self.dimension
        L = max(-(x + np.log(self.slowest)), 0.0)
        # Capped where the density is zero to any precision, so that a search can find its way back.
        growth = np.exp(min(half * L, 200.0))
        exponent = growth * L ** (1.0 + half)
        slope = half * exponent + (1.0 + half) * growth * L**half
        return -(1.0 - self.power) * L - exponent, 1.0 - self.power + slope


TIME_PRIORS = ("graph", "paper", "flat")


def time_prior(choice: str | Prior, eigenvalues: Array, dimension: float | None, unit: float = 1.0) -> Prior:
    """The prior of t for a basis with these eigenvalues (M,).

    Parameters
    ----------
    choice : {"graph", "paper", "flat"} or Prior
    eigenvalues : array of shape (M,)
    dimension : float or None
        Needed for "paper".
    unit : float
        The shortest time of interest, a step of the walk on a graph.
    """
    if not isinstance(choice, str):
        return choice
    if choice == "graph":
        return GraphTime(tau=2.0 * unit)
    moving = eigenvalues[eigenvalues > 1e-12]
    if choice == "flat" or len(moving) == 0:
        return Flat()
    assert dimension is not None
    return PaperTime(float(dimension), float(moving.min()))
