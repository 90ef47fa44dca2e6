"""Learning the hyperparameters: evidence plus prior, exact gradients, several starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from .._typing import Array
from ..kernels import SpectralKernel
from .posterior import Evaluation
from .priors import Prior

TIME, AMPLITUDE = "diffusion_time", "amplitude"
_GRADIENT_TOLERANCE = 1e-3
# Starts that are followed, of those looked at.
_FOLLOWED = 2
# Modes closer than this, in logarithms, are the same.
_APART = 1.0
# Where the labels say nothing about t (one in each part of the graph), rounding must not choose it: among
# equals the longest time, which carries a label farthest.
_TILT = 1e-6


class Inference(Protocol):
    """What the search needs of an approximation: Gaussian, Laplace or EP."""

    def evaluate(
        self, d: Array, likelihood: Any, state: Array | None = None, rough: bool = False
    ) -> Evaluation:
        """Evidence, derivatives, posterior; a rough one may stop an inner iteration earlier."""
        ...


@dataclass(frozen=True)
class HyperSpace:
    """Which hyperparameters exist, which are given, where the others may go, and their priors."""

    names: tuple[str, ...]  # TIME, AMPLITUDE, then the likelihood's
    fixed: Mapping[str, float]
    bounds: Mapping[str, tuple[float, float]]
    priors: Mapping[str, Prior]
    # Where they are given, the amplitude's prior is on the variance of f, a² Σ_i exp(-tλ_i), not on a²: the
    # variance is what one knows something about, whereas a² alone says little without t.
    eigenvalues: Array | None = None  # (M,)
    kernel: SpectralKernel | None = None

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

    def log_bounds(self) -> list[tuple[float, float]]:
        """Bounds of theta."""
        return [(np.log(low), np.log(high)) for low, high in (self.bounds[name] for name in self.free)]

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Log π(theta) and its gradient."""
        at = dict(zip(self.free, np.asarray(theta, float).tolist(), strict=True))
        log_trace, trace_slope = self._log_trace(theta) if AMPLITUDE in at else (0.0, 0.0)
        total, slopes = 0.0, dict.fromkeys(at, 0.0)
        for name, x in at.items():
            value, slope = self.priors[name](x + log_trace if name == AMPLITUDE else x)
            total += value
            slopes[name] += slope
            if name == AMPLITUDE and TIME in at:
                slopes[TIME] += slope * trace_slope
        return total, np.array([slopes[name] for name in self.free])

    def _log_trace(self, theta: Array) -> tuple[float, float]:
        """Log Σ_i d_i/a² and its derivative in log t."""
        if self.eigenvalues is None or self.kernel is None:
            return 0.0, 0.0
        time = self.values(theta)[TIME]
        logs = self.kernel.log_density(self.eigenvalues, time)
        largest = float(logs.max())
        weights = np.exp(logs - largest)
        total = float(weights.sum())
        slope = float(weights @ self.kernel.log_density_slope(self.eigenvalues, time)) / total
        return largest + float(np.log(total)), slope


@dataclass
class Evidence:
    """log p(y | theta), as a function of the free hyperparameters.

    The last column of the features may be the intercept, whose prior variance is not learned.
    """

    inference: Inference
    eigenvalues: Array  # (M,)
    kernel: SpectralKernel
    likelihood: Any  # Likelihood or Categorical
    space: HyperSpace
    intercept_variance: float | None = None
    evaluations: int = field(default=0, init=False)
    _state: Array | None = field(default=None, init=False)

    def weights(self, values: Mapping[str, float]) -> Array:
        """Prior variances d of the features, intercept included."""
        d = values[AMPLITUDE] * np.exp(self.kernel.log_density(self.eigenvalues, values[TIME]))
        return d if self.intercept_variance is None else np.append(d, self.intercept_variance)

    def likelihood_at(self, values: Mapping[str, float]) -> Any:
        """The likelihood with its parameters set."""
        own = {name: values[name] for name in self.likelihood.parameter_names}
        return self.likelihood.with_parameters(**own) if own else self.likelihood

    def evaluate(self, theta: Array, rough: bool = False) -> tuple[Evaluation, Array]:
        """Evaluation at theta, and the gradient of the log evidence in theta."""
        values = self.space.values(theta)
        d, likelihood = self.weights(values), self.likelihood_at(values)
        result = self.inference.evaluate(d, likelihood, self._state, rough)
        self._state = result.state
        self.evaluations += 1
        along = result.gradient_log_d[: len(self.eigenvalues)]
        slope = self.kernel.log_density_slope(self.eigenvalues, values[TIME])
        own = dict(zip(self.likelihood.parameter_names, result.gradient_parameters, strict=True))
        by_name = {TIME: along @ slope, AMPLITUDE: along.sum(), **own}
        return result, np.array([by_name[name] for name in self.space.free])

    def log_posterior(self, theta: Array, rough: bool = False) -> tuple[float, Array]:
        """Log p(y | theta) + log π(theta) and its gradient."""
        result, gradient = self.evaluate(theta, rough)
        prior, slope = self.space.log_prior(theta)
        return result.log_evidence + prior, gradient + slope


