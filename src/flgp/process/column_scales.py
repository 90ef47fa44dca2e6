"""A length scale for each column of the local term, from many labels.

`relevance` learns how far apart two points are from a thousand labels. Many more of them lie closer together,
and only they show how f varies over short distances. Here some labels, evenly from coarse to fine, stand for
all, and each is predicted from its nearest neighbours among *all* labels, as in the local term. The gradient
in every length scale costs little more than the evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._threads import thread_map
from .._typing import Array, IntArray
from ..terms.local.batched import solve_lower, solve_upper
from ..terms.local.euclidean import LocalModel
from ..terms.local.neighborhoods import FAR, coarse_order, evenly, pair_columns, previous_neighbors
from ..terms.local.vecchia import batches, conditionals
from .ascent import ascend

# Neighbours that a label is predicted from.
_NEIGHBORS = 30
# Labels that are predicted, and steps: few show the way, more its end, where the neighbours are others.
_CLIMBS = ((1_000, 20), (4_000, 10))
# Columns are thought to differ by this much from what was known, in logarithms.
_SPREAD = 1.0
_KERNEL = "rational_quadratic"
_BOUND, _FIRST_STEP = 8.0, 0.5


def learn_scales(points: Array, y: Array, noise_scale: Array, factors: Array) -> Array:
    """Factors of the columns (q,), in which the length scale is 1, from first ones.

    The labels y (m,) at `points` (m, q) are centred; `noise_scale` is (m,).
    """
    scale = float(np.mean(y**2))
    if scale == 0.0:
        return factors
    order = coarse_order(points * factors)
    theta = np.zeros(3 + len(factors))
    theta[:3] = np.log([0.5, 0.1, 1.0])
    for count, steps in _CLIMBS:
        rows = order[evenly(len(y), count)]
        near = previous_neighbors(points * (factors * np.exp(theta[3:])), _NEIGHBORS, order, rows)
        evidence = _Evidence(points * factors, y / np.sqrt(scale), noise_scale, rows, near)
        bounds = [(-14.0, 7.0), (-14.0, 2.3), (-4.0, 4.0), *[(-_BOUND, _BOUND)] * len(factors)]
        theta = ascend(evidence, theta, bounds, first_step=_FIRST_STEP, maxiter=steps).x
    return factors * np.exp(theta[3:])


@dataclass(frozen=True)
class _Evidence:
    """The log posterior of theta and its gradient.

    theta: logarithms of a_u², of σ², of the kernel's shape, and of each column's factor.
    """

    points: Array  # (m, q)
    y: Array  # (m,)
    noise_scale: Array  # (m,)
    rows: IntArray  # (s,) labels that are predicted
    neighbors: IntArray  # (s, k) from these; a row's own number stands for none

    def __call__(self, theta: Array) -> tuple[float, Array]:
        local = LocalModel(_KERNEL, 1.0, *np.exp(theta[:3]))
        factors = np.exp(theta[3:])
        pieces = batches(len(self.rows), self.neighbors.shape[1])
        parts = list(thread_map(lambda batch: self._part(local, factors, batch), pieces))
        share = len(self.y) / len(self.rows)
        value = share * sum(part for part, _ in parts)
        gradient = share * np.sum([part for _, part in parts], axis=0)
        # The priors of `relevance`.
        value += 0.5 * theta[0] - np.exp(theta[0]) / 18.0 - 0.1 * theta[1] - 1e-3 * np.exp(-theta[1])
        gradient[0] += 0.5 - np.exp(theta[0]) / 18.0
        gradient[1] += -0.1 + 1e-3 * np.exp(-theta[1])
        value -= 0.5 * float(theta[2:] @ theta[2:]) / _SPREAD**2
        gradient[2:] -= theta[2:] / _SPREAD**2
        return value, gradient

    def _part(self, local: LocalModel, factors: Array, batch: slice) -> tuple[float, Array]:
        """The sum over a batch and its gradient, by the chain rule backwards."""
        rows, neighbors = self.rows[batch], self.neighbors[batch]
        members = np.concatenate([rows[:, None], neighbors], axis=1)  # (b, k + 1)
        X = np.ascontiguousarray((self.points[members] * factors).transpose(2, 1, 0))  # (q, k + 1, b)
        none = (neighbors == rows[:, None]).T  # (k, b)
        distance = _distances(X, none)
        k = len(none)
        cross, within = distance[:k], distance[k:]
        noise = local.noise_variance * self.noise_scale[members].T
        system = conditionals(local, within, cross, noise[1:])
        b, y = system.weights, self.y[neighbors].T
        F = local.diagonal + noise[0] - system.explained
        error = self.y[rows] - np.einsum("kb,kb->b", b, y)
        value = -0.5 * float((error**2 / F + np.log(2 * np.pi * F)).sum())
        by_F = 0.5 * (error**2 / F - 1.0) / F
        a = solve_upper(system.cholesky, solve_lower(system.cholesky, y * (error / F)))
        # Derivatives in the covariances: of the point with its neighbours, on the diagonal, among these.
        half = by_F * b - a
        by_within = np.empty_like(within)
        for j, pairs in pair_columns(k):
            by_within[pairs] = half[j] * b[j + 1 :] + half[j + 1 :] * b[j]
        by = np.concatenate([a - 2.0 * by_F * b, by_within])
        covariance = np.concatenate([system.cross, system.within])
        diagonal = half * b
        length, shape = local.slopes(distance, covariance)
        along = np.divide(by * length, distance**2, out=np.zeros_like(by), where=distance > 0)
        gradient = [
            float(np.vdot(by, covariance)) + local.diagonal * float(diagonal.sum() + by_F.sum()),
            float(np.vdot(diagonal, noise[1:]) + by_F @ noise[0]),
            float(np.vdot(by, shape)),
        ]
        return value, np.concatenate([gradient, -_squares(X, along)])


def _distances(X: Array, none: Array) -> Array:
    """Between the members of each set, X (q, k + 1, b): pairs with the first (k, b), then all others."""
    size = X.shape[1]
    distance = np.empty((size * (size - 1) // 2, X.shape[2]))
    for j, pairs in pair_columns(size):
        difference = X[:, j + 1 :] - X[:, j : j + 1]
        np.sqrt(np.einsum("qlb,qlb->lb", difference, difference), out=distance[pairs])
        distance[pairs][none[j:] | none[j - 1] if j else none] = FAR
    return distance


def _squares(X: Array, along: Array) -> Array:
    """Σ over pairs and sets of `along` times the squared difference in each column, (q,)."""
    total = np.zeros(len(X))
    for j, pairs in pair_columns(X.shape[1]):
        difference = X[:, j + 1 :] - X[:, j : j + 1]
        np.square(difference, out=difference)
        total += difference.reshape(len(X), -1) @ along[pairs].ravel()
    return total
