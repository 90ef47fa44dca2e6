"""Proportions strictly between 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betainc, digamma, expit, gammaln, log_expit, logit, zeta

from .._stored import stored
from .._typing import Array, BoolArray
from ._base import Derivatives, Likelihood, Observations, ParameterDerivatives, refuse
from ._moments import weighted_mean
from ._tilted import tilted_expectations
from .logistic import logistic_gaussian_integral, logistic_spread

# Labels this close to 0 or 1 are known to be at most (at least) that: nearer ones cannot be told from 1.
_MARGIN = 1e-15


@stored("beta likelihood")
@dataclass(frozen=True)
class Beta(Likelihood):
    """Beta with mean μ = σ(f), σ the logistic function, and variance μ(1 - μ)/(1 + precision).

    Not log-concave in f where a label is far from its mean: there Newton's method uses no curvature. In μ the
    density is log-concave, so one label has one mode.

    With a shape well below 1 most proportions are closer to 0 or 1 than numbers can be. A label within 1e-15
    of an end therefore says no more than that: its density is P(Y ≤ 1e-15) or P(Y ≥ 1 - 1e-15).

    Parameters
    ----------
    precision : φ > 0, the two shapes' sum, or None to learn it

    Examples
    --------
    >>> from flgp.likelihoods import Beta
    >>> float(Beta(precision=4.0).conditional_variance(f=0.0))  # ½·½/5
    0.05
    """

    precision: float | None = None

    name: ClassVar[str] = "beta"
    parameter_names: ClassVar[tuple[str, ...]] = ("precision",)
    log_concave: ClassVar[bool] = False
    largest: ClassVar[float] = 1.0

    def log_density(self, obs: Observations, f: Array) -> Array:
        """Log Γ(φ) - log Γ(a) - log Γ(b) + (a - 1) log y + (b - 1) log(1 - y), a = μφ, b = (1 - μ)φ.

        At the ends the integral of that, in which 1 - y is 1: ∫₀ᵉ y^(a-1) dy = eᵃ/a.
        """
        phi, (a, b) = self._parameter("precision"), self._shapes(f)
        # log Γ(a) = log Γ(1 + a) - log a, and log a is exact however small a is.
        poles = 2.0 * np.log(phi) + log_expit(f) + log_expit(-np.asarray(f))
        smooth = gammaln(phi) - gammaln(1.0 + a) - gammaln(1.0 + b)
        log_y, log_rest = _logs(obs)
        inside = smooth + poles + (a - 1.0) * log_y + (b - 1.0) * log_rest
        low, high = _ends(obs)
        ends = np.where(low, log_y - log_expit(f), log_rest - log_expit(-np.asarray(f))) - np.log(phi)
        return inside + np.where(low | high, ends, 0.0)

    def conditional_mean(self, f: Array) -> Array:
        return np.asarray(expit(f))

    def conditional_variance(self, f: Array) -> Array:
        return expit(f) * expit(-np.asarray(f)) / (1.0 + self._parameter("precision"))

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """In closed form, without the poles of ψ at 0."""
        (a, b), p = self._shapes(f), self._pieces(obs, f)
        bend_difference = -2.0 * (zeta(3.0, 1.0 + a) - zeta(3.0, 1.0 + b))
        third = p.scaled * ((1.0 - 6.0 * p.spread) * p.gap + 3.0 * p.tilt * p.scaled * p.slope_sum)
        third = third - p.scaled**3 * bend_difference + 2.0 * p.spread * p.tilt
        at_end = np.where(np.logical_or(*_ends(obs)), p.spread, 0.0)
        return Derivatives(*_slope_and_curvature(p, obs, f), third - at_end * p.tilt)

    def slope_and_curvature(self, obs: Observations, f: Array) -> tuple[Array, Array]:
        """Without ψ'', which costs as much as the rest."""
        return _slope_and_curvature(self._pieces(obs, f), obs, f)

    def likeliest(self, obs: Observations) -> Array:
        """The logit of the label, nearly."""
        return np.asarray(logit(obs.y))

    def parameter_derivatives(self, obs: Observations, f: Array) -> list[ParameterDerivatives]:
        (a, b), p = self._shapes(f), self._pieces(obs, f)
        moved = p.gap - a * zeta(2.0, 1.0 + a) + b * zeta(2.0, 1.0 + b)
        bent = 2.0 * p.slope_sum - 2.0 * (a * zeta(3.0, 1.0 + a) + b * zeta(3.0, 1.0 + b))
        curvature = p.scaled * (p.tilt * moved + p.scaled * bent)
        return [ParameterDerivatives(self._precision_slope(obs, f), p.scaled * moved, curvature)]

    def tilted_parameter_gradient(self, obs: Observations, mean: Array, variance: Array) -> list[Array]:
        """In log φ, without the zeta functions that only the derivatives in f have."""
        return tilted_expectations(
            self, obs, mean, variance, lambda rows, f: [self._precision_slope(rows, f)]
        )

    def _precision_slope(self, obs: Observations, f: Array) -> Array:
        """∂ log p / ∂ log φ."""
        phi, (a, b) = self._parameter("precision"), self._shapes(f)
        low, high = _ends(obs)
        log_y, log_rest = _logs(obs)
        slope = phi * digamma(1.0 + phi) + np.where(low | high, 0.0, 1.0)
        slope = slope + a * (log_y - digamma(1.0 + a))
        return slope + b * (log_rest - digamma(1.0 + b))

    def predictive_mean(self, mean: Array, variance: Array) -> Array:
        return logistic_gaussian_integral(mean, variance)

    def predictive_variance(self, mean: Array, variance: Array) -> Array:
        """E[μ(1 - μ)]/(1 + φ) + Var[μ]."""
        within, between = logistic_spread(*np.broadcast_arrays(np.asarray(mean, dtype=float), variance))
        return within / (1.0 + self._parameter("precision")) + between

    def cdf(self, y: Array, f: Array) -> Array:
        """The regularised incomplete beta function I_y(a, b)."""
        a, b = (np.maximum(shape, 1e-300) for shape in self._shapes(f))
        return np.asarray(betainc(a, b, np.clip(y, 0.0, 1.0)))

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        a, b = (np.maximum(shape, 1e-10) for shape in self._shapes(np.asarray(f, dtype=float)))
        return np.clip(rng.beta(a, b), _MARGIN, 1.0 - _MARGIN)

    def validate(self, obs: Observations) -> None:
        super().validate(obs)
        remedy = (
            "Divide percentages by 100; for successes among trials use likelihood='binomial'; zeros and "
            "ones may be moved inwards by the precision of measurement."
        )
        bad = (obs.y <= 0) | (obs.y >= 1)
        refuse(bad, obs, "Labels of the beta likelihood must be between 0 and 1, ends excluded", remedy)

    def initial_mean(self, obs: Observations) -> float:
        return float(logit(weighted_mean(obs.y, obs.weight)))

    def latent_scale(self, obs: Observations) -> float:
        """Standard deviation of the labels' logits, at least 0.3 and at most π/√3."""
        eta = logit(obs.y)
        spread = np.sqrt(weighted_mean((eta - weighted_mean(eta, obs.weight)) ** 2, obs.weight))
        return float(np.clip(spread, 0.3, np.pi / np.sqrt(3.0)))

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        """That of a beta distribution with half the variance of the labels: f explains the other half."""
        mean = weighted_mean(obs.y, obs.weight)
        variance = 0.5 * weighted_mean((obs.y - mean) ** 2, obs.weight)
        return {"precision": float(np.clip(mean * (1.0 - mean) / max(variance, 1e-12) - 1.0, 0.5, 1e6))}

    def parameter_bounds(self, obs: Observations) -> dict[str, tuple[float, float]]:
        """From nearly all labels at 0 and 1 to far more precise than they look."""
        return {"precision": (0.01, 1e4 * self.initial_parameters(obs)["precision"])}

    def _shapes(self, f: Array) -> tuple[Array, Array]:
        phi = self._parameter("precision")
        return phi * expit(f), phi * expit(-np.asarray(f))

    def _pieces(self, obs: Observations, f: Array) -> _Pieces:
        (a, b), f = self._shapes(f), np.asarray(f, dtype=float)
        log_y, log_rest = _logs(obs)
        up, down = expit(f), expit(-f)
        return _Pieces(
            up * down,
            self._parameter("precision") * up * down,
            up - down,
            log_y - log_rest - digamma(1.0 + a) + digamma(1.0 + b),
            zeta(2.0, 1.0 + a) + zeta(2.0, 1.0 + b),
        )


