"""The data of a model and its points for the viewer of the page, as JSON."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .. import views
from .._typing import Array, IntArray
from ..estimators import prior_variances

# The page computes the covariance from a clicked point with the eigenfunctions that carry this fraction of
# the prior variance, or with as many as fit in this many bytes.
_KEPT_SHARE, _MAX_LIFT_BYTES = 0.9995, 3_000_000


def viewer_data(
    model: Any, X: Array, label: Array | None, rows: IntArray, feature_names: list[str], target: str
) -> dict[str, Any]:
    """The JSON that the viewer reads.

    Parameters
    ----------
    model : fitted FLGPRegressor or FLGPClassifier
    X : array of shape (n, p), the points shown
    label : array of shape (n,), NaN where unlabelled; class codes for a classifier. None: no labels at all
    rows : array of shape (n,), their rows in the table
    feature_names : names of the columns of X
    target : name of what is predicted
    """
    prediction, uncertainty = views.prediction_and_uncertainty(model, X)
    places = model._inputs(X).places
    known = model.basis_.rows(places)
    lift, share = scaled_lift(model)
    classes = is_classifier(model)
    return {
        "n": len(X),
        "s": len(lift),
        "r": known.index.shape[1],
        "M": lift.shape[1],
        "flat": X.shape[1] <= 2,
        "classes": [str(name) for name in model.classes_] if classes else None,
        "maps": _maps(model, X, feature_names),
        "prediction": packed(prediction, np.float32),
        "uncertainty": packed(uncertainty, np.float32),
        "label": None if label is None else packed(label, np.float32),
        "row": packed(rows, np.uint32),
        "neighbor": packed(known.index, np.uint32 if len(lift) > 65_535 else np.uint16),
        "z": packed(places.closeness[:, None] * known.z, np.float32),
        "lift": packed(lift, np.float32),
        "names": {
            "prediction": f"prediction of {target}",
            "uncertainty": "entropy (bits)" if classes else "standard deviation",
            "label": f"label ({target})",
            "covariance": "covariance from the point" + (f" ({share:.0%})" if share < 0.99 else ""),
        },
        "hint": "Click a point to see the covariance from it. Drag to turn or move, scroll or pinch to zoom.",
    }


def scaled_lift(model: Any) -> tuple[Array, float]:
    """B D^(1/2) (s, M) of the eigenfunctions that carry the prior variance, and the fraction they carry."""
    d = prior_variances(model)
    lift = model.basis_.at_nodes(np.eye(len(d)))
    order = np.argsort(-d, kind="stable")
    carried = np.cumsum(d[order]) / d.sum()
    count = int(np.searchsorted(carried, _KEPT_SHARE)) + 1
    count = max(1, min(count, len(d), _MAX_LIFT_BYTES // (4 * len(lift))))
    return lift[:, order[:count]] * np.sqrt(d[order[:count]]), float(carried[count - 1])


def packed(values: Any, dtype: Any) -> str:
    """Little-endian bytes in base64."""
    plain = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return base64.b64encode(plain.tobytes()).decode("ascii")


def _maps(model: Any, X: Array, feature_names: list[str]) -> list[dict[str, Any]]:
    """Positions of points and anchors: by the first columns, and by the eigenmap."""
    shown = feature_names[:3]
    columns = _map(model, X, "features", f"columns {', '.join(shown)}", shown, common=True)
    axes = ["first eigenfunction", "second", "third"]
    eigenmap = _map(model, X, "eigenmap", "eigenmap", axes, common=False)
    return [columns, eigenmap] if X.shape[1] <= 3 else [eigenmap, columns]


def _map(model: Any, X: Array, kind: str, label: str, axes: list[str], common: bool) -> dict[str, Any]:
    points = views.coordinates(model, X, kind, 3)
    anchors = views.coordinates(model, model.anchors_, kind, 3)
    low, high = np.quantile(points, [0.0005, 0.9995], axis=0)
    center, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-300)
    half = np.full(3, half.max()) if common else half

    def short(places: Array) -> str:
        return packed(np.clip(np.rint((places - center) / half * 30_000), -32_767, 32_767), np.int16)

    return {"label": label, "axes": axes, "points": short(points), "anchors": short(anchors)}
