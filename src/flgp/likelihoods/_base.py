"""The interface of a likelihood p(y | f)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from .._typing import Array
from ._tilted import Tilted, tilted_expectations, tilted_moments
from .observations import ARGUMENTS, LARGEST, SMALLEST, Observations, refuse

__all__ = [
    "Derivatives",
    "Likelihood",
    "Observations",
    "ParameterDerivatives",
    "Tilted",
    "refuse",
]

# 40 Gauss-Hermite nodes integrate smooth links over a Gaussian to about 1e-8.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()

# Values of a function under an integral that are held at once: few enough for the cache.
_AT_ONCE = 20_000

_CONSTANT_STEPS = 30

# Step, on the log scale, of the central differences in the likelihood parameters.
_PARAMETER_STEP = 1e-5


class Derivatives(NamedTuple):
    """Derivatives of log p(y | f) in f, each of the shape of f."""

    gradient: Array  # ∂ log p / ∂f
    curvature: Array  # W = -∂² log p / ∂f²
    third: Array  # ∂³ log p / ∂f³


class ParameterDerivatives(NamedTuple):
    """Derivatives in the logarithm of one likelihood parameter, each of the shape of f."""

    log_density: Array
    gradient: Array
    curvature: Array


class Likelihood(ABC):
    """A distribution of y given the latent f, one row at a time.

    Subclasses are frozen dataclasses. Their fields named in `parameter_names` are positive; those that are
    None (`free_parameters`) are learned together with the kernel hyperparameters. Only `log_density`,
    `conditional_mean` and `conditional_variance` are required; everything else has a default.

    Everywhere f has shape (m,) or (k, m), with the rows of `obs` along its last axis. The inference applies
    `obs.weight`, except in the two methods named `tilted...`, whose density is p(y | f)^weight.

    Examples
    --------
    >>> from flgp.likelihoods import Gamma, Observations
    >>> obs = Observations.of([1.0, 2.0])
    >>> Gamma(shape=1.0).log_density(obs, f=0.0).round(3)  # exponential with mean 1
    array([-1., -2.])
    >>> Gamma().free_parameters
    ('shape',)
    """

    name: ClassVar[str]
    parameter_names: ClassVar[tuple[str, ...]] = ()
    uses: ClassVar[tuple[str, ...]] = ()  # which of exposure, trials and noise_scale it uses
    log_concave: ClassVar[bool] = True
    discrete: ClassVar[bool] = False  # y is a whole number ≥ 0
    location: ClassVar[bool] = False  # p(y | f) depends on y - f alone
    largest: ClassVar[float] = np.inf  # no y is larger
    smooth: ClassVar[bool] = True  # has a curvature, which Laplace's method needs

    def __post_init__(self) -> None:
        for name in self.parameter_names:
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise ValueError(f"{name} of {type(self).__name__} must be positive and finite, not {value}.")

    @abstractmethod
    def log_density(self, obs: Observations, f: Array) -> Array:
        """Log-density log p(y_i | f_i) for every row, normalised over y."""

    def log_density_in_f(self, obs: Observations, f: Array) -> Array:
        """`log_density` up to terms without f, which some likelihoods can leave out at a gain."""
        return self.log_density(obs, f)

    @abstractmethod
    def conditional_mean(self, f: Array) -> Array:
        """E[y | f] for one trial and unit exposure: the inverse link l(f)."""

    @abstractmethod
    def conditional_variance(self, f: Array) -> Array:
        """Var[y | f] for one trial and unit exposure."""

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """First three derivatives of `log_density` in f; by central differences unless overridden."""
        step = 1e-3 * (1.0 + np.abs(f))
        at = {k: self.log_density(obs, f + k * step) for k in (-2, -1, 0, 1, 2)}
        gradient = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * step)
        second = (16 * (at[1] + at[-1]) - (at[2] + at[-2]) - 30 * at[0]) / (12 * step**2)
        third = (at[2] - at[-2] - 2 * (at[1] - at[-1])) / (2 * step**3)
        return Derivatives(gradient, -second, third)

    def slope_and_curvature(self, obs: Observations, f: Array) -> tuple[Array, Array]:
        """The first two of `derivatives`, for likelihoods whose third derivative costs much."""
        d = self.derivatives(obs, f)
        return d.gradient, d.curvature

    def slope_and_expected_curvature(self, obs: Observations, f: Array) -> tuple[Array, Array]:
        """The slope, and W as the Newton iteration uses it: never negative, so that the matrix stays positive
        definite.

        This is the curvature itself where the density is log-concave. Other likelihoods may return the Fisher
        information E[W | f] instead of 0 where the curvature is negative: steps still ascend, and the modes
        are the same, because they depend on the gradient alone.
        """
        slope, curvature = self.slope_and_curvature(obs, f)
        return slope, np.maximum(curvature, 0.0)

    def likeliest(self, obs: Observations) -> Array | None:
        """The f with the largest p(y | f) for each row, if known; `tilted` looks there for a second mode.

        Needed only by likelihoods that are not log-concave.
        """
        return None

    def parameter_derivatives(self, obs: Observations, f: Array) -> list[ParameterDerivatives]:
        """One entry for each of `parameter_names`, in the logarithm of the parameter."""
        result = []
        for name in self.parameter_names:
            value = self._parameter(name)
            up = self.with_parameters(**{name: value * np.exp(_PARAMETER_STEP)})
            down = self.with_parameters(**{name: value * np.exp(-_PARAMETER_STEP)})
            high, low = up.slope_and_curvature(obs, f), down.slope_and_curvature(obs, f)
            result.append(
                ParameterDerivatives(
                    (up.log_density(obs, f) - down.log_density(obs, f)) / (2 * _PARAMETER_STEP),
                    (high[0] - low[0]) / (2 * _PARAMETER_STEP),
                    (high[1] - low[1]) / (2 * _PARAMETER_STEP),
                )
            )
        return result

    def tilted(self, obs: Observations, mean: Array, variance: Array) -> Tilted:
        """Log Z and its derivatives in the mean, for Z = ∫ N(f; mean, variance) p(y | f)^weight df.

        With unit weights log Z is also the log predictive density of y.
        """
        return tilted_moments(self, obs, mean, variance)

    def _with_weights(
        self,
        closed_form: Callable[[Observations, Array, Array], Tilted],
        obs: Observations,
        mean: Array,
        variance: Array,
    ) -> Tilted:
        """`closed_form`, which is for unit weights, with rows of other weights by quadrature."""
        mean, variance = (np.broadcast_to(np.asarray(v, dtype=float), obs.y.shape) for v in (mean, variance))
        unit = obs.weight == 1.0
        if unit.all():
            return closed_form(obs, mean, variance)
        result = tilted_moments(self, obs.take(~unit), mean[~unit], variance[~unit])
        if unit.any():
            others, result = result, Tilted(*np.empty((3, len(unit))))
            plain = closed_form(obs.take(unit), mean[unit], variance[unit])
            for whole, weighted, part in zip(result, others, plain, strict=True):
                whole[~unit], whole[unit] = weighted, part
        return result

    def tilted_parameter_gradient(self, obs: Observations, mean: Array, variance: Array) -> list[Array]:
        """∂ log Z / ∂ log parameter of `tilted`, one array (m,) for each of `parameter_names`.

        This is E[weight · ∂ log p / ∂ log parameter] under the tilted density.
        """
        if not self.parameter_names:
            return []
        return tilted_expectations(
            self,
            obs,
            mean,
            variance,
            lambda rows, f: [d.log_density for d in self.parameter_derivatives(rows, f)],
        )

    def predictive_mean(self, mean: Array, variance: Array) -> Array:
        """E[y] = E[l(f)] for f ~ N(mean, variance): the integral, not l(mean)."""
        return gaussian_average(self.conditional_mean, mean, variance)

    def predictive_variance(self, mean: Array, variance: Array) -> Array:
        """Var[y] = E[Var(y | f)] + Var(E(y | f)) for f ~ N(mean, variance)."""
        first = self.predictive_mean(mean, variance)
        within = gaussian_average(self.conditional_variance, mean, variance)
        between = gaussian_average(lambda f: (self.conditional_mean(f) - first) ** 2, mean, variance)
        return within + between

    def cdf(self, y: Array, f: Array) -> Array:
        """P(Y ≤ y | f) for one trial and unit exposure; `predict_interval` needs it."""
        raise NotImplementedError(f"{type(self).__name__} has no P(Y ≤ y | f): define `cdf`.")

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        """Draws of y given f (one trial, unit exposure), of the shape of f."""
        raise NotImplementedError(f"{type(self).__name__} cannot draw y: define `sample`.")

    def of_size(self, size: Array) -> Likelihood:
        """The distribution of y at this exposure or number of trials, whichever applies."""
        raise NotImplementedError(
            f"{type(self).__name__} only predicts for one trial and unit exposure: define `of_size`."
        )

    def validate(self, obs: Observations) -> None:
        """Raise a ValueError that names the rows where y is impossible under this likelihood."""
        missing = "Use NaN in y for rows without a label, or drop them."
        refuse(~np.isfinite(obs.y), obs, "Labels must be finite", missing)
        refuse(np.abs(obs.y) > LARGEST, obs, f"Labels must be at most {LARGEST} in size", "Change the units.")
        self.validate_known(obs, missing)

    def validate_known(self, obs: Observations, remedy: str) -> None:
        """The same checks without y, for prediction."""
        for name, argument in ARGUMENTS.items():
            value = getattr(obs, name)
            bad = ~(np.isfinite(value) & (value > 0))
            refuse(bad, obs, f"{argument} must be positive and finite", remedy)
            bad = (value < SMALLEST) | (value > LARGEST)
            refuse(bad, obs, f"{argument} must be between {SMALLEST} and {LARGEST}", "Change the units.")
            if name != "weight" and name not in self.uses and np.any(value != 1):
                raise ValueError(f"The {self.name} likelihood does not use {argument}: leave it out.")

    def for_labels(self, obs: Observations) -> Self:
        """The same, with what only the labels tell: the levels of an ordinal scale."""
        return self

    def absorb_weights(self, obs: Observations) -> Observations:
        """Rewrite `obs` where a weight means something better than a power of the density."""
        return obs

    def without_offset(self, obs: Observations) -> Observations:
        """The labels as if there were no offset, for starting values: what it explains is taken out of them,
        where the link allows that.
        """
        return replace(obs, offset=np.zeros_like(obs.offset))

    def about(self, obs: Observations, offset: float | Array) -> tuple[Observations, float | Array]:
        """Labels and prior mean of f, both minus the latter where only y - f matters: an offset that is large
        compared with how y varies takes no digits then.
        """
        return (replace(obs, y=obs.y - offset), 0.0) if self.location else (obs, offset)

    def constant_beside_offset(self, obs: Observations) -> float:
        """The constant that fits best in addition to `obs.offset`, by Newton's method."""
        plain = self.without_offset(obs)
        constant, scale = self.initial_mean(plain), self.latent_scale(plain)
        if not (self.smooth and np.any(obs.offset)):
            return constant
        initial = self.initial_parameters(plain)
        known = self.with_parameters(**initial) if self.free_parameters else self
        for _ in range(_CONSTANT_STEPS):
            f = constant + obs.offset
            # A weak prior: labels of one kind would move the constant without end.
            slopes, bends = known.slope_and_expected_curvature(obs, f)
            slope = float(obs.weight @ slopes) - constant / (10.0 * scale) ** 2
            bend = float(obs.weight @ bends) + (10.0 * scale) ** -2.0
            constant += float(np.clip(slope / bend, -scale, scale))
        return constant

    def initial_mean(self, obs: Observations) -> float:
        """The constant f that fits the data best; f returns to it far from all labels."""
        return 0.0

    def latent_scale(self, obs: Observations) -> float:
        """A typical size of f about its mean, for starting values and weak priors."""
        return 1.0

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        """Starting values of the learned parameters."""
        return {name: 1.0 for name in self.parameter_names}

    def parameter_bounds(self, obs: Observations) -> dict[str, tuple[float, float]]:
        """Stated bounds of the learned parameters."""
        return {name: (1e-4, 1e4) for name in self.parameter_names}

    @property
    def free_parameters(self) -> tuple[str, ...]:
        """Names of the parameters without a value, which are learned."""
        return tuple(name for name in self.parameter_names if getattr(self, name) is None)

    def with_parameters(self, **values: float) -> Self:
        """The same likelihood with some parameters set."""
        return replace(self, **values)  # type: ignore[type-var]  # every subclass is a dataclass

    def _parameter(self, name: str) -> float:
        """The value of a parameter that must already be set."""
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"{type(self).__name__} needs a value for {name}: use `with_parameters`.")
        return float(value)


def gaussian_average(
    function: Callable[[Array], Array],
    mean: Array,
    variance: Array,
    nodes: Array = _NODES,
    weights: Array = _WEIGHTS,
) -> Array:
    """E[function(f)] ≈ Σ_k weights_k · function(mean + sd · nodes_k), many nodes at once for few values.

    The function may return less than the shape of what it is given, such as a constant.
    """
    mean, variance = np.broadcast_arrays(np.asarray(mean, float), np.asarray(variance, float))
    sd, total = np.sqrt(variance), np.zeros(mean.shape)
    step = max(_AT_ONCE // max(mean.size, 1), 1)
    for start in range(0, len(nodes), step):
        some = slice(start, start + step)
        f = mean + sd * nodes[some].reshape(-1, *[1] * mean.ndim)
        total += np.tensordot(weights[some], np.broadcast_to(function(f), f.shape), axes=1)
    return total
