"""Integrating the hyperparameters out: a small deterministic quadrature around their mode.

In the manner of nested Laplace approximations (Rue, Martino & Chopin 2009): the logarithms of the
hyperparameters are put into the axes of the Hessian at the mode, stretched along each half-axis until the
log posterior falls as a Gaussian's would, and weighed by the posterior itself at the points of a lattice
there. Skewness and plateaus (large t changes nothing) are in the stretch, bends and second modes in the
weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
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
# Standard deviations between points of the lattice: for a Gaussian the sum is right to 3e-4.
_SPACING = 1.5
# The lattice ends a step beyond where the log posterior has fallen by this much, or with so many points. Of
# that last step, the points that lie no deeper than the border have some mass.
_FALL = 5.0
_BORDER = 3.0
_MAX_NODES = 300
# Points with a smaller share of the mass are not worth their predictions.
_LIGHTEST = 5e-4
# Bandwidths: Gauss-Hermite points and weights in standard deviations of log ε, and the range of those.
_BANDWIDTH_RULE = ((-np.sqrt(3.0), 1 / 6), (0.0, 2 / 3), (np.sqrt(3.0), 1 / 6))
_BANDWIDTH_SPREAD = (0.02, 0.7)

Node = tuple[int, ...]


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


def integrate(evidence: Evidence, mode: Fit) -> Integrated:
    """Points and weights that stand for the posterior of the hyperparameters.

    A grid in the stretched axes, explored outwards from the mode and from the other modes that the search
    came across (often one where t is so large that f is constant), highest posterior first, until it has
    fallen by `_FALL`. For a smooth density the trapezoidal rule at this spacing is as good as exact, and a
    ridge that bends or a second hill is followed as far as it matters.

    Parameters
    ----------
    evidence : Evidence
    mode : Fit
        Where the log posterior is largest.
    """
    k = len(mode.theta)
    if k == 0:
        return Integrated([mode], np.ones(1), mode.log_posterior)
    grid = _Grid.around(evidence, mode)
    seen: set[Node] = set()
    reached: list[tuple[Node, Fit]] = []
    queue: list[tuple[float, Node]] = []

    def visit(node: Node) -> None:
        theta = grid.theta(node)
        if node in seen or theta is None or len(seen) >= _MAX_NODES:
            return
        seen.add(node)
        fit = mode if not any(node) else _fit_at(evidence, theta, mode)
        fall = mode.log_posterior - fit.log_posterior
        if fall < _FALL:
            heappush(queue, (fall, node))
        if fall < _FALL + _BORDER:
            reached.append((node, fit))

    visit((0,) * k)
    for rival in mode.rivals:
        visit(grid.nearest(rival))
    while queue:
        _, node = heappop(queue)
        for j, side in product(range(k), (1, -1)):
            visit((*node[:j], node[j] + side, *node[j + 1 :]))
    log_mass = np.array([fit.log_posterior + grid.log_volume(node) for node, fit in reached])
    total = float(logsumexp(log_mass))
    weights = np.exp(log_mass - total)
    kept = np.flatnonzero(weights > _LIGHTEST)
    return Integrated([reached[i][1] for i in kept], weights[kept] / weights[kept].sum(), total)


@dataclass(frozen=True)
class _Grid:
    """Points of a lattice in the axes of the posterior at its mode, each half-axis in its own unit."""

    center: Array  # (k,)
    axes: Array  # (k, k), columns
    step: Array  # (2, k), lengths of a step along the positive and negative halves
    bounds: Array  # (2, k)

    @classmethod
    def around(cls, evidence: Evidence, mode: Fit) -> _Grid:
        """The lattice whose steps are `_SPACING` standard deviations."""
        axes, spread = _axes(evidence, mode)
        lengths = [
            [_half_axis(evidence, mode, side * axes[:, j], spread[j]) for j in range(len(spread))]
            for side in (1, -1)
        ]
        return cls(mode.theta, axes, _SPACING * np.array(lengths), np.transpose(evidence.space.log_bounds()))

    def _steps(self, z: Array) -> Array:
        return np.where(z > 0, self.step[0], self.step[1])

    def theta(self, node: Node) -> Array | None:
        """Logarithms of the hyperparameters at a node; None outside the bounds."""
        z = np.array(node, dtype=float)
        theta = self.center + self.axes @ (z * self._steps(z))
        # The mode itself may lie on a bound, to rounding.
        inside = (theta >= self.bounds[0] - 1e-9) & (theta <= self.bounds[1] + 1e-9)
        return np.clip(theta, *self.bounds) if inside.all() else None

    def nearest(self, theta: Array) -> Node:
        """The node next to a point."""
        along = self.axes.T @ (theta - self.center)
        return tuple(int(i) for i in np.round(along / self._steps(along)))

    def log_volume(self, node: Node) -> float:
        """Of a node's cell; on an axis' zero it has half a step of either side."""
        z = np.array(node)
        return float(np.log(np.where(z == 0, self.step.mean(axis=0), self._steps(z))).sum())


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
    layers, log_weights = [], []
    for z, share in _BANDWIDTH_RULE:
        layer = middle
        if z != 0:
            other = learn_at(graph, labeled, tasks, settings, epsilon * np.exp(z * spread), None, learned)
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


def _half_axis(evidence: Evidence, mode: Fit, direction: Array, spread: float) -> float:
    """Standard deviation along one half-axis, by how far the log posterior takes to fall by two."""
    low, high = np.transpose(evidence.space.log_bounds())
    with np.errstate(divide="ignore", invalid="ignore"):
        rooms = np.where(direction > 0, (high - mode.theta) / direction, (low - mode.theta) / direction)
    room = 0.5 * float(np.min(rooms[direction != 0]))
    scale = spread
    for _ in range(_PROBES):
        if scale > room:  # a bound is nearer than two standard deviations: nothing to probe beyond it
            break
        value, _ = evidence.log_posterior(mode.theta + 2.0 * scale * direction)
        fall = max(mode.log_posterior - value, 0.01)
        longer = min(scale * float(np.clip(np.sqrt(2.0 / fall), 0.3, 2.5)), _WIDEST)
        settled = abs(np.log(longer / scale)) < 0.2
        scale = longer
        if settled:
            break
    return scale


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
