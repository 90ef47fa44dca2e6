"""The smooth function on the geometry: the paper's model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .._stored import stored
from .._typing import Array
from ..geometry.base import Eigenbasis
from ..kernels import SpectralKernel
from ..priors import Flat, HalfNormal, Prior
from .base import Inputs, TermView

TIME, AMPLITUDE = "diffusion_time", "amplitude"
# Diffusion times that a search looks at first.
_STARTS = 8


@stored("manifold term")
@dataclass(frozen=True)
class Manifold:
    """f = Σ_i β_i φ_i(x), β_i ~ N(0, a² k(λ_i, t)), with a return to the prior off the geometry."""

    basis: Eigenbasis
    kernel: SpectralKernel
    time_prior: Prior = Flat()  # noqa: RUF009 - immutable

    name = "manifold"
    parameters = (TIME, AMPLITUDE)

    @property
    def n_features(self) -> int:
        return len(self.basis.eigenvalues)

    def features(self, at: Inputs) -> Array:
        """φ (b, M), without the factor for distance: labelled rows are on the geometry."""
        return self.basis.features(at.places)

    def view(self, at: Inputs) -> TermView:
        """g(x) z(x), and the variance 1 - g² that is missing off the geometry."""
        rows, g = self.basis.rows(at.places), at.places.closeness
        return TermView(rows) if (g == 1.0).all() else TermView(rows.scaled(g), 1.0 - g**2)

    def at_nodes(self, weights: Array) -> Array:
        return self.basis.at_nodes(weights)

    def variances(self, values: Mapping[str, float]) -> Array:
        return values[AMPLITUDE] * np.exp(self.kernel.log_density(self.basis.eigenvalues, values[TIME]))

    def gradient(self, values: Mapping[str, float], along: Array) -> dict[str, float]:
        slope = self.kernel.log_density_slope(self.basis.eigenvalues, values[TIME])
        return {TIME: float(along @ slope), AMPLITUDE: float(along.sum())}

    def gap_variance(self, d: Array) -> float:
        """The prior variance of f, averaged over the geometry."""
        return float(d.sum())

    def log_trace(self, time: float) -> tuple[float, float]:
        """Log of the prior variance of f at a² = 1, averaged over the geometry, and its slope in log t."""
        logs = self.kernel.log_density(self.basis.eigenvalues, time)
        largest = float(logs.max())
        weights = np.exp(logs - largest)
        total = float(weights.sum())
        slope = float(weights @ self.kernel.log_density_slope(self.basis.eigenvalues, time)) / total
        return largest + float(np.log(total)), slope

    def bounds(self, scale: float) -> dict[str, tuple[float, float]]:
        """Of t: from a tenth of a step to where every eigenfunction that is not constant is gone."""
        positive = self._moving()
        slowest = float(positive[0]) if len(positive) else 1.0
        unit = self.basis.time_unit
        longest = max(60.0 / slowest, 1e3 * unit)
        return {
            TIME: (0.1 * unit, min(longest, getattr(self.time_prior, "upper", longest))),
            AMPLITUDE: (1e-6 * scale**2, 1e6 * scale**2),
        }

    def priors(self, scale: float) -> dict[str, Prior]:
        """The amplitude's is on the variance of f, a² Σ_i k(λ_i, t): a² alone says little without t."""
        return {TIME: self.time_prior, AMPLITUDE: HalfNormal(3.0 * scale)}

    def starting_times(self) -> Array:
        """From where all of the eigenfunctions count to where only the slowest do."""
        positive, unit = self._moving(), self.basis.time_unit
        if len(positive) == 0:
            return np.array([unit])
        fastest, slowest = float(positive[-1]), float(np.quantile(positive, 0.02))
        return np.maximum(np.geomspace(1.0 / fastest, 1.0 / slowest, _STARTS), unit)

    def _moving(self) -> Array:
        """Eigenvalues that are not zero; their size depends on the unit of time."""
        eigenvalues = self.basis.eigenvalues
        return eigenvalues[eigenvalues * self.basis.time_unit > 1e-12]
