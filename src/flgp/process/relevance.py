"""How much each column matters for the linear and the local term, by the evidence of a dense Gaussian model.

A linear function plus a squared-exponential process with a length scale for each column, on at most a
thousand labels (one-hot ones for classes): enough to learn how far apart two points are, which is what the
terms that measure Euclidean distances need to know. Everything else about the terms is learned afterwards,
from all labels and by the inference that suits them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist

from .._linalg import log_determinant, safe_cholesky
from .._typing import Array
from ..likelihoods import Bernoulli, Categorical, Gaussian, Heteroscedastic
from ..terms.local.neighborhoods import evenly
from .ascent import ascend
from .class_models import class_columns
from .evidence import Target

# Columns that get a length scale each: no more than this, and two labels for each.
_MOST_COLUMNS, _LABELS_PER_COLUMN = 150, 2
# Where nothing is known: the length scale relative to the size of the set, and how far from it the common
# one is thought to be, in logarithms.
_LENGTH, _COMMON = 0.7, 1.0
_FEW, _STEPS, _LAST_STEPS = 300, 60, 20
# Added to the diagonal, relative to the variances.
_JITTER = 1e-8
# Length scales that differ by less than this are one.
_UNEVEN = 1.5
# Standard deviations below this are those of constant columns: their squares have lost their digits.
_LEAST_DEVIATION = 1e-150


class Kind(NamedTuple):
    """What labels of a kind can say about columns."""

    most: int  # labels that are looked at
    spread: float  # how far from each other columns are thought to be, in logarithms


# A number says more about f than a class does, so columns may differ more before they are believed to.
NUMBERS, CLASSES = Kind(1_000, 1.0), Kind(400, 0.25)


@dataclass(frozen=True)
class Relevance:
    """Factors of the columns, in which 1 is the length scale of the local term; and relative ones."""

    local: Array  # (q,) 1/length scale
    linear: Array  # (q,) prior standard deviations of the slopes, mean square 1
    shares: Array  # (q,) of the mean squared gradient of f along the columns, in standard deviations
    separate: bool = False  # whether each column has a factor of its own

    @property
    def uneven(self) -> bool:
        """Whether the factors differ enough for distances to change."""
        return float(self.local.max()) > _UNEVEN * float(self.local.min())


def default_relevance(deviation: Array) -> Relevance:
    """All columns alike, given their standard deviations (q,)."""
    size = float(np.sqrt((deviation**2).sum()))
    size = size if size > _LEAST_DEVIATION else 1.0
    even = deviation**2 / size**2
    return Relevance(np.full(len(deviation), 1.0 / (_LENGTH * size)), np.ones(len(deviation)), even)


def working_labels(target: Target) -> Array | None:
    """Labels as numbers (m, k), centred: what least squares can work with; None: there is no variation."""
    likelihood, obs = target.likelihood, target.obs
    if isinstance(likelihood, Categorical | Bernoulli):
        columns = class_columns(target)
        return columns if np.any(columns) else None
    if isinstance(likelihood, Gaussian | Heteroscedastic):
        values = obs.y - obs.offset
    else:  # the logarithm of a count or of an amount is about linear in f
        size = obs.exposure * obs.trials
        values = obs.y / size
        if np.all(obs.y >= 0):
            # Half of the least label that is not 0, which is a unit of amounts as it is of counts.
            half = 0.5 * obs.y.min(where=obs.y > 0, initial=np.inf)
            values = np.log(values + (half if np.isfinite(half) else 0.5) / size)
        values = values - obs.offset
    centred = values - np.average(values, weights=obs.weight)
    return centred[:, None] if np.any(centred) else None


def learn_relevance(points: Array, labels: Array, weight: Array, kind: Kind) -> Relevance:
    """Column factors by the evidence of labels (m, k), centred, at points (m, q); a weight w counts as w
    labels.

    Columns may have any units: both as they are, and divided by their standard deviations, are tried.
    """
    rows = evenly(len(points), kind.most)
    X, Y, weight = points[rows] - points[rows].mean(axis=0), labels[rows], weight[rows]
    deviation = X.std(axis=0)
    varied = deviation > _LEAST_DEVIATION
    if not varied.any() or not np.any(Y):
        return default_relevance(deviation)
    X, own, q = X[:, varied], deviation[varied], int(varied.sum())
    units = [np.ones(q)] if own.max() < _UNEVEN * own.min() else [np.ones(q), own]
    # The way is found with few labels, and only the end of it with all.
    few = evenly(len(X), _FEW)
    models = [_DenseModel(X[few] / unit, Y[few], weight[few], kind.spread) for unit in units]
    climbs = [model.climb(np.log([0.2, 0.5, 0.3, 1.0]), _STEPS) for model in models]
    best = int(np.argmax([value for value, _ in climbs]))
    model, theta, unit = models[best], climbs[best][1], units[best]
    slopes: Array = np.zeros(q)
    local: Array = np.zeros(q)
    separate = 1 < q <= _MOST_COLUMNS and len(X) >= _LABELS_PER_COLUMN * q
    if separate:
        theta = model.climb(np.concatenate([theta, np.zeros(2 * q)]), _STEPS)[1]
    if len(few) < len(X):
        model = _DenseModel(X / unit, Y, weight, kind.spread)
        theta = model.climb(theta, _LAST_STEPS)[1]
    if separate:
        slopes, local = theta[4 : 4 + q], theta[4 + q :]
    factors = model.unit * np.exp(theta[3] + local)
    linear = np.exp(0.5 * slopes)
    gradients = np.exp(theta[0]) * linear**2 / model.size + np.exp(theta[1]) * factors**2
    parts = gradients * (own / unit) ** 2
    factors = factors / unit

    def spread(values: Array, rest: float) -> Array:
        full = np.full(len(deviation), rest)
        full[varied] = values
        return full

    return Relevance(
        spread(factors, float(factors.mean())),
        spread(linear / np.sqrt(np.mean(linear**2)), 1.0),
        spread(parts / parts.sum(), 0.0),
        separate,
    )


def _inverse_from(L: Array) -> Array:
    """(L Lᵀ)⁻¹; L is used up."""
    inverse, info = linalg.lapack.dpotri(L, lower=1, overwrite_c=1)
    assert info == 0
    lower = np.tril(inverse, -1)
    return np.tril(inverse) + lower.T


class _DenseModel:
    """Evidence of Y = constant + linear + squared exponential + noise, with gradients.

    theta: logarithms of the linear and the local variance, of the noise (in units of the labels' variance)
    and of the common factor of the columns; then of each column's slope variance and factor, relative.
    """

    def __init__(self, X: Array, Y: Array, weight: Array, spread: float) -> None:
        self.X, self.Y, self.noise, self.spread = X, Y, 1.0 / weight, spread
        self.unit = float(default_relevance(X.std(axis=0)).local[0])
        self.scale = float(np.mean(Y**2))
        self.size = float((X**2).mean(axis=0).sum())  # mean squared distance from the centre
        # From differences: products would leave rounding where points are the same and the scale is short.
        self.apart = cdist(X, X, "sqeuclidean")
        self.inner = X @ X.T / self.size

    def climb(self, start: Array, steps: int) -> tuple[float, Array]:
        """The log posterior, and theta, where a climb from `start` ends."""
        low = [np.log(1e-6), np.log(1e-6), np.log(1e-6), -4.0]
        high = [np.log(1e3), np.log(1e3), np.log(10.0), 6.0]
        more = len(start) - 4
        bounds = [*zip(low, high, strict=True), *[(-8.0, 8.0)] * more]
        found = ascend(self.log_posterior, start, bounds, maxiter=steps)
        return -float(found.fun), found.x

    def log_posterior(self, theta: Array) -> tuple[float, Array]:
        """Its value and its gradient."""
        k, q = self.Y.shape[1], self.X.shape[1]
        single = len(theta) > 4
        a_l, a_u, noise, common = np.exp(theta[:4])
        if single:
            x_l = self.X * np.exp(0.5 * theta[4 : 4 + q]) / np.sqrt(self.size)
            x_u = self.X * (self.unit * common * np.exp(theta[4 + q :]))
            inner, apart = x_l @ x_l.T, cdist(x_u, x_u, "sqeuclidean")
        else:
            inner, apart = self.inner, (self.unit * common) ** 2 * self.apart
        K_u = a_u * np.exp(-0.5 * apart)
        K = a_l * inner + K_u + 1.0
        K[np.diag_indices_from(K)] += noise * self.noise + _JITTER * (1.0 + a_l + a_u)
        L = safe_cholesky(K * self.scale)
        white = linalg.solve_triangular(L, self.Y, lower=True, check_finite=False)
        alpha = linalg.solve_triangular(L, white, lower=True, trans="T", check_finite=False)
        value = -0.5 * k * log_determinant(L) - 0.5 * float((white**2).sum())
        precision = _inverse_from(L)
        W = 0.5 * self.scale * (alpha @ alpha.T - k * precision)
        V = W * K_u
        gradient = np.zeros(len(theta))
        gradient[0], gradient[1] = a_l * np.vdot(W, inner), V.sum()
        gradient[2] = noise * float(np.diag(W) @ self.noise)
        gradient[3] = -np.vdot(V, apart)
        # The priors of the package: half-normal deviations, a weak one for the noise.
        for i in (0, 1):
            value += 0.5 * theta[i] - np.exp(theta[i]) / 18.0
            gradient[i] += 0.5 - np.exp(theta[i]) / 18.0
        value += -0.1 * theta[2] - 1e-3 / noise - 0.5 * (theta[3] / _COMMON) ** 2
        gradient[2] += -0.1 + 1e-3 / noise
        gradient[3] -= theta[3] / _COMMON**2
        if single:
            by_slope = a_l * np.einsum("ij,ij->j", x_l, W @ x_l)
            # -½ Σ_ij V_ij (x_i - x_j)² for each column
            by_factor = 2.0 * (np.einsum("ij,ij->j", x_u, V @ x_u) - V.sum(axis=1) @ x_u**2)
            value -= 0.5 * float((theta[4:] ** 2).sum()) / self.spread**2
            gradient[4:] = np.concatenate([by_slope, by_factor]) - theta[4:] / self.spread**2
        return value, gradient
