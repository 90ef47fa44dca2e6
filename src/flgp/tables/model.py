"""A model that knows the names and scales of the columns of its table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array, BoolArray
from .cells import plain_text
from .errors import TableError
from .schema import Schema
from .target import choose_target


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
    def fit(cls, estimator: Any, frame: Any, schema: Schema) -> TableModel:
        """Fit the estimator to a table; rows whose target is empty are unlabelled."""
        from ..likelihoods.observations import BadRows  # late, as in `is_classes`

        model = cls(estimator, schema)
        X, y, known = model.training(frame)
        if is_classes(estimator):
            estimator.set_params(unlabeled=None)
        try:
            estimator.fit(X, y, **known)
        except BadRows as error:
            numbers_in_file = np.asarray(frame.index)[error.rows]
            raise TableError(str(BadRows(error.rule, numbers_in_file, error.remedy))) from error
        return model

    def training(self, frame: Any) -> tuple[Array, Array, dict[str, Array]]:
        """What `fit` of the estimator takes: X (n, p), y (n,), and what is known about the rows."""
        schema = self.schema
        assert schema.target is not None
        labeled = frame[schema.target].notna().to_numpy()
        known = {
            argument: _positive(frame, column, labeled, "labelled row(s)")
            for argument, column in schema.about.items()
        }
        X = schema.matrix(frame)
        unused = sorted(set(known) - {"sample_weight"})
        if unused and is_classes(self.estimator):
            raise TableError(f"Classes have no {unused[0]}. Leave it out, or choose another --likelihood.")
        return X, self.targets(frame), known

    def targets(self, frame: Any) -> Array:
        """The target (n,) as the estimator takes it: numbers or classes, NaN or None where unlabelled."""
        values = frame[self.schema.target]
        if is_classes(self.estimator):
            return labels(values)
        return numbers(values, str(self.schema.target), self.estimator.likelihood)

    def target_values(self, frame: Any) -> Any:
        """The target of a table, as numbers or classes; NaN or None where unlabelled."""
        values = frame[self.schema.target]
        if values.isna().all():
            return values
        wanted = "classes" if is_classes(self.estimator) else str(self.estimator.likelihood_.name)
        return choose_target(values, wanted).values

    def sizes(
        self, frame: Any, columns: Mapping[str, str | None] | None = None, needed: BoolArray | None = None
    ) -> dict[str, Any]:
        """Exposures or trials of the rows of a table, in the form that `predict` takes.

        Parameters
        ----------
        frame : pandas.DataFrame
        columns : for "exposure" and "trials" the name of the column, or a number for all rows
            Default: the columns of the fit.
        needed : mask of shape (n,)
            Rows in which they must be positive. Default: all.
        """
        uses = getattr(getattr(self.estimator, "likelihood_", None), "uses", ())
        given = {argument: column for argument, column in (columns or {}).items() if column is not None}
        if unused := set(given) - set(uses):
            raise TableError(f"The model does not use --{sorted(unused)[0]}. Leave it out.")
        needed = np.ones(len(frame), dtype=bool) if needed is None else needed
        result: dict[str, Any] = {}
        for argument, column in {**self.schema.about, **given}.items():
            if argument in uses and column in frame.columns:
                result[argument] = _positive(frame, column, needed, "row(s)", f", or use --{argument} 1")
            elif argument in uses:
                result[argument] = np.full(len(frame), _number(column, argument))
        return result

    def predict(
        self,
        frame: Any,
        coverage: float = 0.95,
        notes: list[str] | None = None,
        columns: Mapping[str, str | None] | None = None,
    ) -> Any:
        """Predictions for the rows of a table.

        Parameters
        ----------
        frame : pandas.DataFrame
        coverage : float
            Coverage of the interval, for regression.
        notes : list, optional
            Receives remarks about the table.
        columns : for "exposure" and "trials" the name of the column, or a number for all rows
            Default: the columns of the fit.

        Returns
        -------
        pandas.DataFrame
            prediction; std, lower and upper (of y), or the probability of each class or level; the mean of
            levels; distance from the fitted points (see `distance_to_anchors`).
        """
        import pandas

        X = self.schema.matrix(frame, notes)
        sizes = self.sizes(frame, columns)
        distance = self.estimator.distance_to_anchors(X)
        levels = getattr(getattr(self.estimator, "likelihood_", None), "levels", None)
        found: dict[str, Array]
        if is_classes(self.estimator) or levels is not None:
            probability = self.estimator.predict_proba(X)
            names = self.estimator.classes_ if levels is None else np.array(levels, dtype=int)
            found = {"prediction": names[probability.argmax(axis=1)]}
            if levels is not None:
                found["mean"] = probability @ names
            found.update({f"probability_{name}": probability[:, i] for i, name in enumerate(names)})
        else:
            mean, std = self.estimator.predict(X, return_std=True, **sizes)
            ends = self.estimator.predict_interval(X, coverage, **sizes)
            found = {"prediction": mean, "std": std, "lower": ends[:, 0], "upper": ends[:, 1]}
        return pandas.DataFrame({**found, "distance": distance}, index=frame.index)


def is_classes(estimator: Any) -> bool:
    """Whether an estimator predicts classes. Imported late: the command line reads tables without it."""
    from ..estimators import FLGPClassifier

    return isinstance(estimator, FLGPClassifier)


def labels(values: Any) -> Array:
    """Class labels as objects, None where empty; integers stay integers."""
    empty = values.isna().to_numpy() | (values.astype(str).str.strip() == "").to_numpy()
    filled: list[Any]
    if values.dtype.kind == "f" and (values[~empty] % 1 == 0).all():
        filled = [None if gone else int(value) for value, gone in zip(values, empty, strict=True)]
    elif values.dtype.kind in "iub":
        filled = values.tolist()
    elif values.dtype.kind == "f":
        raise TableError(
            f"The target {values.name!r} has fractions, so it cannot be a class. "
            "Use --task regression, or a --likelihood for numbers."
        )
    else:
        filled = [None if gone else plain_text(value) for value, gone in zip(values, empty, strict=True)]
    result = np.empty(len(filled), dtype=object)
    result[:] = filled
    return result


def _positive(frame: Any, column: str, needed: BoolArray, rows: str, remedy: str = "") -> Array:
    """A column about the labels (n,), which must be positive where needed."""
    import pandas

    values = np.asarray(pandas.to_numeric(frame[column], errors="coerce"), dtype=float)
    bad = int((~(values > 0) & needed).sum())
    if bad:
        raise TableError(f"Column {column!r} is missing or not positive in {bad} {rows}. Correct it{remedy}.")
    return values


def _number(text: str, argument: str) -> float:
    """An exposure, or a number of trials, for all rows."""
    try:
        value = float(text)
    except ValueError as error:
        raise TableError(
            f"The table lacks the column {text!r} with the {argument}. Add it, name another with "
            f"--{argument} COLUMN, or use --{argument} 1 to predict for 1."
        ) from error
    if not 0 < value < np.inf:
        raise TableError(f"--{argument} {text} is not positive. Use a positive number or a column.")
    return value


def numbers(values: Any, name: str, likelihood: Any = None) -> Array:
    """Targets as numbers, NaN where empty."""
    import pandas

    result = pandas.to_numeric(values, errors="coerce")
    broken = result.isna() & values.notna() & (values.astype(str).str.strip() != "")
    if broken.any():
        remedy = "Correct them, or use --task classification"
        if likelihood == "ordinal":
            remedy = "Number the levels in their order: 0, 1, 2, …"
        raise TableError(
            f"The target {name!r} has {int(broken.sum())} value(s) that are not numbers, such as "
            f"{str(values[broken].iloc[0])!r}. {remedy}."
        )
    return np.asarray(result, dtype=float)
