"""The best hyperparameters: several starts, quasi-Newton, and what is known where it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import OptimizeResult

from .._typing import Array
from ..inference.posterior import Evaluation
from ..likelihoods import AnyLikelihood, Gaussian, Heteroscedastic
from ..terms import AMPLITUDE, TIME
from .ascent import ascend
from .evidence import Evidence, Target

_GRADIENT_TOLERANCE = 1e-3
# Starts that are followed, of those looked at.
_FOLLOWED = 2
# Modes closer than this, in logarithms, are the same.
_APART = 1.0
# Where the labels say nothing about t (one in each part of the graph), rounding must not choose it: among
# equals the longest time, which carries a label farthest.
_TILT = 1e-6
# Shares of the variance of f that the manifold and the other terms may start with.
_SHARES = ((0.7, 0.3), (0.2, 0.8))


@dataclass(frozen=True)
class Optimum:
    """The best hyperparameters found, and what is known there."""

    theta: Array
    values: dict[str, float]
    evaluation: Evaluation
    likelihood: AnyLikelihood
    log_posterior: float
    report: OptimizeResult
    rivals: list[Array] = field(default_factory=list)  # theta of other modes that were seen on the way

    @classmethod
    def of(cls, evidence: Evidence, theta: Array, evaluation: Evaluation, report: OptimizeResult) -> Optimum:
        """What the evaluation at theta says."""
        values = evidence.space.values(theta)
        log_posterior = evaluation.log_evidence + evidence.space.log_prior(theta)[0]
        return cls(theta, values, evaluation, evidence.likelihood_at(values), log_posterior, report)


@dataclass(frozen=True)
class LearnedFunction:
    """A latent function's evidence and its best hyperparameters."""

    evidence: Evidence
    best: Optimum

    @property
    def target(self) -> Target:
        """What the labels say about it."""
        return self.evidence.target


def search(evidence: Evidence, near: LearnedFunction | None = None, rough: bool = False) -> Optimum:
    """The best hyperparameters; `near`: of the same function on features that are not much different."""
    return maximize(evidence, *starting_points(evidence, near), rough)


def maximize(
    evidence: Evidence, starts: Sequence[Array], alternatives: int = 1, rough: bool = False
) -> Optimum:
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
        inside = [space.clipped(start) for start in starts]
        if len(inside) > 1:
            groups = np.empty((len(inside) // alternatives, alternatives))
            for j in range(alternatives):
                # Along t and back: each evaluation begins at its neighbour's state.
                for i in range(len(groups))[:: -1 if j % 2 else 1]:
                    groups[i, j] = evidence.log_posterior(inside[i * alternatives + j], rough=True)[0]
            inside = [inside[i * alternatives + j] for i, j in enumerate(groups.argmax(axis=1))]
            values = (groups.max(axis=1) + _TILT * np.arange(len(groups))).tolist()
            ends = [climb(evidence, inside[i], bounds, rough=True) for i in _peaks(values)]
            ends.sort(key=lambda end: end.fun)
            inside, found = [end.x for end in ends], ends[0]
        if found is None or not rough:
            found = climb(evidence, inside[0], bounds, rough)
    best = optimum_at(evidence, found.x if found is not None else np.empty(0), found, rough)
    rivals = [other for other in inside[1:] if np.abs(other - best.theta).max() > _APART]
    return replace(best, rivals=rivals)


def optimum_at(
    evidence: Evidence, theta: Array, found: OptimizeResult | None = None, rough: bool = False
) -> Optimum:
    """What is known at theta, where a search ended (None: nothing was searched)."""
    evaluation, gradient = evidence.evaluate(theta, rough)
    if not (rough or np.isfinite(evaluation.log_evidence)):
        raise ValueError(
            f"The posterior was not found: the {evidence.target.likelihood.name} likelihood's approximation "
            "does not settle for these labels and weights. Use another likelihood or inference, less extreme "
            "weights, or labels in other units."
        )
    report = _report(evidence, theta, gradient + evidence.space.log_prior(theta)[1], found)
    return Optimum.of(evidence, theta, evaluation, report)


def _peaks(values: Sequence[float]) -> list[int]:
    """Positions of the local maxima of a sequence, the highest first, at most `_FOLLOWED`."""
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    peaks = np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:]))
    return sorted(peaks.tolist(), key=lambda i: -values[i])[:_FOLLOWED] or [0]


def climb(
    evidence: Evidence,
    start: Array,
    bounds: Array,
    rough: bool,
    first_step: float = np.inf,
) -> OptimizeResult:
    """L-BFGS within the bounds of theta."""
    options = {"maxiter": 60, "gtol": _GRADIENT_TOLERANCE, "first_step": first_step}
    if rough:
        options |= {"maxiter": 12, "gtol": 0.05, "ftol": 1e-4}
    return ascend(lambda theta: evidence.log_posterior(theta, rough), start, bounds, **options)


def _report(
    evidence: Evidence, theta: Array, gradient: Array, found: OptimizeResult | None
) -> OptimizeResult:
    """`optimizer_result_`: where the search ended, and whether a bound or a flat gradient stopped it."""
    names = evidence.space.free
    bounds = list(map(tuple, evidence.space.log_bounds().tolist()))
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


def starting_points(evidence: Evidence, near: LearnedFunction | None = None) -> tuple[list[Array], int]:
    """Several diffusion times, each with amplitudes that give f a plausible variance.

    Gaussian labels show the variance of f. Others only bound it from below, so two amplitudes are tried: with
    a large one alone, a smooth function with little noise looks worse than a constant. Where there are other
    terms than the manifold, either may start with the larger share of the variance.

    Beside another bandwidth the variance of f and the likelihood's parameters are those found there (`warm`,
    by the evidence `beside`); t is in steps of the graph, which differ there, so it is searched again. The
    noise depends on the mode in t, so its first guess is tried as well.

    Returns the starts (k,), in order of t, and how many of them share each t.
    """
    space, target = evidence.space, evidence.target
    manifold, free = space.manifold, space.free
    scale = target.likelihood.latent_scale(target.plain)
    initial = target.likelihood.initial_parameters(target.plain)
    others = [name for name in evidence.terms.parameters if name not in (TIME, AMPLITUDE)]
    spreads = (1.0,) if isinstance(target.likelihood, Gaussian | Heteroscedastic) else (0.6, 3.0)
    shares = _SHARES if others and manifold is not None else ((1.0, 1.0),)
    choices = []
    for spread in spreads:
        for own, rest in shares:
            variance = (spread * scale) ** 2
            each = {name: rest * variance / len(others) for name in others}
            choices.append((own * variance, {**each, **initial}))
    if near is not None and manifold is not None:
        known = near.best.values
        there = known[AMPLITUDE] * _trace(near.evidence, known[TIME])
        kept = (there, {name: known[name] for name in (*others, *initial)})
        choices = [kept, choices[0]] if set(initial) & set(free) else [kept]
    elif AMPLITUDE not in free and not others:
        choices = choices[:1]  # they differ in nothing that is learned
    starts = []
    for time in [1.0] if manifold is None else manifold.starting_times():
        for variance, own_values in choices:
            values = {TIME: time, AMPLITUDE: variance / _trace(evidence, time), **own_values}
            starts.append(np.log([values[name] for name in free]))
    return starts, len(choices)


def _trace(evidence: Evidence, time: float) -> float:
    """Σ_j of the kernel's spectral density: the mean variance of the manifold's part at amplitude 1."""
    manifold = evidence.space.manifold
    if manifold is None:
        return 1.0
    return float(np.exp(manifold.kernel.log_density(manifold.basis.eigenvalues, time)).sum())
