"""Where the points of a report are drawn: columns, principal components, eigenmap, neighbourhoods."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import views
from .._typing import Array
from ..geometry.base import Places
from .layout import FEWEST, neighborhoods
from .text import packed

_FEW_CLASSES = 3
_SAMPLE = 20_000  # rows that the principal components are computed from


def maps(model: Any, X: Array, places: Places, feature_names: list[str]) -> list[dict[str, Any]]:
    """Positions of points and anchors, the most telling map first."""
    nodes = getattr(model, "anchors_", None)
    anchors = X[:0] if nodes is None else np.asarray(nodes)[:, : X.shape[1]]
    whole = anchors.shape[1] == X.shape[1]
    eigenmap = _packed(
        "eigenmap",
        ["first eigenfunction", "second", "third"],
        views.coordinates(model, X, "eigenmap", 3, places),
        views.coordinates(model, anchors, "eigenmap", 3) if len(anchors) and whole else np.zeros((0, 3)),
        common=False,
    )
    found = [eigenmap]
    if X.shape[1] > 3 and len(X) >= FEWEST:
        points, nodes = neighborhoods(model, X, places, anchors if whole else X[:0])
        close = _packed("neighbourhoods", [], points, nodes, common=False)
        # Many clusters do not fit into two eigenfunctions.
        found.insert(0 if len(getattr(model, "classes_", ())) > _FEW_CLASSES else 1, close)
    if X.shape[1] > 3 and whole:
        center, axes = _principal_axes(X)
        names = ["first principal component", "second", "third"]
        found.append(_packed("PCA", names, (X - center) @ axes, (anchors - center) @ axes, common=True))
    shown = feature_names[:3]
    columns = _packed(
        f"columns {', '.join(shown)}", shown, _three(X), _three(anchors), common=X.shape[1] <= 3
    )
    return [columns, *found] if X.shape[1] <= 3 else [*found, columns]


def _principal_axes(X: Array) -> tuple[Array, Array]:
    """Mean (p,) and the first three principal axes (p, 3)."""
    some = X[:: max(1, len(X) // _SAMPLE)]
    center = some.mean(axis=0)
    covariance = (some - center).T @ (some - center)
    _, vectors = np.linalg.eigh(covariance)
    return center, vectors[:, ::-1][:, :3]


def _three(X: Array) -> Array:
    return np.pad(X[:, :3], ((0, 0), (0, max(0, 3 - X.shape[1]))))


def _packed(label: str, axes: list[str], points: Array, anchors: Array, common: bool) -> dict[str, Any]:
    """Positions in 16 bits; `common`: all axes have one scale."""
    low, high = np.quantile(points, [0.0005, 0.9995], axis=0)
    center, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-300)
    half = np.full(len(half), half.max()) if common else half

    def short(places: Array) -> str:
        return packed(np.clip(np.rint((places - center) / half * 30_000), -32_767, 32_767), np.int16)

    return {
        "label": label,
        "axes": axes,  # none: positions mean nothing by themselves
        "width": points.shape[1],
        "points": short(points),
        "anchors": short(anchors),
        "free": not common,  # its axes have no common scale
        "extent": [float(size) for size in (high - low) / max(float((high - low).max()), 1e-300)],
    }