def _ends(obs: Observations) -> tuple[BoolArray, BoolArray]:
    """Which labels are only known to be at 0, and at 1."""
    return obs.y <= _MARGIN, obs.y >= 1.0 - _MARGIN


def _logs(obs: Observations) -> tuple[Array, Array]:
    """Log y and log(1 - y), those of the margin at the ends."""
    y = np.clip(obs.y, _MARGIN, 1.0 - _MARGIN)
    return np.log(y), np.log1p(-y)


@dataclass(frozen=True)
class _Pieces:
    """What the derivatives in f are made of; ψ' is ζ(2, ·), and ψ'' is -2 ζ(3, ·)."""

    spread: Array  # μ' = μ(1 - μ)
    scaled: Array  # φμ'
    tilt: Array  # 2μ - 1
    gap: Array  # logit y - ψ(1 + a) + ψ(1 + b)
    slope_sum: Array  # ψ'(1 + a) + ψ'(1 + b)


def _slope_and_curvature(p: _Pieces, obs: Observations, f: Array) -> tuple[Array, Array]:
    """The first two derivatives in f; at the ends 1/a or 1/b adds -log μ or -log(1 - μ)."""
    low, high = _ends(obs)
    push = np.where(low, -expit(-np.asarray(f)), np.where(high, expit(f), 0.0))
    curvature = p.scaled * (p.tilt * p.gap + p.scaled * p.slope_sum) + 2.0 * p.spread
    return p.scaled * p.gap - p.tilt + push, curvature - np.where(low | high, p.spread, 0.0)
