"""Which rows to label next: uncertain ones, or those whose labels tell most about all others.

The latter on the graph alone (`typical`, `coverage`), or by the model's own posterior. That is closed-form in
weight space: the posterior covariance of f between two points is the inner product of two rows of a matrix
S (n, K). A label at x changes it by a rank-one term that does not depend on the label's value. So a batch is
chosen one row at a time, each given the labels that those before it will have: copies of a chosen row gain
nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from .._typing import Array, BoolArray, IntArray
from .._words import check_choice
from ..process.field import WeightField
from ..process.mixture import LatentFunction
from ..rows.blocks import take_rows
from .coverage import (
    MODES_PER_CLUSTER,
    MODES_PER_LABEL,
    Spread,
    correlated,
    cover,
    diffusion_time,
    least_variance,
    typical,
)
from .validation import check_count

if TYPE_CHECKING:
    from ._latent import LatentModel

STRATEGIES = ("auto", "typical", "coverage", "uncertainty", "diverse", "variance", "random")
# Rows that are considered, and rows whose variance is to fall: random samples of X.
_MOST_CANDIDATES, _MOST_REFERENCES = 10_000, 5_000
# Labels for each class from which on the doubt of the model is worth asking for; before, typical rows are.
_FEW_LABELS = 4
# A batch of uncertain rows is chosen among this many times as many, so that they differ.
_SHORTLIST = 10
# Posterior draws that stand for the covariance where it is not that of weights.
_DRAWS = 200
# A probability never counts as more certain than this: a label there would be worth nothing.
_LEAST_DOUBT = 1e-3


def suggest(
    model: LatentModel,
    X: Array,
    n: int,
    strategy: str,
    random_state: Any,
    probability: Array | None,
    offset: Array | None = None,
) -> IntArray:
    """Numbers of the rows of X (m, p) to label next, the most useful first.

    `probability` (m, C) is that of the classes, None for a regression; `offset` (m, k) that of the functions.
    """
    check_count("n", n)
    check_choice("strategy", strategy, STRATEGIES)
    seed = check_random_state(random_state).randint(2**31)
    rng = np.random.default_rng(seed)
    free = np.flatnonzero(~_has_label(model, X))
    if len(free) < n:
        raise ValueError(f"n={n}, but X has {len(free)} rows without a label. Ask for at most that many.")
    if strategy == "random":
        return rng.permutation(free)[:n]
    if strategy == "auto":
        strategy = "variance" if probability is None else _for_classes(model, probability.shape[1])
    if strategy in ("uncertainty", "diverse"):
        doubt = _doubt(model, take_rows(X, free), None if probability is None else probability[free])
        if strategy == "uncertainty":
            return free[np.argsort(-doubt, kind="stable")[:n]]
        return free[_uncertain_and_different(model, take_rows(X, free), doubt, n, seed)]
    pool = _sample(free, max(_MOST_CANDIDATES, n), rng)
    others = _sample(np.arange(len(X)), _MOST_REFERENCES, rng)
    if strategy == "typical":
        at, known = _on_graph(model, MODES_PER_CLUSTER, n)
        with model._working():
            return pool[typical(at(take_rows(X, pool)), at(known), n, seed)]
    if strategy == "coverage":
        return pool[_covering(model, X, pool, others, probability, n)]
    p = None if probability is None else (probability[pool], probability[others])
    own = np.zeros((len(pool), 1)) if offset is None else offset[pool]
    return pool[_least_variance(model, take_rows(X, pool), take_rows(X, others), p, n, own)]


def _for_classes(model: LatentModel, n_classes: int) -> str:
    labels = model._labels_
    return "typical" if labels is not None and len(labels) < _FEW_LABELS * n_classes else "coverage"


def _on_graph(model: LatentModel, modes: float, n: int) -> tuple[Callable[[Array], Array], Array]:
    """Features of rows, with this many modes for each label there will be; and the labelled points."""
    labels = model._labels_
    known = np.empty((0, model.n_features_in_)) if labels is None else np.asarray(labels.points)
    time = diffusion_time(model.eigenvalues_, modes * (len(known) + n))

    def at(rows: Array) -> Array:
        places = model._inputs(rows).places
        return correlated(model.basis_.features(places), places.closeness, model.eigenvalues_, time)

    return at, known


def _covering(
    model: LatentModel, X: Array, pool: IntArray, others: IntArray, probability: Array | None, n: int
) -> IntArray:
    """Positions in the pool of n rows that stand for the most doubt at other points, on the graph alone."""
    at, known = _on_graph(model, MODES_PER_LABEL, n)
    own, rest = take_rows(X, pool), take_rows(X, others)
    chances = (None, None) if probability is None else (probability[pool], probability[others])
    own_doubt, doubt = _doubt(model, own, chances[0]), _doubt(model, rest, chances[1])
    with model._working():
        return cover(at(own), at(rest), at(known), own_doubt, doubt, n)


def _doubt(model: LatentModel, X: Array, probability: Array | None) -> Array:
    """How uncertain the prediction of each row is (m,): the margin of two classes, or the spread of f."""
    if probability is None:
        _, variance = model.latent_mean_and_variance(X)
        return np.sqrt(variance if variance.ndim == 1 else variance.sum(axis=1))
    if probability.shape[1] == 1:
        return np.zeros(len(X))
    two = np.partition(probability, -2, axis=1)[:, -2:]
    return 1.0 - (two[:, 1] - two[:, 0])


def _uncertain_and_different(model: LatentModel, X: Array, doubt: Array, n: int, seed: int) -> IntArray:
    """Positions of n uncertain rows, one from each of n clusters of the most uncertain ones."""
    shortlist = np.argsort(-doubt, kind="stable")[: _SHORTLIST * n]
    if n == 1 or len(shortlist) <= n:
        return shortlist[:n]
    S = np.concatenate(_spreads(model, take_rows(X, shortlist)), axis=1)
    S = S / np.maximum(np.linalg.norm(S, axis=1, keepdims=True), 1e-300)
    cluster = KMeans(n, n_init=1, random_state=seed % 2**31).fit_predict(S)
    # The most uncertain row of each cluster; the shortlist is in that order.
    _, first = np.unique(cluster, return_index=True)
    chosen = np.sort(first)
    if len(chosen) < n:  # fewer distinct rows than n
        chosen = np.concatenate([chosen, np.setdiff1d(np.arange(len(shortlist)), chosen)[: n - len(chosen)]])
    return shortlist[chosen]


def _least_variance(
    model: LatentModel, own: Array, others: Array, p: tuple[Array, Array] | None, n: int, offset: Array
) -> IntArray:
    """Positions of n candidates (m, p) whose labels lower the summed variance at other points most."""
    S, R = _spreads(model, own), _spreads(model, others)
    if p is None:
        noise = [
            _noise(model, function, own, k, offset[:, min(k, offset.shape[1] - 1)])
            for k, function in enumerate(model._process_.functions)
        ]
        weights = [np.ones(len(others)) for _ in R]
    else:
        doubt = [np.maximum(part * (1.0 - part), _LEAST_DOUBT)[:, -len(S) :] for part in p]
        noise = [1.0 / doubt[0][:, k] for k in range(len(S))]
        # To first order, p(1-p) times the spread of f is that of the probability.
        weights = [doubt[1][:, k] ** 2 for k in range(len(S))]
    return least_variance([Spread(*each) for each in zip(S, R, noise, weights, strict=True)], n)


def _spreads(model: LatentModel, X: Array) -> list[Array]:
    """S (m, K) of every latent function, with S Sᵀ the posterior covariance of f."""
    process = model._process_
    with model._working():
        views = process.at(model._inputs(X))
        found = []
        for function in process.functions:
            part = function.components[0]
            if len(function.components) > 1 or process.coupled is not None:
                break
            if not isinstance(part.field, WeightField):
                break
            found.append(part.field.spread(views[part.layer]))
    if len(found) == len(process.functions):
        return found
    draws = model.sample_f(X, _DRAWS, 0)
    draws = draws[:, None] if draws.ndim == 2 else draws
    centred = (draws - draws.mean(axis=2, keepdims=True)) / np.sqrt(_DRAWS)
    return [centred[:, k].copy() for k in range(centred.shape[1])]


def _noise(model: LatentModel, function: LatentFunction, X: Array, k: int, offset: Array) -> Array:
    """Variance of a label given f, in units of f (m,)."""
    mean, _ = model.latent_mean_and_variance(X)
    mean = offset + (mean if mean.ndim == 1 else mean[:, k])
    likelihood = function.likelihood
    step = 1e-4 * max(float(np.std(mean)), 1e-3)
    slope = (likelihood.conditional_mean(mean + step) - likelihood.conditional_mean(mean - step)) / (2 * step)
    return likelihood.conditional_variance(mean) / np.maximum(slope**2, 1e-12)


def _has_label(model: LatentModel, X: Array) -> BoolArray:
    """Which rows are points that have a label already."""
    known = model._labels_
    if known is None:
        warnings.warn(
            "The model does not hold its labels (it was saved with compact=True, or there are too many), so "
            "rows that have one may be suggested. Leave them out of X.",
            stacklevel=4,
        )
        return np.zeros(len(X), dtype=bool)
    seen = {row.tobytes() for row in np.ascontiguousarray(known.points, dtype=np.float64)}
    return np.array([np.ascontiguousarray(row, dtype=np.float64).tobytes() in seen for row in X])


def _sample(rows: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
