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
from ..geometry.base import FittedGeometry
from ..terms import Inputs
from .evidence import Evidence
from .hyper_posterior import HyperparameterPosterior
from .learning import LearnedModel, Settings, learn_on
from .search import LearnedFunction, Optimum
from .sharing import split

# Step, in logarithms, of the differences of the gradient.
_STEP = 0.05
# A half-axis is at most this long: three units of the logarithm for one standard deviation.
_WIDEST = 3.0
_PROBES = 4
# Standard deviations between points of the lattice: for a Gaussian the sum is right to 3e-4.
_SPACING = 1.5
# The lattice ends a step beyond where the log posterior has fallen by this much, or at this many points. Of
# that last step, only points above the border have mass worth keeping.
_FALL = 5.0
_BORDER = 3.0
_MAX_NODES = 300
# Points with a smaller share of the mass are dropped.
_LIGHTEST = 5e-4
# Bandwidths: Gauss-Hermite points and weights in standard deviations of log ε, and the range of those.
_BANDWIDTH_RULE = ((-np.sqrt(3.0), 1 / 6), (0.0, 2 / 3), (np.sqrt(3.0), 1 / 6))
_BANDWIDTH_SPREAD = (0.02, 0.7)

Node = tuple[int, ...]


@dataclass(frozen=True)
class Integrated:
    """The hyperparameters of one function as a weighted set of points."""

    points: list[Optimum]
    weights: Array  # sum to 1
    log_normalizer: float  # log ∫ p(y | θ) π(θ) dθ, up to the prior's constant


@dataclass(frozen=True)
class IntegratedModel:
    """All functions at one bandwidth."""

    weight: float
    model: LearnedModel
    integrals: list[Integrated]  # one for each function


def integrate(evidence: Evidence, mode: Optimum, most: int = _MAX_NODES) -> Integrated:
    """Points and weights that stand for the posterior of the hyperparameters.

    A grid in the stretched axes, explored outwards from the mode and from the other modes that the search
    came across (often one where t is so large that f is constant), highest posterior first, until it has
    fallen by `_FALL` or `most` points were looked at. For a smooth density the trapezoidal rule at this
    spacing is as good as exact, and a ridge that bends or a second hill is followed as far as it matters.
    """
    k = len(mode.theta)
    if k == 0:
        return Integrated([mode], np.ones(1), mode.log_posterior)
    grid = _Grid.around(evidence, mode)
    seen: set[Node] = set()
    reached: list[tuple[Node, Optimum]] = []
    queue: list[tuple[float, Node]] = []

    def visit(node: Node) -> None:
        theta = grid.theta(node)
        if node in seen or theta is None or len(seen) >= most:
            return
        seen.add(node)
        point = mode
        if any(node):
            point = Optimum.of(evidence, theta, evidence.evaluate(theta, one_of_many=True)[0], mode.report)
        fall = mode.log_posterior - point.log_posterior
        if fall < _FALL:
            heappush(queue, (fall, node))
        if fall < _FALL + _BORDER:
            reached.append((node, point))

    visit((0,) * k)
    for rival in mode.rivals:
        visit(grid.nearest(rival))
    while queue:
        _, node = heappop(queue)
        for j, side in product(range(k), (1, -1)):
            visit((*node[:j], node[j] + side, *node[j + 1 :]))
    log_mass = np.array([point.log_posterior + grid.log_volume(node) for node, point in reached])
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
    low: Array  # (k,) bounds
    high: Array  # (k,)

    @classmethod
    def around(cls, evidence: Evidence, mode: Optimum) -> _Grid:
        """The lattice whose steps are `_SPACING` standard deviations."""
        axes, spread = _axes(evidence, mode)
        lengths = [
            [_half_axis(evidence, mode, side * axes[:, j], spread[j]) for j in range(len(spread))]
            for side in (1, -1)
        ]
        return cls(mode.theta, axes, _SPACING * np.array(lengths), *evidence.space.log_bounds().T)

    def _steps(self, z: Array) -> Array:
        return np.where(z > 0, self.step[0], self.step[1])

    def theta(self, node: Node) -> Array | None:
        """Logarithms of the hyperparameters at a node; None outside the bounds."""
        z = np.array(node, dtype=float)
        theta = self.center + self.axes @ (z * self._steps(z))
        # The mode itself may lie on a bound, to rounding.
        inside = (theta >= self.low - 1e-9) & (theta <= self.high + 1e-9)
        return np.clip(theta, self.low, self.high) if inside.all() else None

    def nearest(self, theta: Array) -> Node:
        """The node next to a point."""
        along = self.axes.T @ (theta - self.center)
        return tuple(int(i) for i in np.round(along / self._steps(along)))

    def log_volume(self, node: Node) -> float:
        """Of a node's cell; on an axis' zero it has half a step of either side."""
        z = np.array(node)
        return float(np.log(np.where(z == 0, self.step.mean(axis=0), self._steps(z))).sum())


