"""The prior covariance of f from any point to all others, in a form that a page computes by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..estimators import prior_variances
from ..terms import Inputs
from ..terms.local.features import LocalFeatures

# The eigenfunctions that carry this share of the prior variance, or as many as fit in this many bytes.
_KEPT_SHARE, _MAX_LIFT_BYTES = 0.9995, 2_400_000
# Bytes for the features of the other terms, and for the coordinates of a local one.
_MAX_OTHER_BYTES, _MAX_COORDINATE_BYTES = 800_000, 1_000_000
_LEAST_EIGENVALUE = 1e-9
# The local term's covariance is sent as a table of the distance, up to where it is below this share.
_TABLE_SIZE, _NO_COVARIANCE = 512, 1e-4


def scaled_lift(model: Any) -> tuple[Array, float]:
    """B D^(1/2) (s, M) of the eigenfunctions that carry the prior variance, and the share they carry."""
    d = prior_variances(model)
    lift = model.basis_.at_nodes(np.eye(len(d)))
    order = np.argsort(-d, kind="stable")
    carried = np.cumsum(d[order]) / max(d.sum(), 1e-300)
    count = int(np.searchsorted(carried, _KEPT_SHARE)) + 1
    count = max(1, min(count, len(d), _MAX_LIFT_BYTES // (4 * len(lift))))
    return lift[:, order[:count]] * np.sqrt(d[order[:count]]), float(carried[count - 1])


def other_features(model: Any, inputs: Inputs) -> Array:
    """E (n, k) with E Eᵀ the prior covariance of all terms but the manifold's and the local one.

    The most important directions, where a term has more features than fit on a page.
    """
    constant = np.mean(
        [
            sum(part.weight * part.constant_variance for part in f.components)
            for f in model._process_.functions
        ]
    )
    columns = [np.full((len(inputs), 1), np.sqrt(constant))]
    for term, d in _terms(model):
        if term.name in ("manifold", "local"):
            continue
        nodes = term.at_nodes(np.diag(np.sqrt(d)))
        columns.append(term.view(inputs).rows.combine(nodes))
    E = np.concatenate(columns, axis=1)
    values, vectors = np.linalg.eigh(E.T @ E)
    kept = values > _LEAST_EIGENVALUE * max(values[-1], 1e-300)
    kept[: max(0, len(kept) - max(2, _MAX_OTHER_BYTES // (4 * len(E))))] = False
    return E @ vectors[:, kept]


def local_part(model: Any, inputs: Inputs) -> dict[str, Any] | None:
    """Where the local term measures distances (n, q), and its covariance as a table of the distance.

    None if there is no such term, or its coordinates do not fit on a page.
    """
    at = inputs.coordinates
    if at is None or at.size * 2 > _MAX_COORDINATE_BYTES:
        return None
    low, high = at.min(axis=0), at.max(axis=0)
    diameter = float(np.linalg.norm(high - low))
    whole = _local_covariance(model, np.linspace(0.0, max(diameter, 1e-300), 20_000))
    if whole[0] <= 0.0:
        return None
    reach = diameter * np.count_nonzero(whole > _NO_COVARIANCE * whole[0]) / len(whole)
    step = max(reach, 1e-300) / (_TABLE_SIZE - 1)
    scale = max(float((high - low).max()) / 65_535, 1e-300)
    return {
        "coordinates": np.rint((at - low) / scale),
        "scale": scale,
        "step": step,
        "table": _local_covariance(model, step * np.arange(_TABLE_SIZE)),
    }


def _local_covariance(model: Any, distance: Array) -> Array:
    """k_u of distances, averaged over the latent functions."""
    total = np.zeros(len(distance))
    for term, d in _terms(model):
        if isinstance(term, LocalFeatures):
            total += d[0] * np.exp(-0.5 * distance**2)
    functions = model._process_.functions
    for function in functions:
        for part in function.components:
            if part.local is not None:
                total += part.weight * part.local.covariance(distance) / len(functions)
    return total


def _terms(model: Any) -> list[tuple[Any, Array]]:
    """Every term with its prior variances, averaged over latent functions; of the heaviest layer only."""
    process = model._process_
    parts = [part for function in process.functions for part in function.components]
    shares = np.zeros(len(process.layers))
    for part in parts:
        shares[part.layer] += part.weight
    layer = int(np.argmax(shares))
    weights = np.array([part.weight for part in parts if part.layer == layer])
    variances = np.stack([part.variances for part in parts if part.layer == layer])
    d = weights @ variances / weights.sum()
    terms = process.layers[layer]
    return [(term, d[span]) for term, span in zip(terms.parts, terms.spans(), strict=True)]
