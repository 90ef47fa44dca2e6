"""Learning a local term and all other hyperparameters together, from where the fit without it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import OptimizeResult

from .._typing import Array
from ..inference.local import LocalInference, local_inference
from ..inference.shared import SharedInference
from ..terms import TIME, Local
from ..terms.local.term import LENGTH_SCALE, SHAPE, VARIANCE, distances_among
from .ascent import ascend
from .evidence import NOISE, Evidence, HyperSpace
from .search import LearnedFunction, optimum_at
from .sharing import split

# The kernel that "auto" tries first, and with it all starts.
_FIRST_KERNEL = "matern52"
# Labels that the search looks at.
_SEARCH_LABELS = 2_000
# Evaluations for the first kernel, for each other one from where it ended, and for one with a shape to find.
_FIRST_CLIMB, _OTHER_CLIMB, _SHAPE_CLIMB = 9, 5, 6
# Evaluations of all labels, once the sample has shown the shape of the peak; accuracy in nats, and where more
# labels than the sample make an evaluation dear.
_LAST_CLIMB, _TOLERANCE, _ENOUGH = 16, 1e-3, 0.03
# Step of the differences between gradients; a flat direction is explored by steps of about 1.
_STEP, _FLAT, _SHAPE_STEP = 0.05, 0.5, 0.3
# Farther than this, in standard deviations, a peak is not thought to have the shape it has in a sample.
_FAR_STEP = 3.0


@dataclass(frozen=True)
class LocalOptions:
    """What a user chooses about the local term."""

    kernel: str  # "auto" or the name of one
    n_neighbors: int  # k
    required: bool  # False: only if the evidence asks for it


def learn_local(
    function: LearnedFunction,
    features: Array,
    points: Array,
    options: LocalOptions,
    near: LearnedFunction | None = None,
) -> LearnedFunction | None:
    """The function with a local term, or None if that is not required and the evidence does not ask for it.

    The kernel and the starting values are searched on at most 2,000 labels, Gaussian ones given neighbours
    among all of them; the final climb sees all. Together at most 60 evaluations. The evidence asks for a
    local term if it rises by more than ½ log m for each further hyperparameter (Schwarz's criterion), the
    choice of the kernel being one.

    The function, with features (m, M), is fitted without local term; u measures distances between the points
    (m, q). `near`: the same function with its local term and fewer eigenpairs, to begin from.
    """
    whole = _inference(function, features, points, options.n_neighbors)
    return _with_local(function, whole, _sample(whole), options, near)


def learn_shared_local(
    shared: LearnedFunction,
    functions: Sequence[LearnedFunction],
    features: Sequence[Array],
    points: Sequence[Array],
    options: LocalOptions,
    near: LearnedFunction | None = None,
) -> tuple[LearnedFunction, list[LearnedFunction]] | None:
    """The same for outputs that share their hyperparameters, those of the local term included.

    `shared` is their sum; features and points are those of each output. Returns the sum and the outputs.
    """
    triples = zip(functions, features, points, strict=True)
    wholes = [_inference(f, phi, at, options.n_neighbors) for f, phi, at in triples]
    assert isinstance(shared.evidence.inference, SharedInference)
    whole = replace(shared.evidence.inference, outputs=wholes, points=points[0])
    sample = whole
    if max(map(len, points)) > _SEARCH_LABELS:
        samples = [_sample(each) for each in wholes]
        sample = replace(whole, outputs=samples, points=samples[0].points)
    found = _with_local(shared, whole, sample, options, near)
    if found is None or found.evidence.local is None:
        return None
    kernel = found.evidence.local.kernel
    evidences = [_evidence(f, w, kernel) for f, w in zip(functions, wholes, strict=True)]
    optima = split(found.evidence, evidences, found.best)
    return found, [LearnedFunction(*pair) for pair in zip(evidences, optima, strict=True)]


def _with_local(
    function: LearnedFunction,
    whole: LocalInference | SharedInference,
    sample: LocalInference | SharedInference,
    options: LocalOptions,
    near: LearnedFunction | None,
) -> LearnedFunction | None:
    m = len(whole.points)
    if near is None or near.evidence.local is None or near.best.log_posterior < function.best.log_posterior:
        candidates = _search(function, sample, options.kernel)
    else:  # unless further eigenpairs alone are better than the local term was with few of them
        candidates = [_search_near(function, sample, near.evidence.local.kernel, near.best.values)]
    evidences = [_evidence(function, whole, candidate.kernel) for candidate in candidates]
    shapes = [candidate.to_theta * np.sqrt(min(_SEARCH_LABELS / m, 1.0)) for candidate in candidates]
    best, start = 0, candidates[0].theta
    if len(candidates) > 1 and sample is not whole:
        # A sample tells little about how u is correlated far away; one evaluation of all labels does.
        tops = [_top(e, c.theta, shape) for e, c, shape in zip(evidences, candidates, shapes, strict=True)]
        best = int(np.argmax([value for value, _ in tops]))
        start = tops[best][1]
    evidence = evidences[best]
    tolerance = _TOLERANCE if sample is whole else _ENOUGH
    climb = _climb(evidence, start, shapes[best], _LAST_CLIMB, tolerance)
    optimum = optimum_at(evidence, climb.theta, climb.result)
    others = sum(e.evaluations for i, e in enumerate(evidences) if i != best)
    optimum.report.n_evaluations += others + sum(candidate.evaluations for candidate in candidates)
    without = function.best.evaluation
    # With a local term the evidence is Laplace's, which only its like compares with.
    gain = optimum.evaluation.log_evidence - (without.log_evidence - without.correction)
    more = len(evidence.space.free) - len(function.evidence.space.free) + (options.kernel == "auto")
    if not options.required and not gain > 0.5 * more * np.log(m):
        return None
    return LearnedFunction(evidence, optimum)


def keep_local(
    function: LearnedFunction, features: Array, points: Array, options: LocalOptions
) -> LearnedFunction:
    """With the local term that an earlier fit had, if it had one, at the values it had there."""
    known = function.target.known
    if known is None or known.local is None:
        return function
    inference = _inference(function, features, points, options.n_neighbors)
    evidence = _evidence(function, inference, known.local.kernel)
    return LearnedFunction(evidence, optimum_at(evidence, evidence.space.theta(known.values)))


def _inference(function: LearnedFunction, features: Array, points: Array, n_neighbors: int) -> LocalInference:
    target = function.target
    columns = target.with_constant(features)
    return local_inference(target.likelihood, columns, target.obs, target.prior_mean, points, n_neighbors)


def _evidence(
    function: LearnedFunction, inference: LocalInference | SharedInference, kernel: str
) -> Evidence:
    """The evidence with a local term, over the hyperparameters of a function without and those of u."""
    target, terms, local = function.target, function.evidence.terms, Local.among(inference.points, kernel)
    space = HyperSpace.of(target, terms, function.evidence.space.fixed, local)
    return Evidence(inference, terms, target, space, local)


def _sample(whole: LocalInference) -> LocalInference:
    """What the search looks at."""
    return whole if len(whole.points) <= _SEARCH_LABELS else whole.part(_SEARCH_LABELS)


class _Found(NamedTuple):
    """What the search on the sample tells the climb on all labels."""

    kernel: str
    theta: Array
    to_theta: Array  # coordinates in which the peak is round
    evaluations: int


class _LimitReached(Exception):
    """Stopped at the evaluation limit."""


class _Climb(NamedTuple):
    """Where a climb ended."""

    theta: Array
    value: float  # log posterior density
    result: OptimizeResult | None


def _search(function: LearnedFunction, sample: LocalInference | SharedInference, kernel: str) -> list[_Found]:
    """Kernels, hyperparameters and the shape of the peak; the best first."""
    first = _FIRST_KERNEL if kernel == "auto" else kernel
    evidence = _evidence(function, sample, first)
    starts = [evidence.space.inside(values) for values in _starts(function, sample)]
    start = max(starts, key=lambda theta: evidence.log_posterior(theta)[0])
    climb = _climb(evidence, start, np.eye(len(start)), _FIRST_CLIMB)
    to_theta = _round_peak(evidence, climb.theta)
    if kernel != "auto":
        return [_Found(first, climb.theta, to_theta, evidence.evaluations)]
    climb = _climb(evidence, climb.theta, to_theta, _OTHER_CLIMB)
    tried = {first: (climb, evidence, to_theta)}
    for other in ("rational_quadratic", "matern32", "matern12"):
        if other == "matern12" and tried["matern32"][0].value < tried[first][0].value:
            continue  # a rougher kernel does not help
        beside = _evidence(function, sample, other)
        values = {SHAPE: 1.0, **evidence.space.values(climb.theta)}
        if SHAPE in beside.space.free:  # the last one
            to_other, limit = block_diag(to_theta, [[_SHAPE_STEP]]), _SHAPE_CLIMB
        else:
            to_other, limit = to_theta, _OTHER_CLIMB
        tried[other] = _climb(beside, beside.space.inside(values), to_other, limit), beside, to_other
    ranked = sorted(tried.items(), key=lambda item: -item[1][0].value)
    return [_Found(name, c.theta, to, part.evaluations) for name, (c, part, to) in ranked]


def _search_near(
    function: LearnedFunction,
    sample: LocalInference | SharedInference,
    kernel: str,
    values: Mapping[str, float],
) -> _Found:
    """The same where the peak is known but for a little: only its shape is new."""
    evidence = _evidence(function, sample, kernel)
    theta = evidence.space.inside(values)
    return _Found(kernel, theta, _round_peak(evidence, theta), evidence.evaluations)


def _top(evidence: Evidence, theta: Array, to_theta: Array) -> tuple[float, Array]:
    """Value and place of the peak, from the value and the gradient beside it and the shape of the peak."""
    value, gradient = evidence.log_posterior(theta)
    step = to_theta.T @ gradient
    length = float(np.linalg.norm(step))
    share = min(1.0, _FAR_STEP / max(length, _FAR_STEP))
    low, high = np.transpose(evidence.space.log_bounds())
    place = np.clip(theta + share * (to_theta @ step), low, high)
    return value + share * (1.0 - 0.5 * share) * length**2, place


def _climb(
    evidence: Evidence, start: Array, to_theta: Array, limit: int, tolerance: float = _TOLERANCE
) -> _Climb:
    """Quasi-Newton from `start` along the columns of `to_theta`, within the bounds."""
    best = _Climb(start, -np.inf, None)
    if len(start) == 0:
        return best
    low, high = np.transpose(evidence.space.log_bounds())
    last = evidence.evaluations + limit

    def objective(x: Array) -> tuple[float, Array]:
        nonlocal best
        if evidence.evaluations >= last:  # a line search does not ask before it goes on
            raise _LimitReached
        theta = start + to_theta @ x
        inside = np.clip(theta, low, high)
        value, gradient = evidence.log_posterior(inside)
        if value > best.value:
            best = _Climb(inside, value, None)
        return value, to_theta.T @ np.where(theta == inside, gradient, 0.0)

    # The log posterior is of the order of the number of labels.
    assert isinstance(evidence.inference, LocalInference | SharedInference)
    ftol = tolerance / len(evidence.inference.points)
    try:
        result = ascend(objective, np.zeros(len(start)), ftol=ftol, gtol=np.sqrt(tolerance))
    except _LimitReached:
        result = OptimizeResult(success=False, message=f"STOP: {limit} evaluations")
    return best._replace(result=result)


def _round_peak(evidence: Evidence, theta: Array) -> Array:
    """C with C Cᵀ ≈ H⁻¹, H the curvature of the log posterior at theta from differences of gradients."""
    at = evidence.log_posterior(theta)[1]
    # Towards the middle, so that no step leaves the bounds.
    low, high = np.transpose(evidence.space.log_bounds())
    steps = np.where(theta > 0.5 * (low + high), -_STEP, _STEP)
    H = np.stack([(at - evidence.log_posterior(theta + e)[1]) / e.sum() for e in np.diag(steps)])
    curvature, directions = np.linalg.eigh(0.5 * (H + H.T))
    return directions / np.sqrt(np.maximum(np.abs(curvature), _FLAT))


def _starts(function: LearnedFunction, sample: LocalInference | SharedInference) -> list[dict[str, float]]:
    """The residual takes over half of the noise; or half of everything, and h is smoother then.

    Where there is no noise variance to share, a tenth of the latent variance stands for it.
    """
    values, target = function.best.values, function.target
    spacing, extent = distances_among(sample.points)
    variance = target.likelihood.latent_scale(target.obs) ** 2
    noise = values.get(NOISE, 0.2 * variance)
    near, middle = 3.0 * spacing, np.sqrt(spacing * extent)
    small = {**values, VARIANCE: 0.5 * noise, NOISE: 0.5 * noise, SHAPE: 1.0}
    large = {**values, VARIANCE: 0.5 * variance, NOISE: min(noise, 0.05 * variance), SHAPE: 1.0}
    slower = {TIME: 10.0 * values[TIME]} if TIME in values else {}
    return [
        {**small, LENGTH_SCALE: near},
        {**small, LENGTH_SCALE: middle},
        {**large, LENGTH_SCALE: near, **slower},
    ]
