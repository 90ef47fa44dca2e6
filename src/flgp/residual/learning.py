"""Learning (t, a², ℓ, a_u², σ²) together, from where the fit without residual ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from .._typing import Array, IntArray
from ..graph.neighbors import NeighborSearch
from ..inference.hyper import AMPLITUDE, TIME, Evidence, HyperSpace, maximize
from ..inference.learning import Head
from ..inference.posterior import Evaluation
from ..inference.priors import HalfNormal, LogNormal
from .columns import Columns
from .euclidean import KERNEL_NAMES
from .joint import JointData, evaluate
from .likelihood import LENGTH_SCALE, SHAPE, VARIANCE, LocalGaussian, local_gaussian
from .neighborhoods import coarse_to_fine, previous_neighborhoods

KERNEL_CHOICES = ("auto", *KERNEL_NAMES)
NOISE = "noise_variance"
# The kernel that "auto" tries first, and with it all starts.
_FIRST_KERNEL = "matern52"
# Labels that the search looks at, as neighbourhoods of so many: both ranges must be seen in them.
_SEARCH_LABELS, _CLUSTER = 2_000, 50
# Evaluations for the first kernel, and for each other one from where it ended.
_FIRST_CLIMB, _OTHER_CLIMB = 14, 8
_SHAPE_BOUNDS = (0.02, 50.0)


@dataclass(frozen=True)
class ResidualOptions:
    """What a user chooses about the residual."""

    kernel: str  # one of KERNEL_CHOICES
    n_neighbors: int  # k
    required: bool  # False: only if the evidence asks for it
    columns: Columns  # where u lives
    n_threads: int = 1


@dataclass(frozen=True)
class JointInference:
    """Evidence and posterior of the model with residual, in the form the hyperparameter search asks for."""

    data: JointData
    points: Array  # (m, q) labelled points where u lives
    columns: Columns  # how any point gets there
    n_neighbors: int
    n_threads: int

    @classmethod
    def of(cls, head: Head, features: Array, X: Array, options: ResidualOptions) -> JointInference:
        """From labelled rows X (m, p) with features Φ (m, M), without the column of the intercept."""
        points = options.columns.of(X)
        obs, intercept = head.task.obs, head.task.intercept_variance is not None
        if intercept:
            features = np.column_stack([features, np.ones(len(features))])
        order = coarse_to_fine(points, np.random.default_rng(0))
        near = previous_neighborhoods(points, options.n_neighbors, order)
        data = JointData(features, obs.y - head.task.offset, obs.noise_scale, near)
        return cls(data, points, options.columns, options.n_neighbors, options.n_threads)

    def take(self, rows: IntArray) -> JointInference:
        """The same for some of the labelled rows."""
        points, data = self.points[rows], self.data
        near = previous_neighborhoods(
            points, self.n_neighbors, coarse_to_fine(points, np.random.default_rng(0))
        )
        part = JointData(data.features[rows], data.y[rows], data.noise_scale[rows], near)
        return replace(self, data=part, points=points)

    def evaluate(
        self, d: Array, likelihood: LocalGaussian, state: Array | None = None, rough: bool = False
    ) -> Evaluation:
        """Evidence, derivatives and posterior for prior variances d (M,)."""
        return evaluate(self.data, d, likelihood.local, self.n_threads)


def learn_residual(head: Head, features: Array, X: Array, options: ResidualOptions) -> Head | None:
    """The head with a residual, or None if that is not required and the evidence does not ask for it.

    The kernel and the starting values are searched on at most 2,000 labels, in neighbourhoods of 50 all
    over the set; the final climb sees all. Together about 60 evaluations at most. The evidence asks for a
    residual if it rises by more than ½ log m for each further hyperparameter (Schwarz's criterion).

    Parameters
    ----------
    head : Head
        Fitted without residual.
    features : array of shape (m, M)
    X : array of shape (m, p)
    options : ResidualOptions
    """
    whole = JointInference.of(head, features, X, options)
    rows = search_rows(whole.points)
    sample = whole if len(rows) == len(X) else whole.take(rows)
    first = _FIRST_KERNEL if options.kernel == "auto" else options.kernel
    climbs = [_first_climb(head, sample, first)]
    if options.kernel == "auto":
        others = ("rational_quadratic", "matern32")
        climbs += [_next_climb(head, sample, kernel, climbs[0]) for kernel in others]
        if climbs[2].value > climbs[0].value:
            climbs.append(_next_climb(head, sample, "matern12", climbs[2]))
    best = max(climbs, key=lambda climb: climb.value)
    evidence = joint_evidence(head, whole, best.kernel)
    evidence.evaluations = sum(climb.evaluations for climb in climbs)
    fit = maximize(evidence, [_theta(evidence.space, best.values)])
    gain = fit.evaluation.log_evidence - head.fit.evaluation.log_evidence
    more = len(evidence.space.free) - len(head.evidence.space.free)
    if not options.required and not gain > 0.5 * more * np.log(len(X)):
        return None
    return Head(head.task, evidence, fit)


def joint_evidence(head: Head, inference: JointInference, kernel: str) -> Evidence:
    """The evidence with residual, over the hyperparameters of a head without and those of u."""
    base, likelihood = head.evidence, local_gaussian(kernel)
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
            VARIANCE: HalfNormal(10.0 * scale),
            SHAPE: LogNormal(1.0, 2.0),
        },
    )
    return Evidence(inference, base.eigenvalues, base.kernel, likelihood, space, base.intercept_variance)


def search_rows(points: Array) -> IntArray:
    """Labelled rows that the search looks at: all of few, otherwise whole neighbourhoods."""
    m = len(points)
    if m <= _SEARCH_LABELS:
        return np.arange(m)
    centers = np.random.default_rng(0).permutation(m)[: 2 * _SEARCH_LABELS // _CLUSTER]
    nearest, _ = NeighborSearch(points)(points[centers], _CLUSTER)
    # Neighbourhoods overlap: take them until there are enough.
    _, first = np.unique(nearest, return_index=True)
    return np.sort(nearest.ravel()[np.sort(first)[:_SEARCH_LABELS]]).astype(np.intp)


@dataclass(frozen=True)
class _Climb:
    """Where the search with one kernel ended."""

    kernel: str
    values: Mapping[str, float]
    value: float  # log posterior density
    evaluations: int


def _first_climb(head: Head, sample: JointInference, kernel: str) -> _Climb:
    """From the best of several ways in which u may share the work with h."""
    evidence = joint_evidence(head, sample, kernel)
    starts = [_theta(evidence.space, values) for values in _starts(head, sample)]
    if len(starts) > 1:
        starts = [max(starts, key=lambda theta: evidence.log_posterior(theta)[0])]
    return _climb(evidence, starts[0], kernel, _FIRST_CLIMB)


def _next_climb(head: Head, sample: JointInference, kernel: str, before: _Climb) -> _Climb:
    evidence = joint_evidence(head, sample, kernel)
    return _climb(evidence, _theta(evidence.space, {SHAPE: 1.0, **before.values}), kernel, _OTHER_CLIMB)


def _climb(evidence: Evidence, start: Array, kernel: str, limit: int) -> _Climb:
    best_value, best_theta = -np.inf, start

    def objective(theta: Array) -> tuple[float, Array]:
        nonlocal best_value, best_theta
        value, gradient = evidence.log_posterior(theta)
        if value > best_value:
            best_value, best_theta = value, theta.copy()
        return -value, -gradient

    bounds = evidence.space.log_bounds()
    minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxfun": limit})
    return _Climb(kernel, evidence.space.values(best_theta), best_value, evidence.evaluations)


def _starts(head: Head, sample: JointInference) -> list[dict[str, float]]:
    """The residual takes over half of the noise; or half of everything, and h is smoother then."""
    values = head.fit.values
    spacing, extent = _distances(sample.points)
    variance = head.task.likelihood.latent_scale(head.task.obs) ** 2
    noise = values[NOISE]
    near, middle = 3.0 * spacing, np.sqrt(spacing * extent)
    return [
        {**values, LENGTH_SCALE: near, VARIANCE: 0.5 * noise, NOISE: 0.5 * noise, SHAPE: 1.0},
        {**values, LENGTH_SCALE: middle, VARIANCE: 0.5 * noise, NOISE: 0.5 * noise, SHAPE: 1.0},
        {
            **values,
            TIME: 10.0 * values[TIME],
            LENGTH_SCALE: near,
            VARIANCE: 0.5 * variance,
            NOISE: min(noise, 0.05 * variance),
            SHAPE: 1.0,
        },
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
