"""Class labels as users hand them in: their type is kept, and two types are not mixed."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from numbers import Number
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .._typing import Array, BoolArray
from ..rows.labels import is_missing_label
from ..rows.sources import local_labels
from .class_votes import expanded_votes, is_votes
from .labels import Labels, labeled_rows
from .validation import check_weights, refuse_repeats


def labeled_classes(
    X: Any, y: Any, sample_weight: Any, unlabeled: Any, without: Collection[Any] | None
) -> Labels:
    """The labelled rows among those of X; several votes on a point are several labels there.

    y has class labels (n,), `unlabeled` where there is none, or votes or probabilities (n, C). Every class
    must have a vote, but for those `without` (None: no class needs one).
    """
    if is_votes(y):
        rows, classes, votes = expanded_votes(y, len(X), without is not None, without or ())
        given = check_weights(sample_weight, np.asarray(np.bincount(rows, minlength=len(X)) == 0))[0]
        whole = votes if given is None else votes * given[rows]
        kept = whole > 0
        labeled, classes, own = rows[kept], classes[kept], whole[kept]
        weight = None if np.all(own == 1.0) else own
    else:
        y, missing = checked_classes(y, len(X), unlabeled)
        weight, missing = check_weights(sample_weight, missing)
        labeled = np.flatnonzero(~missing)
        classes = of_one_type(y[labeled])
        weight = None if weight is None else weight[labeled]
    refuse_repeats(weight)
    return Labels(labeled_rows(X, labeled), classes, {"weight": weight}, labeled)


def checked_classes(y: Any, n: int, unlabeled: Any) -> tuple[Array, BoolArray]:
    """Class labels (n,), and where there is none."""
    if y is None:
        raise ValueError(
            "FLGPClassifier requires y to be passed, but the target y is None. "
            f"Mark unlabelled rows by {unlabeled!r}."
        )
    y = plain_labels(local_labels(y, unlabeled), unlabeled)
    y = column_or_1d(np.asarray(y), warn=True)
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError("y contains infinity. Use class labels, or NaN for unlabelled rows.")
    if len(y) != n:
        raise ValueError(f"y has {len(y)} entries but X has {n} rows. y needs one label per row of X.")
    missing = is_missing_label(y, unlabeled)
    if missing.all():
        raise ValueError(
            f"y has no labelled row: all are {unlabeled!r}, None or NaN. Label at least one row, "
            "or set `unlabeled` if that value is a class."
        )
    with warnings.catch_warnings():  # few labels of many classes are what this is for
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        check_classification_targets(of_one_type(y[~missing]))
    return y, missing


def of_one_type(labels: Array) -> Array:
    """Object labels (what is left once None and NA are gone) as a plain array of their own type."""
    return np.array(labels.tolist()) if labels.dtype == object else labels


def plain_labels(y: Any, unlabeled: Any = None) -> Any:
    """`y` without what NumPy would change: None among text, NA among pandas' integers and booleans.

    Raises ValueError if text and numbers are mixed, which NumPy would turn into text: 1 and "1" would be one
    class. The label that means `unlabeled` may have any type.
    """
    dtype = getattr(y, "dtype", None)
    if hasattr(y, "isna") and not isinstance(dtype, np.dtype) and getattr(dtype, "kind", "f") in "iub":
        # Integers with NA would become floats, and classes 1.0 and 2.0.
        y = y.astype(object)
    if isinstance(y, list | tuple) and any(value is None or isinstance(value, str) for value in y):
        whole = np.empty(len(y), dtype=object)
        whole[:] = y
        kinds = {_kind(value) for value in whole}  # None: there is none
        y = whole if kinds != {"text"} else y
    if getattr(getattr(y, "dtype", None), "kind", "") == "O" and np.ndim(y) == 1:
        _refuse_mixture(np.asarray(y, dtype=object), unlabeled)
    return y


def _kind(value: Any) -> str | None:
    """The kind of one label, None where there is none."""
    if isinstance(value, str | bytes):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "booleans"
    if isinstance(value, Number):
        return None if value != value else "numbers"
    return None


def _refuse_mixture(values: Array, unlabeled: Any) -> None:
    first: dict[str, Any] = {}
    for value in values:
        kind = _kind(value)
        if kind is not None and not (type(value) is type(unlabeled) and value == unlabeled):
            first.setdefault(kind, value)
    if len(first) > 1:
        named = " and ".join(f"{kind} ({value!r})" for kind, value in first.items())
        raise ValueError(f"y mixes {named}. Use labels of one type, and None where there is no label.")