@dataclass(frozen=True)
class Fit:
    """The best hyperparameters found, and what is known there."""

    theta: Array
    values: dict[str, float]
    evaluation: Evaluation
    likelihood: Any  # Likelihood or Categorical
    log_posterior: float
    report: OptimizeResult
    rivals: list[Array] = field(default_factory=list)  # theta of other modes that were seen on the way


def maximize(evidence: Evidence, starts: Sequence[Array], alternatives: int = 1, rough: bool = False) -> Fit:
    """L-BFGS from the most promising starts, roughly; then to convergence from the better end.

    `rough`: only the first of the two.

    The evidence is multi-modal in t, so all starts are looked at, in order of t; those that are better than
    their neighbours, and so may lead to different modes, are followed. `alternatives` consecutive starts
    share a t; only the best of them counts.
    """
    space = evidence.space
    found: OptimizeResult | None = None
    inside: list[Array] = []
    if space.free:
        bounds = space.log_bounds()
        inside = [np.clip(start, *np.transpose(bounds)) for start in starts]
        if len(inside) > 1:
            groups = np.empty((len(inside) // alternatives, alternatives))
            for j in range(alternatives):
                # Along t and back: each evaluation begins at its neighbour's state.
                for i in range(len(groups))[:: -1 if j % 2 else 1]:
                    groups[i, j] = evidence.log_posterior(inside[i * alternatives + j], rough=True)[0]
            inside = [inside[i * alternatives + j] for i, j in enumerate(groups.argmax(axis=1))]
            values = (groups.max(axis=1) + _TILT * np.arange(len(groups))).tolist()
            ends = [_climb(evidence, inside[i], bounds, rough=True) for i in _peaks(values)]
            ends.sort(key=lambda end: end.fun)
            inside, found = [end.x for end in ends], ends[0]
        if found is None or not rough:
            found = _climb(evidence, inside[0], bounds, rough)
    best = fit_at(evidence, found.x if found is not None else np.empty(0), found, rough)
    rivals = [other for other in inside[1:] if np.abs(other - best.theta).max() > _APART]
    return replace(best, rivals=rivals)


def fit_at(evidence: Evidence, theta: Array, found: OptimizeResult | None, rough: bool = False) -> Fit:
    """What is known at theta, where a search ended (None: nothing was searched)."""
    space = evidence.space
    evaluation, gradient = evidence.evaluate(theta, rough)
    prior, slope = space.log_prior(theta)
    values_at_end = space.values(theta)
    return Fit(
        theta,
        values_at_end,
        evaluation,
        evidence.likelihood_at(values_at_end),
        evaluation.log_evidence + prior,
        _report(evidence, theta, gradient + slope, found),
    )


def _peaks(values: Sequence[float]) -> list[int]:
    """Positions of the local maxima of a sequence, the highest first, at most `_FOLLOWED`."""
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    peaks = np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:]))
    return sorted(peaks.tolist(), key=lambda i: -values[i])[:_FOLLOWED] or [0]


def _climb(evidence: Evidence, start: Array, bounds: Any, rough: bool) -> OptimizeResult:
    def objective(theta: Array) -> tuple[float, Array]:
        value, gradient = evidence.log_posterior(theta, rough)
        return -value, -gradient

    options = {"maxiter": 60, "gtol": _GRADIENT_TOLERANCE}
    if rough:
        options = {"maxiter": 12, "gtol": 0.05, "ftol": 1e-4}
    return minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)


def _report(
    evidence: Evidence, theta: Array, gradient: Array, found: OptimizeResult | None
) -> OptimizeResult:
    """`optimizer_result_`: where the search ended, and whether a bound or a flat gradient stopped it."""
    names = evidence.space.free
    bounds = evidence.space.log_bounds()
    at_bound = {
        name: bool(x - low < 1e-6 or high - x < 1e-6)
        for name, x, (low, high) in zip(names, theta, bounds, strict=True)
    }
    return OptimizeResult(
        names=names,
        theta=theta,
        gradient=gradient,
        bounds=dict(zip(names, bounds, strict=True)),
        at_bound=at_bound,
        n_evaluations=evidence.evaluations,
        success=True if found is None else bool(found.success),
        message="nothing to learn" if found is None else str(found.message),
    )


def starting_times(eigenvalues: Array, count: int = 8) -> Array:
    """Diffusion times from where all of the kept eigenfunctions count to where only the slowest do."""
    positive = eigenvalues[eigenvalues > 1e-12]
    if len(positive) == 0:
        return np.array([1.0])
    fastest, slowest = float(positive[-1]), float(np.quantile(positive, 0.02))
    return np.maximum(np.geomspace(1.0 / fastest, 1.0 / slowest, count), 1.0)


def time_bounds(eigenvalues: Array) -> tuple[float, float]:
    """From one tenth of a graph step to where every non-constant eigenfunction is gone."""
    positive = eigenvalues[eigenvalues > 1e-12]
    slowest = float(positive[0]) if len(positive) else 1.0
    return 0.1, max(60.0 / slowest, 1e3)
