"""The evidence of one latent function as a function of its hyperparameters, with exact gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from .._stored import stored
from .._typing import Array, IntArray
from ..inference.posterior import Evaluation, Inference, Point
from ..likelihoods import AnyLikelihood, Categorical, Observations
from ..priors import InverseGamma, LogNormal, Prior
from ..terms import AMPLITUDE, TIME, Constant, Local, Manifold, Term, Terms
from ..terms.local.euclidean import LocalModel

NOISE = "noise_variance"  # of Gaussian labels, by name


@stored("known hyperparameters")
@dataclass(frozen=True)
class KnownValues:
    """Hyperparameters of an earlier fit, to be kept."""

    values: Mapping[str, float]
    likelihood: AnyLikelihood  # with its learned parameters
    local: Local | None = None
    # Those of the least-squares fits that are weighed against a probit, by name.
    least_squares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Judges:
    """Left-out labels of which a share is drawn at random, as judges of how sure to be."""

    noise: float
    weight: Array  # (m,) whatever they count as evidence of f


@dataclass(frozen=True)
class Target:
    """One latent function to learn: which labelled rows inform it, and their labels."""

    rows: IntArray  # positions among the labelled rows
    obs: Observations
    likelihood: AnyLikelihood  # Categorical for coupled classes
    constant: Constant = field(default_factory=Constant)
    known: KnownValues | None = None
    exclusive: bool = False  # classes that are learned together, and of which exactly one is right
    calibrated: bool = False  # left-out labels say how sure to be
    judges: Judges | None = None  # if these are not the labels as they count here

    @property
    def prior_mean(self) -> float | Array:
        """Of f at the labelled rows: the constant's, and the offset."""
        return self.constant.mean + self.obs.offset if np.any(self.obs.offset) else self.constant.mean

    @property
    def plain(self) -> Observations:
        """The labels with the offset taken out, for scales and starting values."""
        if isinstance(self.likelihood, Categorical) or not np.any(self.obs.offset):
            return self.obs
        return self.likelihood.without_offset(self.obs)

    def with_constant(self, features: Array) -> Array:
        """Features (m, M) with a column of ones for a constant that is learned."""
        return np.column_stack([features, np.ones(len(features))]) if self.constant.learned else features


@dataclass(frozen=True)
class HyperSpace:
    """Which hyperparameters exist, which are given, where the others may go, and their priors."""

    names: tuple[str, ...]
    fixed: Mapping[str, float]
    bounds: Mapping[str, tuple[float, float]]
    priors: Mapping[str, Prior]
    # The amplitude's prior is on the variance of its part of f, a² Σ_i k(λ_i, t), not on a²: the variance is
    # what one knows something about, whereas a² alone says little without t.
    manifold: Manifold | None = None

    @classmethod
    def of(
        cls, target: Target, terms: Terms, fixed: Mapping[str, float], local: Local | None = None
    ) -> HyperSpace:
        """Those of the terms, then of the likelihood (the shape of a local kernel comes last)."""
        likelihood, obs = target.likelihood, target.plain
        scale, initial = likelihood.latent_scale(obs), likelihood.initial_parameters(obs)
        own = likelihood.parameter_names
        set_already = {name: float(v) for name in own if (v := getattr(likelihood, name)) is not None}
        extra = local.parameters if local is not None else ()
        names = (*terms.parameters, *extra[:2], *own, *extra[2:])
        bounds: dict[str, tuple[float, float]] = {}
        priors: dict[str, Prior] = {}
        parts: list[Term | Local] = [*terms.parts, *([] if local is None else [local])]
        for part in parts:
            bounds |= part.bounds(scale)
            priors |= part.priors(scale)
        for name in own:
            noise = name == NOISE
            priors[name] = InverseGamma(0.1, 1e-3 * scale**2) if noise else LogNormal(initial[name], 2.0)
        given = {name: value for name, value in fixed.items() if name in names}
        manifold = terms.find(Manifold)
        bounds |= likelihood.parameter_bounds(obs)
        return cls(names, {**given, **set_already}, bounds, priors, manifold and manifold[0])

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the learned ones; theta is their logarithms in this order."""
        return tuple(name for name in self.names if name not in self.fixed)

    def values(self, theta: Array) -> dict[str, float]:
        """All hyperparameters by name."""
        learned = dict(zip(self.free, np.exp(np.asarray(theta, float)).tolist(), strict=True))
        return {name: learned[name] if name in learned else self.fixed[name] for name in self.names}

    def theta(self, values: Mapping[str, float]) -> Array:
        """Logarithms of the learned ones among `values`."""
        return np.log([values[name] for name in self.free]) if self.free else np.empty(0)

    def inside(self, values: Mapping[str, float]) -> Array:
        """The same, moved to within the bounds."""
        return self.clipped(self.theta(values))

    def log_bounds(self) -> Array:
        """Lower and upper bounds of theta, (k, 2)."""
        return np.log(np.reshape([self.bounds[name] for name in self.free], (-1, 2)))

    def clipped(self, theta: Array) -> Array:
        """Theta moved to within its bounds."""
        return np.clip(theta, *self.log_bounds().T)

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Log π(theta) and its gradient."""
        at = dict(zip(self.free, np.asarray(theta, float).tolist(), strict=True))
        log_trace, trace_slope = 0.0, 0.0
        if AMPLITUDE in at and self.manifold is not None:
            log_trace, trace_slope = self.manifold.log_trace(self.values(theta)[TIME])
        total, slopes = 0.0, dict.fromkeys(at, 0.0)
        for name, x in at.items():
            value, slope = self.priors[name](x + log_trace if name == AMPLITUDE else x)
            total += value
            slopes[name] += slope
            if name == AMPLITUDE and TIME in at:
                slopes[TIME] += slope * trace_slope
        return total, np.array([slopes[name] for name in self.free])


