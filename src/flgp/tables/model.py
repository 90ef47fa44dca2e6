"""A model that knows the names and scales of its table's columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from ..estimators import FLGPClassifier, FLGPRegressor
from .errors import TableError
from .schema import Schema


@dataclass(frozen=True)
class TableModel:
    """An estimator with the schema of the table it was fitted on.

    Parameters
    ----------
    estimator : FLGPRegressor or FLGPClassifier
    schema : Schema
    """

    estimator: Any
    schema: Schema

    @classmethod
    def fit(
        cls, estimator: Any, frame: Any, schema: Schema, about: Mapping[str, str] | None = None
    ) -> TableModel:
        """Fit the estimator to a table; rows whose target is empty are unlabelled.

        Parameters
        ----------
        estimator : FLGPRegressor or FLGPClassifier
        frame : pandas.DataFrame
        schema : Schema
        about : columns that tell about the labels, by the argument of `fit`: sample_weight, exposure, trials
        """
        assert schema.target is not None
        X = schema.matrix(frame)
        pairs = ({} if about is None else about).items()
        known = {argument: _positive(frame, column, schema.target) for argument, column in pairs}
        if isinstance(estimator, FLGPClassifier):
            if unused := set(known) - {"sample_weight"}:
                raise TableError(
                    f"Classes have no {sorted(unused)[0]}. Leave it out, or give another --likelihood."
                )
            estimator.set_params(unlabeled=None)
            return cls(estimator.fit(X, labels(frame[schema.target]), **known), schema)
        return cls(estimator.fit(X, numbers(frame[schema.target], schema.target), **known), schema)

    def predict(self, frame: Any, coverage: float = 0.95, notes: list[str] | None = None) -> Any:
        """Predictions for the rows of a table.

        Parameters
        ----------
        frame : pandas.DataFrame
        coverage : float
            Of the interval, for regression.
        notes : list, optional
            Receives what is odd about the table.

        Returns
        -------
        pandas.DataFrame
            prediction; std, lower and upper (of y) or the probability of each class; distance from the
            fitted points (see `distance_to_anchors`).
        """
        import pandas

        X = self.schema.matrix(frame, notes)
        distance = self.estimator.distance_to_anchors(X)
        if isinstance(self.estimator, FLGPRegressor):
            mean, std = self.estimator.predict(X, return_std=True)
            ends = self.estimator.predict_interval(X, coverage)
            columns = {"prediction": mean, "std": std, "lower": ends[:, 0], "upper": ends[:, 1]}
        else:
            probability = self.estimator.predict_proba(X)
            classes = self.estimator.classes_
            columns = {"prediction": classes[probability.argmax(axis=1)]}
            columns.update({f"probability_{k}": probability[:, i] for i, k in enumerate(classes)})
        return pandas.DataFrame({**columns, "distance": distance}, index=frame.index)


def labels(values: Any) -> Array:
    """Class labels as objects, None where empty; whole numbers stay whole."""
    empty = values.isna().to_numpy() | (values.astype(str).str.strip() == "").to_numpy()
    filled: list[Any]
    if values.dtype.kind == "f" and (values[~empty] % 1 == 0).all():
        filled = [None if gone else int(value) for value, gone in zip(values, empty, strict=True)]
    elif values.dtype.kind in "iub":
        filled = values.tolist()
    elif values.dtype.kind == "f":
        raise TableError(
            f"The target {values.name!r} has fractions, so it cannot name classes. "
            "Use --likelihood gaussian, or another for numbers."
        )
    else:
        filled = [None if gone else str(value) for value, gone in zip(values, empty, strict=True)]
    result = np.empty(len(filled), dtype=object)
    result[:] = filled
    return result


def _positive(frame: Any, column: str, target: str) -> Array:
    """A column that tells about the labels: positive where there is one."""
    import pandas

    values = np.asarray(pandas.to_numeric(frame[column], errors="coerce"), dtype=float)
    bad = int((~(values > 0) & frame[target].notna().to_numpy()).sum())
    if bad:
        raise TableError(
            f"Column {column!r} is missing or not positive in {bad} labelled row(s). Correct it."
        )
    return values


def numbers(values: Any, name: str) -> Array:
    """Targets as numbers, NaN where empty."""
    import pandas

    result = pandas.to_numeric(values, errors="coerce")
    broken = result.isna() & values.notna() & (values.astype(str).str.strip() != "")
    if broken.any():
        raise TableError(
            f"The target {name!r} has {int(broken.sum())} value(s) that are no numbers, such as "
            f"{str(values[broken].iloc[0])!r}. Correct them, or use --likelihood classes."
        )
    return np.asarray(result, dtype=float)
