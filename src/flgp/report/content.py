"""The data of a model and its points for the viewer of the page, as JSON."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .. import views
from .._typing import Array, IntArray
from ..estimators import prior_variances
from ..model_selection import Evaluation

# The page computes the covariance from a clicked point with the eigenfunctions that carry this fraction of
# the prior variance, or with as many as fit in this many bytes.
_MOST_COLUMNS, _MAX_COLUMN_BYTES = 30, 1_200_000
_LANDMARKS, _LEAST_EIGENVALUE, _MAX_OTHER_BYTES, _BLOCK = 40, 1e-9, 1_000_000, 5_000
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
    others = other_terms(model, X)
    classes = is_classifier(model)
    return {
        "n": len(X),
        "s": len(lift),
        "r": known.index.shape[1],
        "M": lift.shape[1],
        "flat": X.shape[1] <= 2,
        "classes": [short(name) for name in model.classes_] if classes else None,
        "maps": _maps(model, X, feature_names),
        "prediction": packed(prediction, np.float32),
        "uncertainty": packed(uncertainty, np.float32),
        "label": None if label is None else packed(label, np.float32),
        "row": packed(rows, np.uint32),
        "neighbor": packed(known.index, np.uint32 if len(lift) > 65_535 else np.uint16),
        "z": packed(places.closeness[:, None] * known.z, np.float32),
        "lift": packed(lift, np.float32),
        "q": others.shape[1],
        "others": packed(others, np.float32),
        "names": {
            "prediction": f"prediction of {target}",
            "uncertainty": "entropy (bits)" if classes else "standard deviation",
            "label": f"label ({target})",
            "covariance": "covariance from the point" + (f" ({share:.0%})" if share < 0.99 else ""),
        },
        "hint": "Click a point to see the covariance from it. Drag to turn or move, scroll or pinch to zoom.",
    }


def channels(
    X: Array, distance: Array, feature_names: list[str], evaluation: Evaluation | None, rows: IntArray
) -> list[dict[str, str]]:
    """What else the points can be coloured by: held-out surprise, distance, and the first columns."""
    found = []
    if evaluation is not None:
        surprise = np.full(len(X), np.nan)
        at = np.searchsorted(rows, evaluation.rows)
        here = (at < len(rows)) & (rows[np.minimum(at, len(rows) - 1)] == evaluation.rows)
        surprise[at[here]] = evaluation.losses["flgp"][here]
        found.append(("error: surprise of the held-out label", surprise))
    found.append(("distance from the data of the fit", distance))
    # Each column is four bytes a point: the page must stay small.
    count = min(X.shape[1], _MOST_COLUMNS, max(3, _MAX_COLUMN_BYTES // (4 * len(X))))
    found += [(f"column {name}", X[:, k]) for k, name in enumerate(feature_names[:count])]
    return [{"name": name[:80], "values": packed(values, np.float32)} for name, values in found]


def other_terms(model: Any, X: Array) -> Array:
    """E (n, k) with E Eᵀ the prior covariance of all terms but the manifold's and the local one.

    From the covariance with a few rows (Nyström), which is exact for a constant and up to as many covariates.
    """
    names = [name for name in model._process_.names if name not in ("manifold", "local")]
    landmarks = X[np.unique(np.linspace(0, len(X) - 1, _LANDMARKS).astype(int))]

    def between(rows: Array) -> Array:
        return np.sum([model.covariance(rows, landmarks, term=name) for name in names], axis=0)

    values, vectors = np.linalg.eigh(between(landmarks))
    kept = values > _LEAST_EIGENVALUE * max(values[-1], 1e-300)
    kept[: max(0, len(kept) - max(2, _MAX_OTHER_BYTES // (4 * len(X))))] = False
    if not kept.any() or values[-1] <= 0:
        return np.zeros((len(X), 0))
    to_factor = vectors[:, kept] / np.sqrt(values[kept])
    blocks = [between(X[i : i + _BLOCK]) @ to_factor for i in range(0, len(X), _BLOCK)]
    return np.concatenate(blocks)


def scaled_lift(model: Any) -> tuple[Array, float]:
    """B D^(1/2) (s, M) of the eigenfunctions that carry the prior variance, and the fraction they carry."""
    d = prior_variances(model)
    lift = model.basis_.at_nodes(np.eye(len(d)))
    order = np.argsort(-d, kind="stable")
    carried = np.cumsum(d[order]) / d.sum()
    count = int(np.searchsorted(carried, _KEPT_SHARE)) + 1
    count = max(1, min(count, len(d), _MAX_LIFT_BYTES // (4 * len(lift))))
    return lift[:, order[:count]] * np.sqrt(d[order[:count]]), float(carried[count - 1])


def short(text: Any, most: int = 60) -> str:
    """A name that fits on a page."""
    text = str(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


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
