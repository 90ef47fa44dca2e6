"""Integrating the hyperparameters out: a small deterministic quadrature around their mode.

In the manner of nested Laplace approximations (Rue, Martino & Chopin 2009): the logarithms of the
hyperparameters are put into the axes of the Hessian at the mode, stretched along each half-axis until the
log posterior falls as a Gaussian's would, and weighed by the posterior itself at the points of a Gaussian
rule of degree five. Skewness and plateaus (large t changes nothing) are in the stretch, the rest in the
weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.special import logsumexp

from .._typing import Array
from ..feature_map import FeatureMap
from ..graph import NeighborBlock, NeighborGraph
from .hyper import Evidence, Fit
from .hyper_posterior import HyperparameterPosterior
from .learning import Head, Learned, Settings, Task, learn_at

# Step, in logarithms, of the differences of the gradient.
_STEP = 0.05
# A half-axis is at most this long: three units of the logarithm for one standard deviation.
_WIDEST = 3.0
_PROBES = 4
# Up to this many hyperparameters the rule has its 2^k corners; beyond, only its axes.
_MAX_CORNERS = 4
# Components lighter than this are not worth their predictions.
_LIGHTEST = 1e-4
# Standard deviations of log ε are kept within these.
_BANDWIDTH_SPREAD = (0.02, 0.7)


@dataclass(frozen=True)
class Integrated:
    """The hyperparameters of one head as a weighted set of points."""

    fits: list[Fit]
    weights: Array  # sum to 1
    log_normalizer: float  # log ∫ p(y | θ) π(θ) dθ, up to the prior's constant


@dataclass(frozen=True)
class Layer:
    """All heads at one bandwidth."""

    weight: float
    feature_map: FeatureMap
    heads: list[Head]
    integrals: list[Integrated]


def gaussian_rule(k: int) -> tuple[Array, Array]:
    """Nodes (N, k) and weights (N,) that integrate over N(0, I).

    The origin, 2k points on the axes and 2^k on the diagonals, all others at radius √(k + 2): exact up to
    degree five (Stroud & Secrest 1963). Without the diagonals, above four dimensions, up to degree three.
    """
    radius = np.sqrt(k + 2.0)
    axes = np.concatenate([radius * np.eye(k), -radius * np.eye(k)])
    if k > _MAX_CORNERS:
        weights = np.concatenate([[2.0 / (k + 2)], np.full(2 * k, 0.5 / (k + 2))])
        return np.concatenate([np.zeros((1, k)), axes]), weights
    if k == 1:  # axes and diagonals are the same points
        return np.concatenate([np.zeros((1, 1)), axes]), np.array([2 / 3, 1 / 6, 1 / 6])
    corners = np.array(list(product([1.0, -1.0], repeat=k))) * radius / np.sqrt(k)
    weights = np.concatenate(
        [
            [2.0 / (k + 2)],
            np.full(2 * k, 1.0 / (k + 2) ** 2),
            np.full(2**k, k**2 / (2.0**k * (k + 2) ** 2)),
        ]
    )
    return np.concatenate([np.zeros((1, k)), axes, corners]), weights


def integrate(evidence: Evidence, mode: Fit) -> Integrated:
    """Points and weights that stand for the posterior of the hyperparameters.

    Other modes that the search came across (often one where t is so large that f is constant) have a rule
    of their own, weighed by its mass.

    Parameters
    ----------
    evidence : Evidence
    mode : Fit
        Where the log posterior is largest.
    """
    parts = [_around(evidence, mode)]
    parts += [_around(evidence, _fit_at(evidence, rival, mode)) for rival in mode.rivals]
    logs = np.array([part.log_normalizer for part in parts])
    total = float(logsumexp(logs))
    weights = np.concatenate(
        [np.exp(log - total) * part.weights for log, part in zip(logs, parts, strict=True)]
    )
    kept = weights > _LIGHTEST
    fits = [fit for fit, keep in zip([fit for part in parts for fit in part.fits], kept, strict=True) if keep]
    return Integrated(fits, weights[kept] / weights[kept].sum(), total)


def _around(evidence: Evidence, mode: Fit) -> Integrated:
    """The rule around one mode."""
    k = len(mode.theta)
    if k == 0:
        return Integrated([mode], np.ones(1), mode.log_posterior)
    axes, spread = _axes(evidence, mode)
    nodes, rule = gaussian_rule(k)
    probes = [_half_axis(evidence, mode, s * axes[:, j], spread[j], k) for s in (1, -1) for j in range(k)]
    length = np.array([scale for scale, _ in probes]).reshape(2, k)  # of the positive and negative halves
    fits: list[Fit | None] = [mode, *(fit for _, fit in probes)]
    low, high = np.transpose(evidence.space.log_bounds())
    for z in nodes[len(fits) :]:
        theta = mode.theta + axes @ (z * np.where(z > 0, length[0], length[1]))
        inside = ((theta >= low) & (theta <= high)).all()
        fits.append(_fit_at(evidence, theta, mode) if inside else None)
    stretch = np.where(nodes > 0, length[0], np.where(nodes < 0, length[1], length.mean(axis=0)))
    log_weights = np.full(len(nodes), -np.inf)
    for i, fit in enumerate(fits):
        if fit is not None and (stretch[i] > 0).all():
            volume = float(np.log(stretch[i]).sum())
            log_weights[i] = np.log(rule[i]) + fit.log_posterior + 0.5 * float(nodes[i] @ nodes[i]) + volume
    if not np.isfinite(log_weights).any():  # a mode in a corner of the bounds
        return Integrated([mode], np.ones(1), mode.log_posterior)
    total = float(logsumexp(log_weights))
    weights = np.exp(log_weights - total)
    kept = np.flatnonzero(weights > _LIGHTEST)
    chosen = [fit for i in kept if (fit := fits[i]) is not None]
    log_normalizer = total + 0.5 * k * np.log(2 * np.pi)
    return Integrated(chosen, weights[kept] / weights[kept].sum(), log_normalizer)


def integrate_layers(
    learned: Learned,
    heads: Sequence[Head],
    graph: NeighborGraph,
    labeled: NeighborBlock,
    tasks: Sequence[Task],
    settings: Settings,
) -> list[Layer]:
    """Quadratures of all heads; for a bandwidth that was searched, at three bandwidths around the best.

    A bandwidth is weighed by the evidence of all heads together, their hyperparameters integrated out, with
    a prior uniform in log ε.
    """
    middle = Layer(1.0, learned.feature_map, list(heads), [integrate(h.evidence, h.fit) for h in heads])
    refined = any(head is not other for head, other in zip(heads, learned.heads, strict=True))
    if not learned.bandwidth_trace or refined:
        return [middle]
    epsilon = learned.feature_map.transition.epsilon
    assert epsilon is not None
    spread = _bandwidth_spread(learned.bandwidth_trace)
    nodes, rule = gaussian_rule(1)
    layers, log_weights = [], []
    for (z,), share in zip(nodes, rule, strict=True):
        layer = middle
        if z != 0:
            warm = [head.fit.theta for head in heads]
            other = learn_at(graph, labeled, tasks, settings, epsilon * np.exp(z * spread), None, warm)
            integrals = [integrate(head.evidence, head.fit) for head in other.heads]
            layer = Layer(1.0, other.feature_map, other.heads, integrals)
        layers.append(layer)
        log_weights.append(np.log(share) + 0.5 * z**2 + sum(i.log_normalizer for i in layer.integrals))
    weights = np.exp(log_weights - logsumexp(log_weights))
    return [
        replace(layer, weight=float(weight))
        for layer, weight in zip(layers, weights, strict=True)
        if weight > _LIGHTEST
    ]


def _fit_at(evidence: Evidence, theta: Array, mode: Fit) -> Fit:
    evaluation, _ = evidence.evaluate(theta)
    values = evidence.space.values(theta)
    log_posterior = evaluation.log_evidence + evidence.space.log_prior(theta)[0]
    return Fit(theta, values, evaluation, evidence.likelihood_at(values), log_posterior, mode.report)


def _axes(evidence: Evidence, mode: Fit) -> tuple[Array, Array]:
    """Eigenvectors (k, k) of the Hessian at the mode, and the standard deviations (k,) along them."""
    k = len(mode.theta)
    low, high = np.transpose(evidence.space.log_bounds())
    hessian = np.empty((k, k))
    for j in range(k):
        up, down = mode.theta.copy(), mode.theta.copy()
        up[j], down[j] = min(up[j] + _STEP, high[j]), max(down[j] - _STEP, low[j])
        difference = evidence.log_posterior(up)[1] - evidence.log_posterior(down)[1]
        hessian[j] = difference / (up[j] - down[j])
    curvature, axes = np.linalg.eigh(-0.5 * (hessian + hessian.T))
    return axes, 1.0 / np.sqrt(np.maximum(curvature, _WIDEST**-2.0))


def _half_axis(
    evidence: Evidence, mode: Fit, direction: Array, spread: float, k: int
) -> tuple[float, Fit | None]:
    """Standard deviation along one half-axis, and the fit at its node, √(k + 2) of them away.

    It is stretched until the log posterior falls there by about (k + 2)/2. Against a bound it stays shorter.
    """
    radius, target = np.sqrt(k + 2.0), 0.5 * (k + 2.0)
    low, high = np.transpose(evidence.space.log_bounds())
    with np.errstate(divide="ignore", invalid="ignore"):
        rooms = np.where(direction > 0, (high - mode.theta) / direction, (low - mode.theta) / direction)
    room = float(np.min(rooms[direction != 0])) / radius
    if room < 1e-3:
        return 0.0, None
    scale = min(spread, room)
    for _ in range(_PROBES):
        theta = np.clip(mode.theta + radius * scale * direction, low, high)
        fit = _fit_at(evidence, theta, mode)
        fall = max(mode.log_posterior - fit.log_posterior, 0.01)
        longer = min(scale * float(np.clip(np.sqrt(target / fall), 0.3, 2.5)), room, _WIDEST)
        if abs(np.log(longer / scale)) < 0.2:
            break
        scale, reached = longer, scale
    else:
        scale = reached  # the fit at hand belongs to the last length that was tried
    return scale, fit


def _bandwidth_spread(trace: Sequence[tuple[float, float]]) -> float:
    """Standard deviation of log ε, from a parabola through the best of the log posteriors found."""
    x, value = np.log([epsilon for epsilon, _ in trace]), np.array([v for _, v in trace])
    best = int(value.argmax())
    near = np.flatnonzero(value > value[best] - 3.0)
    if len(near) < 3:
        near = np.argsort(np.abs(x - x[best]))[:3]
    bend = -2.0 * float(np.polyfit(x[near] - x[best], value[near], 2)[0])
    low, high = _BANDWIDTH_SPREAD
    return high if bend <= high**-2 else float(np.clip(bend**-0.5, low, high))


def hyperparameter_posterior(layers: Sequence[Layer], head: int) -> HyperparameterPosterior:
    """The quadrature of one head, over all bandwidths."""
    names = layers[0].heads[head].evidence.space.free
    nodes, weights = [], []
    for layer in layers:
        integral = layer.integrals[head]
        epsilon = [] if len(layers) == 1 else [layer.feature_map.transition.epsilon]
        nodes += [[*(fit.values[name] for name in names), *epsilon] for fit in integral.fits]
        weights += (layer.weight * integral.weights).tolist()
    if len(layers) > 1:
        names = (*names, "bandwidth")
    return HyperparameterPosterior(
        names, np.array(nodes, dtype=float).reshape(-1, len(names)), np.array(weights)
    )