def integrate_model(
    model: LearnedModel, geometry: FittedGeometry, labels: Inputs, settings: Settings
) -> list[IntegratedModel]:
    """Quadratures of all functions; for a bandwidth that was searched, at three bandwidths around the best.

    A bandwidth is weighed by the evidence of all functions together, their hyperparameters integrated out,
    with a prior uniform in log ε; the outer two, whose shares are small, have half as many points at most.
    With a local term it stays at its best value.
    """
    middle = _integrated(model)
    if not model.bandwidth_trace or any(f.evidence.local is not None for f in model.functions):
        return [middle]
    epsilon = model.basis.bandwidth
    assert epsilon is not None
    spread, targets = _bandwidth_spread(model.bandwidth_trace), [f.target for f in model.functions]
    parts, log_weights = [], []
    for z, share in _BANDWIDTH_RULE:
        part = middle
        if z != 0:
            basis = geometry.basis(settings.n_eigenpairs, epsilon * np.exp(z * spread), model.basis)
            beside = learn_on(basis, labels, targets, settings, model)
            part = _integrated(beside, _MAX_NODES // 2)
        parts.append(part)
        log_weights.append(np.log(share) + 0.5 * z**2 + sum(i.log_normalizer for i in part.integrals))
    weights = np.exp(log_weights - logsumexp(log_weights))
    pairs = zip(parts, weights.tolist(), strict=True)
    return [replace(part, weight=weight) for part, weight in pairs if weight > _LIGHTEST]


def _integrated(model: LearnedModel, most: int = _MAX_NODES) -> IntegratedModel:
    if model.shared is not None:
        return IntegratedModel(1.0, model, _shared_integrals(model.shared, model.functions, most))
    return IntegratedModel(1.0, model, [integrate(f.evidence, f.best, most) for f in model.functions])


def _shared_integrals(
    shared: LearnedFunction, functions: Sequence[LearnedFunction], most: int
) -> list[Integrated]:
    """One quadrature for outputs that share their hyperparameters, in the units of each of them."""
    whole, evidences = integrate(shared.evidence, shared.best, most), [f.evidence for f in functions]
    points = [split(shared.evidence, evidences, point) for point in whole.points]
    share = whole.log_normalizer / len(functions)
    return [Integrated(list(own), whole.weights, share) for own in zip(*points, strict=True)]


def _axes(evidence: Evidence, mode: Optimum) -> tuple[Array, Array]:
    """Eigenvectors (k, k) of the Hessian at the mode, and the standard deviations (k,) along them."""
    k = len(mode.theta)
    low, high = evidence.space.log_bounds().T
    hessian = np.empty((k, k))
    for j in range(k):
        up, down = mode.theta.copy(), mode.theta.copy()
        up[j], down[j] = min(up[j] + _STEP, high[j]), max(down[j] - _STEP, low[j])
        difference = evidence.log_posterior(up)[1] - evidence.log_posterior(down)[1]
        hessian[j] = difference / (up[j] - down[j])
    curvature, axes = np.linalg.eigh(-0.5 * (hessian + hessian.T))
    return axes, 1.0 / np.sqrt(np.maximum(curvature, _WIDEST**-2.0))


def _half_axis(evidence: Evidence, mode: Optimum, direction: Array, spread: float) -> float:
    """Standard deviation along one half-axis, by how far the log posterior takes to fall by two."""
    low, high = evidence.space.log_bounds().T
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


def hyperparameter_posterior(parts: Sequence[IntegratedModel], which: int) -> HyperparameterPosterior:
    """The quadrature of one function, over all bandwidths."""
    names = parts[0].model.functions[which].evidence.space.free
    nodes, weights = [], []
    for part in parts:
        integral = part.integrals[which]
        epsilon = [] if len(parts) == 1 else [part.model.basis.bandwidth]
        nodes += [[*(point.values[name] for name in names), *epsilon] for point in integral.points]
        weights += (part.weight * integral.weights).tolist()
    if len(parts) > 1:
        names = (*names, "bandwidth")
    return HyperparameterPosterior(names, np.array(nodes, dtype=float), np.array(weights))
