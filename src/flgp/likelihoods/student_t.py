"""Noise with outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, stdtr

from .._stored import stored
from .._typing import Array
from ._additive import Additive
from ._base import Derivatives, Observations, ParameterDerivatives
from ._moments import positive_spread, weighted_median

# Median absolute deviation of a standard normal variable.
_NORMAL_MAD = 0.6744897501960817


@stored("Student-t likelihood")
@dataclass(frozen=True)
class StudentT(Additive):
    """y = f + scale · √noise_scale · t, with t from Student's distribution.

    Not log-concave: an observation far from f (farther than √degrees_of_freedom scales) has negative W, and
    the posterior may have several modes. Inference is still safe because

    - `slope_and_expected_curvature` has the Fisher information (ν + 1)/((ν + 3) scale²), positive whatever
      f is. A Newton iteration that uses it instead of W has a positive definite matrix, ascends with step
      halving, and stops only where the gradient vanishes, which does not depend on W;
    - the gradient is bounded by (ν + 1)/(2 √ν scale): no outlier can throw the iteration far off;
    - `tilted` looks for a mode near the prior and for one near y, and integrates over both.

    Parameters
    ----------
    scale : σ > 0, in the units of y (its variance is σ² ν/(ν - 2)), or None to learn it
    degrees_of_freedom : ν > 0, fixed. For ν ≤ 2 the predictive variance is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from flgp import FLGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 100)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> y = np.sin(angle) + 0.1 * rng.normal(size=100)
    >>> y[:5] += 20  # outliers
    >>> model = FLGPRegressor(likelihood="student_t", random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sin(angle)).max() < 0.2)
    True
    """

    scale: float | None = None
    degrees_of_freedom: float = 4.0

    name: ClassVar[str] = "student_t"
    parameter_names: ClassVar[tuple[str, ...]] = ("scale",)
    location: ClassVar[bool] = True
    uses: ClassVar[tuple[str, ...]] = ("noise_scale",)
    log_concave: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (np.isfinite(self.degrees_of_freedom) and self.degrees_of_freedom > 0):
            raise ValueError(
                f"degrees_of_freedom of StudentT must be positive, not {self.degrees_of_freedom}: "
                "use likelihood='gaussian' for infinitely many."
            )

    def _spread(self, obs: Observations) -> Array:
        """ν σ² noise_scale: squared residuals above this count as outliers."""
        return self.degrees_of_freedom * self._parameter("scale") ** 2 * obs.noise_scale

    def log_density(self, obs: Observations, f: Array) -> Array:
        """Constant - (ν + 1)/2 · log(1 + (y - f)²/(νσ²))."""
        nu, spread = self.degrees_of_freedom, self._spread(obs)
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(np.pi * spread)
        return constant - 0.5 * (nu + 1) * np.log1p((obs.y - f) ** 2 / spread)

    def conditional_variance(self, f: Array) -> Array:
        nu = self.degrees_of_freedom
        variance = self._parameter("scale") ** 2 * nu / (nu - 2.0) if nu > 2 else np.inf
        return np.full(np.shape(f), variance)

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """In closed form; the curvature is negative for outliers."""
        nu, spread, residual = self.degrees_of_freedom, self._spread(obs), obs.y - f
        total = spread + residual**2
        gradient = (nu + 1) * residual / total
        curvature = (nu + 1) * (spread - residual**2) / total**2
        third = 2.0 * gradient * (residual**2 - 3.0 * spread) / total**2
        return Derivatives(gradient, curvature, third)

    def slope_and_expected_curvature(self, obs: Observations, f: Array) -> tuple[Array, Array]:
        """With the Fisher information (ν + 1)/((ν + 3) σ²), which does not depend on f."""
        nu, residual, spread = self.degrees_of_freedom, obs.y - f, self._spread(obs)
        information = nu * (nu + 1) / ((nu + 3) * spread)
        slope = (nu + 1) * residual / (spread + residual**2)
        return slope, np.array(np.broadcast_to(information, np.shape(f)))

    def likeliest(self, obs: Observations) -> Array:
        return obs.y

    def parameter_derivatives(self, obs: Observations, f: Array) -> list[ParameterDerivatives]:
        nu, spread, residual = self.degrees_of_freedom, self._spread(obs), obs.y - f
        total = spread + residual**2
        return [
            ParameterDerivatives(
                (nu + 1) * residual**2 / total - 1.0,
                -2.0 * (nu + 1) * residual * spread / total**2,
                2.0 * (nu + 1) * (spread / total) * (3.0 * residual**2 - spread) / total**2,
            )
        ]

    def cdf(self, y: Array, f: Array) -> Array:
        return np.asarray(stdtr(self.degrees_of_freedom, (y - f) / self._parameter("scale")))

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        f = np.asarray(f, dtype=float)
        return f + self._parameter("scale") * rng.standard_t(self.degrees_of_freedom, f.shape)

    def initial_mean(self, obs: Observations) -> float:
        """Weighted median of y, which is robust to outliers."""
        return weighted_median(obs.y, obs.weight / np.sqrt(obs.noise_scale))

    def latent_scale(self, obs: Observations) -> float:
        """Median absolute deviation of y, as a standard deviation (the plain one if most y are equal)."""
        center = self.initial_mean(obs)
        away = np.abs(obs.y - center)
        spread = weighted_median(away, obs.weight / np.sqrt(obs.noise_scale)) / _NORMAL_MAD
        if spread <= 1e-10 * abs(center):
            spread = float(np.sqrt(np.average(away**2, weights=obs.weight)))
        return positive_spread(spread, center)

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        """A third of the latent scale, at the typical noise_scale."""
        typical = float(np.exp(0.5 * np.mean(np.log(obs.noise_scale))))
        return {"scale": self.latent_scale(obs) / (3.0 * typical)}
