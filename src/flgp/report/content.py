"""The data of a model and its points for the viewer of the page, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._typing import Array, IntArray
from ..model_selection import Evaluation
from ..tables import OwnColumn
from .kernel import local_part, other_features, scaled_lift
from .maps import maps
from .text import packed, short

# Columns of the table that are shown: so many, or as many as fit in so many bytes.
_MOST_COLUMNS, _MAX_COLUMN_BYTES = 30, 1_200_000
_MOST_PROBABILITIES = 3  # of the likeliest classes of each point


def viewer_data(
    model: Any,
    X: Array,
    answers: tuple[Array, Array, Array | None],
    label: Array | None,
    numbers: IntArray,
    feature_names: list[str],
    target: str,
) -> dict[str, Any]:
    """The JSON that the viewer reads, about points X (n, p).

    `answers` are the prediction (n,), its uncertainty (n,), and class probabilities (n, C) or None. `label`
    (n,) is NaN where unlabelled and holds class codes for a classifier; None: no labels at all. `numbers`
    (n,) are the numbers of the rows in the table.
    """
    prediction, uncertainty, probability = answers
    inputs = model._inputs(X)
    known = model.basis_.rows(inputs.places)
    lift, share = scaled_lift(model)
    others, local = other_features(model, inputs), local_part(model, inputs)
    classes = is_classifier(model)
    left_out = [f"{share:.0%} of the manifold"] if share < 0.99 else []
    if inputs.coordinates is not None and local is None:
        left_out.append("without close neighbours")
    labeled = np.flatnonzero(~np.isnan(label)) if label is not None else np.empty(0, dtype=int)
    return {
        "n": len(X),
        "s": len(lift),
        "r": known.index.shape[1],
        "M": lift.shape[1],
        "classes": [short(name) for name in model.classes_] if classes else None,
        "maps": maps(model, X, inputs.places, feature_names),
        "prediction": packed(prediction, np.float32),
        "uncertainty": packed(uncertainty, np.float32),
        "likely": _likely(probability),
        # Few points have a label, and most pages show all rows in their order.
        "labeled": packed(labeled, np.uint32),
        "label": None if label is None else packed(label[labeled], np.float32),
        "row": None if np.array_equal(numbers, np.arange(len(X)) + 1) else packed(numbers, np.uint32),
        "neighbor": packed(known.index, np.uint32 if len(lift) > 65_535 else np.uint16),
        "z": _weights(inputs.places.closeness[:, None] * known.z),
        "lift": packed(lift, np.float32),
        "q": others.shape[1],
        "others": packed(others, np.float32),
        "local": local
        and {
            "coordinates": packed(local["coordinates"], np.uint16),
            "width": local["coordinates"].shape[1],
            "scale": local["scale"],
            "step": local["step"],
            "table": packed(local["table"], np.float32),
        },
        "names": {
            "prediction": f"prediction of {short(target)}",
            "uncertainty": "uncertainty (entropy, bits)" if classes else "uncertainty (standard deviation)",
            "label": f"label ({short(target)})",
            "covariance": "kernel from the chosen point" + (f" ({', '.join(left_out)})" if left_out else ""),
        },
        "hint": "Point at a dot for its values; click it to see which others the model likens to it.",
    }


def channels(
    distance: Array, columns: Sequence[OwnColumn], evaluation: Evaluation | None, rows: IntArray
) -> list[dict[str, Any]]:
    """What else the points can be coloured by: held-out surprise, distance, and the first columns.

    `distance` (n,) is that of the points shown, `columns` have the values of all rows, `rows` (n,) are those
    shown.
    """
    found: list[dict[str, Any]] = []
    if evaluation is not None:
        surprise = np.full(len(rows), np.nan)
        at = np.searchsorted(rows, evaluation.rows)
        here = (at < len(rows)) & (rows[np.minimum(at, len(rows) - 1)] == evaluation.rows)
        surprise[at[here]] = evaluation.losses["flgp"][here]
        found.append(_channel("error: surprise of the held-out label", surprise))
    found.append(_channel("distance from the data of the fit", distance))
    # Each column is four bytes a point: the page must stay small.
    count = min(_MOST_COLUMNS, max(3, _MAX_COLUMN_BYTES // (4 * len(rows))))
    for column in columns[:count]:
        about = {"kind": column.kind, "levels": column.levels and [short(name) for name in column.levels]}
        found.append(_channel(f"column {column.name}", column.values[rows]) | about)
    return found


def _channel(name: str, values: Array) -> dict[str, Any]:
    return {"name": short(name, 80), "values": packed(values, np.float32), "kind": "number", "levels": None}


def _weights(z: Array) -> dict[str, Any]:
    """Weights in 16 bits: to 3e-5 of the largest."""
    step = max(float(np.abs(z).max(initial=0.0)), 1e-300) / 32_767
    return {"step": step, "values": packed(np.rint(z / step), np.int16)}


def _likely(probability: Array | None) -> dict[str, Any] | None:
    """The likeliest classes of each point and their probabilities."""
    if probability is None:
        return None
    count = min(_MOST_PROBABILITIES, probability.shape[1])
    best = np.argsort(-probability, axis=1, kind="stable")[:, :count]
    chance = np.take_along_axis(probability, best, axis=1)
    codes = np.uint8 if probability.shape[1] <= 256 else np.uint16
    return {
        "count": count,
        "wide": probability.shape[1] > 256,
        "codes": packed(best, codes),
        "chances": packed(np.rint(65_535 * chance), np.uint16),
    }
