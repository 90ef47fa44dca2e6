"""Learning (t, a², ℓ, a_u²) and the likelihood's parameters together, from where the fit without u ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import OptimizeResult, minimize

from .._typing import Array, IntArray
from ..graph.neighbors import NeighborSearch
from ..inference.hyper import AMPLITUDE, TIME, Evidence, HyperSpace, fit_at
from ..inference.learning import Head
from ..inference.priors import HalfNormal, LogNormal
from .euclidean import KERNEL_NAMES
from .inference import JointInference, JointLaplace, ResidualOptions, coarse_order, residual_inference
from .likelihood import LENGTH_SCALE, SHAPE, VARIANCE, local_likelihood

ResidualInference = JointInference | JointLaplace
KERNEL_CHOICES = ("auto", *KERNEL_NAMES)
NOISE = "noise_variance"
# The kernel that "auto" tries first, and with it all starts.
_FIRST_KERNEL = "matern52"
# Labels that the search looks at, as neighbourhoods of so many: both ranges must be seen in them.
_SEARCH_LABELS, _CLUSTER = 2_000, 50
# Evaluations for the first kernel, and for each other one from where it ended.
_FIRST_CLIMB, _OTHER_CLIMB = 9, 5
# Evaluations of all labels, once the sample has told the shape of the peak; accuracy in nats.
_LAST_CLIMB, _TOLERANCE = 16, 1e-3
# Step of the differences between gradients; a flat direction is explored by steps of about 1.
_STEP, _FLAT, _SHAPE_STEP = 0.05, 0.5, 0.3
_SHAPE_BOUNDS = (0.02, 50.0)
_NATS_PER_LOG_LABEL = 0.75


def learn_residual(head: Head, features: Array, X: Array, options: ResidualOptions) -> Head | None:
    """The head with a residual, or None if that is not required and the evidence does not ask for it.

    The kernel and the starting values are searched on at most 2,000 labels, in neighbourhoods of 50 all
    over the set; the final climb sees all. Together at most 60 evaluations. The evidence asks for a residual
    if it rises by more than ¾ log m for each further hyperparameter, the choice of the kernel being one:
    Schwarz's criterion has ½, but a model that is as good without residual should stay simple and fast.

    Parameters
    ----------
    head : Head
        Fitted without residual.
    features : array of shape (m, M)
    X : array of shape (m, p)
    options : ResidualOptions
    """
    whole = residual_inference(head, features, X, options)
    rows = search_rows(whole.points)
    sample = whole if len(rows) == len(X) else whole.take(rows)
    candidates = _search(head, sample, options.kernel)
    evidences = [joint_evidence(head, whole, candidate.kernel) for candidate in candidates]
    best = 0
    if len(candidates) > 1 and sample is not whole:
        # A sample tells little about how u is correlated far away; one evaluation of all labels does.
        values = [e.log_posterior(c.theta)[0] for e, c in zip(evidences, candidates, strict=True)]
        best = int(np.argmax(values))
    found, evidence = candidates[best], evidences[best]
    climb = _climb(evidence, found.theta, found.to_theta * np.sqrt(len(rows) / len(X)), _LAST_CLIMB)
    fit = fit_at(evidence, climb.theta, climb.result)
    others = sum(e.evaluations for e in evidences if e is not evidence)
    fit.report.n_evaluations += others + sum(candidate.evaluations for candidate in candidates)
    gain = fit.evaluation.log_evidence - head.fit.evaluation.log_evidence
    more = len(evidence.space.free) - len(head.evidence.space.free) + (options.kernel == "auto")
    if not options.required and not gain > _NATS_PER_LOG_LABEL * more * np.log(len(X)):
        return None
    return Head(head.task, evidence, fit)


def joint_evidence(head: Head, inference: ResidualInference, kernel: str) -> Evidence:
    """The evidence with residual, over the hyperparameters of a head without and those of u."""
    base, likelihood = head.evidence, local_likelihood(head.task.likelihood, kernel)
    scale = head.task.likelihood.latent_scale(head.task.obs)
    spacing, extent = _distances(inference.points)
    space = HyperSpace(
        names=(TIME, AMPLITUDE, *likelihood.parameter_names),
        fixed=base.space.fixed,
        bounds={
            **base.space.bounds,
            LENGTH_SCALE: (0.1 * spacing, 10.0 * extent),
            VARIANCE: (1e-8 * scale**2, 1e4 * scale**2),
            SHAPE: _SHAPE_BOUNDS,
        },
        priors={
            **base.space.priors,
            LENGTH_SCALE: LogNormal(3.0 * spacing, 2.0),
            VARIANCE: HalfNormal(3.0 * scale),  # as for the variance of h
            SHAPE: LogNormal(1.0, 2.0),
        },
        eigenvalues=base.space.eigenvalues,
        kernel=base.space.kernel,
    )
    return Evidence(inference, base.eigenvalues, base.kernel, likelihood, space, base.intercept_variance)


def search_rows(points: Array) -> IntArray:
    """Labelled rows that the search looks at: all of few, otherwise whole neighbourhoods."""
    m = len(points)
    if m <= _SEARCH_LABELS:
        return np.arange(m)
    centers = coarse_order(points)[: 2 * _SEARCH_LABELS // _CLUSTER]
    nearest, _ = NeighborSearch(points)(points[centers], _CLUSTER)
    # Neighbourhoods overlap: take them until there are enough.
    _, first = np.unique(nearest, return_index=True)
    return np.sort(nearest.ravel()[np.sort(first)[:_SEARCH_LABELS]]).astype(np.intp)


class _Found(NamedTuple):
    """What the search on the sample tells the climb on all labels."""

    kernel: str
    theta: Array
    to_theta: Array  # coordinates in which the peak is round
    evaluations: int


class _LimitReached(Exception):
    """So many evaluations were made as were allowed."""


class _Climb(NamedTuple):
    """Where a climb ended."""

    theta: Array
    value: float  # log posterior density
    result: OptimizeResult | None


def _search(head: Head, sample: ResidualInference, kernel: str) -> list[_Found]:
    """Kernels, hyperparameters and the shape of the peak; the best first."""
    first = _FIRST_KERNEL if kernel == "auto" else kernel
    evidence = joint_evidence(head, sample, first)
    starts = [_theta(evidence.space, values) for values in _starts(head, sample)]
    start = max(starts, key=lambda theta: evidence.log_posterior(theta)[0])
    climb = _climb(evidence, start, np.eye(len(start)), _FIRST_CLIMB)
    to_theta = _round_peak(evidence, climb.theta)
    if kernel != "auto":
        return [_Found(first, climb.theta, to_theta, evidence.evaluations)]
    climb = _climb(evidence, climb.theta, to_theta, _OTHER_CLIMB)
    tried = {first: (climb, evidence, to_theta)}
    for other in ("rational_quadratic", "matern32", "matern12"):
        if other == "matern12" and tried["matern32"][0].value < tried[first][0].value:
            continue  # rougher is no better
        beside = joint_evidence(head, sample, other)
        values = {SHAPE: 1.0, **evidence.space.values(climb.theta)}
        if SHAPE in beside.space.free:  # the last one
            to_other = block_diag(to_theta, [[_SHAPE_STEP]])
        else:
            to_other = to_theta
        tried[other] = (
            _climb(beside, _theta(beside.space, values), to_other, _OTHER_CLIMB),
            beside,
            to_other,
        )
    ranked = sorted(tried, key=lambda name: -tried[name][0].value)
    found = {name: tried[name] for name in ranked}
    return [_Found(name, c.theta, to, part.evaluations) for name, (c, part, to) in found.items()]


def _climb(evidence: Evidence, start: Array, to_theta: Array, limit: int) -> _Climb:
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
        return -value, -(to_theta.T @ np.where(theta == inside, gradient, 0.0))

    # The log posterior is of the order of the number of labels.
    ftol = _TOLERANCE / len(evidence.inference.points)  # type: ignore[attr-defined]
    options = {"ftol": ftol, "gtol": np.sqrt(_TOLERANCE)}
    try:
        result = minimize(objective, np.zeros(len(start)), jac=True, method="L-BFGS-B", options=options)
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


def _starts(head: Head, sample: ResidualInference) -> list[dict[str, float]]:
    """The residual takes over half of the noise; or half of everything, and h is smoother then.

    Where there is no noise variance to share, a tenth of the latent variance stands for it.
    """
    values = head.fit.values
    spacing, extent = _distances(sample.points)
    variance = head.task.likelihood.latent_scale(head.task.obs) ** 2
    noise = values.get(NOISE, 0.2 * variance)
    near, middle = 3.0 * spacing, np.sqrt(spacing * extent)
    small = {**values, VARIANCE: 0.5 * noise, NOISE: 0.5 * noise, SHAPE: 1.0}
    large = {**values, VARIANCE: 0.5 * variance, NOISE: min(noise, 0.05 * variance), SHAPE: 1.0}
    return [
        {**small, LENGTH_SCALE: near},
        {**small, LENGTH_SCALE: middle},
        {**large, LENGTH_SCALE: near, TIME: 10.0 * values[TIME]},
    ]


def _theta(space: HyperSpace, values: Mapping[str, float]) -> Array:
    theta = np.log([values[name] for name in space.free])
    return np.clip(theta, *np.transpose(space.log_bounds())) if len(theta) else theta


def _distances(points: Array) -> tuple[float, float]:
    """Typical distance between neighbours, and the extent of the whole set."""
    extent = float(np.linalg.norm(np.ptp(points, axis=0)))
    if extent == 0.0:
        return 1.0, 1.0  # all in one place: any length scale will do
    _, squared = NeighborSearch(points)(points, 2)
    nearest = np.sqrt(squared[:, -1])
    return float(np.median(nearest[nearest > 0])) if (nearest > 0).any() else extent, extent
