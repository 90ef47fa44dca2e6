"""Counts that vary more than Poisson counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betainc, betaln, digamma, expit, log_expit

from .._stored import stored
from .._typing import Array
from ._base import Derivatives, Observations, ParameterDerivatives
from ._log_link import LogLink, safe_exp
from .logistic import logit_derivatives, logit_kernel
from .observations import refuse_fractions
from .poisson import draw_counts


@stored("negative binomial likelihood")
@dataclass(frozen=True)
class NegativeBinomial(LogLink):
    """Counts with mean μ = exposure · e^f and variance μ + dispersion · μ²; log-concave in f.

    With r = 1/dispersion and η = log μ - log r the density is that of y successes and r failures of a coin
    with success probability σ(η). In this form it is stable to compute and suits Pólya-Gamma sampling.

    Parameters
    ----------
    dispersion : α > 0 (α → 0 is Poisson), or None to learn it

    Examples
    --------
    >>> from flgp.likelihoods import NegativeBinomial
    >>> float(NegativeBinomial(dispersion=0.5).conditional_variance(f=0.0))  # 1 + 0.5·1²
    1.5
    """

    dispersion: float | None = None

    name: ClassVar[str] = "negative_binomial"
    discrete: ClassVar[bool] = True
    parameter_names: ClassVar[tuple[str, ...]] = ("dispersion",)

    def _size_and_logit(self, obs: Observations, f: Array) -> tuple[float, Array]:
        """The pair r, η."""
        dispersion = self._parameter("dispersion")
        return 1.0 / dispersion, f + np.log(obs.exposure * dispersion)

    def log_density(self, obs: Observations, f: Array) -> Array:
        """Here log [Γ(y + r)/(Γ(r) y!)] + y log σ(η) + r log σ(-η)."""
        size, eta = self._size_and_logit(obs, f)
        log_coefficient = -np.log(obs.y + size) - betaln(size, obs.y + 1.0)
        return log_coefficient + logit_kernel(obs.y, np.asarray(size), eta)

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """In closed form; W = (y + r) σ(η) σ(-η)."""
        size, eta = self._size_and_logit(obs, f)
        return logit_derivatives(obs.y, np.asarray(size), eta)

    def parameter_derivatives(self, obs: Observations, f: Array) -> list[ParameterDerivatives]:
        """In log α, through r in the coefficient and through η."""
        size, eta = self._size_and_logit(obs, f)
        d = self.derivatives(obs, f)
        up, down = expit(eta), expit(-eta)
        log_density = d.gradient - size * (digamma(obs.y + size) - digamma(size) + log_expit(-eta))
        return [ParameterDerivatives(log_density, size * up - d.curvature, -size * up * down - d.third)]

    def cdf(self, y: Array, f: Array) -> Array:
        """The regularised incomplete beta function I_q(1/dispersion, y + 1), q = 1/(1 + dispersion e^f)."""
        dispersion = self._parameter("dispersion")
        q = expit(-(f + np.log(dispersion)))
        return np.where(y >= 0, betainc(1.0 / dispersion, np.floor(np.maximum(y, 0.0)) + 1.0, q), 0.0)

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        """Counts at unit exposure: Poisson with a gamma-distributed rate."""
        dispersion = self._parameter("dispersion")
        f = np.asarray(f, dtype=float)
        return draw_counts(safe_exp(f) * rng.gamma(1.0 / dispersion, dispersion, f.shape), rng)

    def validate(self, obs: Observations) -> None:
        super().validate(obs)
        remedy = (
            "Pass counts in y and their base in `exposure`, or use likelihood='gamma' for positive reals."
        )
        refuse_fractions(obs.y, obs, "Negative binomial counts", remedy)

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        """Half of the excess relative variance; f explains the other half."""
        return {"dispersion": float(np.clip(0.5 * self._excess(obs), 0.01, 10.0))}

    def parameter_bounds(self, obs: Observations) -> dict[str, tuple[float, float]]:
        """From almost Poisson to well above the dispersion of the counts."""
        return {"dispersion": (1e-5, max(1e2, 10.0 * self._excess(obs)))}

    def _variance_coefficients(self) -> tuple[float, float]:
        return 1.0, self._parameter("dispersion")