@dataclass
class Evidence:
    """log p(y | theta), as a function of the free hyperparameters."""

    inference: Inference
    terms: Terms
    target: Target
    space: HyperSpace
    local: Local | None = None
    evaluations: int = field(default=0, init=False)
    _state: Array | None = field(default=None, init=False)

    def variances(self, values: Mapping[str, float]) -> Array:
        """Prior variances d of the features, a learned constant's included."""
        d, constant = self.terms.variances(values), self.target.constant.variance
        return d if constant is None else np.append(d, constant)

    def likelihood_at(self, values: Mapping[str, float]) -> AnyLikelihood:
        """The likelihood with its parameters set."""
        likelihood = self.target.likelihood
        own = {name: values[name] for name in likelihood.parameter_names}
        return likelihood.with_parameters(**own) if own else likelihood

    def local_at(self, values: Mapping[str, float]) -> LocalModel | None:
        """The local term with its parameters set, if there is one; without noise."""
        return None if self.local is None else self.local.model(values)

    def point(self, values: Mapping[str, float]) -> Point:
        """The same for the inference."""
        return Point(self.variances(values), self.likelihood_at(values), self.local_at(values))

    def evaluate(
        self, theta: Array, rough: bool = False, one_of_many: bool = False
    ) -> tuple[Evaluation, Array]:
        """Evaluation at theta, and the gradient of the log evidence in theta (incomplete for one of many)."""
        values = self.space.values(theta)
        at = replace(self.point(values), state=self._state, rough=rough, one_of_many=one_of_many)
        result = self.inference.evaluate(at)
        if np.isfinite(result.log_evidence):  # otherwise the next evaluation cannot start from its state
            self._state = result.state
        self.evaluations += 1
        by_name = self.terms.gradient(values, result.gradient_log_d[: self.terms.n_features])
        names = self.target.likelihood.parameter_names
        by_name |= dict(zip(names, result.gradient_parameters, strict=True))
        if self.local is not None:
            by_name |= dict(zip(self.local.parameters, result.gradient_local, strict=True))
        return result, np.array([by_name[name] for name in self.space.free])

    def log_posterior(self, theta: Array, rough: bool = False) -> tuple[float, Array]:
        """Log p(y | theta) + log π(theta) and its gradient."""
        result, gradient = self.evaluate(theta, rough)
        prior, slope = self.space.log_prior(theta)
        return result.log_evidence + prior, gradient + slope
