"""The content of figures and reports about a fitted model, as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ._typing import Array, BoolArray
from ._words import check_choice
from .geometry.base import Places
from .metrics import ReliabilityCurve, reliability_curve
from .rows.labels import is_missing_label
from .terms import TIME

# Eigenvalues below this belong to functions that are constant on each connected part.
_FLAT = 1e-9
# A map needs eigenfunctions that vary over many points; some live on a few stray ones.
_LEAST_SHARE = 0.05
# They must also not be functions of one another: the first few are compared with their average over the
# nearest anchors in the coordinates chosen so far.
_CANDIDATES, _LEAST_NOVELTY, _NEAREST = 12, 0.4, 10
_MOST_NODES = 3_000  # anchors at which they are compared


def eigenfunctions(model: Any, X: Any, count: int | None = None, places: Places | None = None) -> Array:
    """φ_i at points (n, p), without those that are constant on each connected part, shape (n, count).

    `places`: where the points are on the geometry, if that is known.
    """
    check_is_fitted(model)
    keep = np.flatnonzero(model.eigenvalues_ > _FLAT)[:count]
    if places is None:
        places = model._inputs(np.asarray(X, dtype=float)).places
    nodes = model.basis_.at_nodes(np.eye(len(model.eigenvalues_))[:, keep])
    return model.basis_.rows(places).combine(nodes)


def coordinates(
    model: Any, X: Any, kind: str = "auto", dimensions: int = 2, places: Places | None = None
) -> Array:
    """Coordinates (n, dimensions) at which to draw points; missing dimensions are zero.

    `kind` is "features", the first columns of X, "eigenmap", the slowest eigenfunctions, or "auto": the
    columns if there are at most three. `places`: where the points are on the geometry, if that is known.
    """
    X = np.asarray(X, dtype=float)
    check_choice("kind", kind, ("auto", "features", "eigenmap"))
    by_columns = kind == "features" or (kind == "auto" and X.shape[1] <= 3)
    found = X[:, :dimensions] if by_columns else _eigenmap(model, X, dimensions, places)
    return np.pad(found, ((0, 0), (0, dimensions - found.shape[1])))


def _eigenmap(model: Any, X: Array, dimensions: int, places: Places | None) -> Array:
    """The slowest eigenfunctions that live on more than a few anchors; possibly fewer than wanted."""
    # A known geometry has no anchors: use the points themselves.
    nodes = np.asarray(getattr(model, "anchors_", X))
    at_anchors = eigenfunctions(model, nodes[:: len(nodes) // _MOST_NODES + 1], _CANDIDATES)
    squares = at_anchors**2
    share = squares.sum(axis=0) ** 2 / (len(squares) * np.maximum((squares**2).sum(axis=0), 1e-300))
    candidates = list(np.argsort(share < _LEAST_SHARE, kind="stable"))
    chosen: list[int] = []
    while candidates and len(chosen) < dimensions:
        novelty = [_novelty(at_anchors[:, chosen], at_anchors[:, k]) for k in candidates]
        enough = [k for k, new in zip(candidates, novelty, strict=True) if new > _LEAST_NOVELTY]
        chosen.append(int(enough[0] if enough else candidates[int(np.argmax(novelty))]))
        candidates.remove(chosen[-1])
    return eigenfunctions(model, X, max(chosen, default=-1) + 1, places)[:, chosen]


def _novelty(known: Array, values: Array) -> float:
    """The fraction of `values` (s,) that the coordinates `known` (s, k) do not explain, from 0 to 1.

    On a long strip the second eigenfunction is a function of the first, and shows nothing new.
    """
    if known.shape[1] == 0:
        return 1.0
    count = min(_NEAREST, len(values) - 1)
    places = known / np.maximum(known.std(axis=0), 1e-300)
    _, near = cKDTree(places).query(places, k=np.arange(2, count + 2))
    left = values - values[near].mean(axis=1)
    return float(np.sqrt((left @ left) / max(float(values @ values), 1e-300)))


def answers(model: Any, X: Any) -> tuple[Array, Array, Array | None]:
    """Predictions (n,), their uncertainty (n,), and the probabilities of the classes (n, C) if there are any.

    E y and its standard deviation, or class codes 0 … C-1 and the entropy in bits.
    """
    if is_classifier(model):
        p = model.predict_proba(X)
        return p.argmax(axis=1), -np.sum(p * np.log2(np.maximum(p, np.finfo(float).tiny)), axis=1), p
    mean, std = model.predict(X, return_std=True)
    if mean.ndim == 2:
        raise ValueError("The model has several targets. To show one of them, fit on one column of y.")
    return mean, std, None


def labeled(model: Any, y: Any) -> BoolArray:
    """Which rows have a label."""
    return ~is_missing_label(np.asarray(y), getattr(model, "unlabeled", None))


def color_limits(values: Array, share: float = 0.01) -> tuple[float, float]:
    """Ends of a colour scale, robust to a few extreme values and never equal."""
    low, high = (float(q) for q in np.quantile(values, [share, 1.0 - share]))
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def evidence_curve(model: Any, n_times: int = 21) -> tuple[Array, Array]:
    """Times (n_times,) about the learned diffusion time t, and log p(y | t) at each.

    All other hyperparameters have their learned values.
    """
    reports = model.optimizer_result_
    reports = reports if isinstance(reports, list) else [reports]
    names = list(reports[0].names)
    if TIME not in names:
        raise ValueError(
            "diffusion_time was given, so there is no evidence curve. Fit with diffusion_time=None."
        )
    at = names.index(TIME)
    learned = np.array([report.theta[at] for report in reports])
    low = max(min(r.bounds[TIME][0] for r in reports), learned.min() - np.log(100.0))
    high = min(max(r.bounds[TIME][1] for r in reports), learned.max() + np.log(100.0))
    times = np.linspace(low, high, n_times)
    values = []
    for log_time in times:
        thetas = [np.array(report.theta, dtype=float) for report in reports]
        for theta in thetas:
            theta[at] = log_time
        values.append(model.log_marginal_likelihood(np.concatenate(thetas)))
    return np.exp(times), np.array(values)


def calibration(model: Any, X: Any, y: Any, n_bins: int = 10, **sizes: Any) -> ReliabilityCurve:
    """Stated against observed probability, over labelled rows that the model was not fitted on.

    For classes: the probability of the predicted class against the fraction of correct predictions. For
    numbers: the probability of central intervals against the fraction of y inside. `sizes` are exposure or
    trials.
    """
    y = np.asarray(y)
    if is_classifier(model):
        return reliability_curve(y, model.predict_proba(X), classes=model.classes_, n_bins=n_bins)
    levels = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    ends = [model.predict_interval(X, level, **sizes) for level in levels]
    inside = np.array([np.mean((e[:, 0] <= y) & (y <= e[:, 1])) for e in ends])
    return ReliabilityCurve(levels, inside, np.full(len(levels), len(y)))


def anchor_edges(model: Any, X: Any) -> Array:
    """Pairs of anchors that share a point of X (n, p), each once, shape (e, 2)."""
    index = model._inputs(np.asarray(X, dtype=float)).places.neighbors.index
    first, second = np.triu_indices(index.shape[1], k=1)
    pairs = np.sort(np.stack([index[:, first].ravel(), index[:, second].ravel()], axis=1), axis=1)
    return np.unique(pairs, axis=0)
