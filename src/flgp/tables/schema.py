"""How the columns of a table become the columns of X: selection, order and scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._stored import stored
from .._typing import Array
from .errors import TableError

SCALINGS = ("standard", "range", "none")
# More categories than this are more likely an identifier than a feature.
_MAX_CATEGORIES = 50


@stored("column of a table")
@dataclass(frozen=True)
class Column:
    """One column of the table: a number (x - center)/scale, or one indicator per category."""

    name: str
    categories: list[str] | None  # None: a number
    center: float
    scale: float


@stored("columns of a table")
@dataclass(frozen=True)
class Schema:
    """The features of a table and its target."""

    columns: list[Column]
    target: str | None
    scaling: str
    notes: list[str]  # remarks for the user about how the table was read
    # Columns about the labels, by the argument of `fit`: sample_weight, exposure, trials.
    about: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, frame: Any, target: str | None, features: Sequence[str] | None = None, scaling: str = "standard"
    ) -> Schema:
        """Schema of a data frame.

        Parameters
        ----------
        frame : pandas.DataFrame
        target : str or None
        features : names of columns, default all but the target
        scaling : {"standard", "range", "none"}
            Numbers to mean 0 and standard deviation 1, to [0, 1], or as they are.
        """
        if scaling not in SCALINGS:
            raise TableError(f"Unknown scaling {scaling!r}. Use one of {', '.join(SCALINGS)}.")
        names = [str(name) for name in frame.columns]
        if len(set(names)) < len(names):
            raise TableError("Two columns have the same name. Rename one of them.")
        wanted = list(features) if features else [name for name in names if name != target]
        for name in [*wanted, *([] if target is None else [target])]:
            if name not in names:
                raise TableError(f"There is no column {name!r}. The table has: {_listed(names)}.")
        if target in wanted:
            raise TableError(f"{target!r} is the target and cannot be a feature too.")
        if not wanted:
            raise TableError("The table has no column besides the target. Add features.")
        notes: list[str] = []
        columns = [c for name in wanted if (c := _column(frame[name], name, scaling, notes)) is not None]
        if not columns:
            raise TableError("No column can be a feature: all are constant or empty.")
        return cls(columns, target, scaling, notes)

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of X."""
        return [
            name
            for c in self.columns
            for name in ([c.name] if c.categories is None else [f"{c.name}={k}" for k in c.categories])
        ]

    def matrix(self, frame: Any, notes: list[str] | None = None) -> Array:
        """X (n, p) of a data frame; remarks about it are added to `notes`."""
        names = [str(name) for name in frame.columns]
        missing = [c.name for c in self.columns if c.name not in names]
        if missing:
            raise TableError(
                f"The table lacks the column(s) {_listed(missing)} that the model was fitted on."
            )
        parts = [_values(frame[c.name], c, [] if notes is None else notes) for c in self.columns]
        return np.concatenate(parts, axis=1)


def _column(values: Any, name: str, scaling: str, notes: list[str]) -> Column | None:
    if values.isna().all():
        notes.append(f"column {name!r} is empty and was left out")
        return None
    if _is_number(values):
        numbers = _numbers(values, name)
        if numbers.min() == numbers.max():
            notes.append(f"column {name!r} is constant and was left out")
            return None
        if scaling == "standard":
            # The spread of columns as large as 1e200 must not overflow.
            unit = float(np.abs(numbers).max())
            center, spread = float((numbers / unit).mean() * unit), float((numbers / unit).std() * unit)
            return Column(name, None, center, spread or 1.0)
        low, high = float(numbers.min()), float(numbers.max())
        return Column(name, None, low, high - low) if scaling == "range" else Column(name, None, 0.0, 1.0)
    if values.isna().any():
        raise _missing(name, int(values.isna().sum()))
    categories = sorted({str(value) for value in values})
    if len(categories) == 1:
        notes.append(f"column {name!r} is constant and was left out")
        return None
    if len(categories) > _MAX_CATEGORIES:
        raise TableError(
            f"Column {name!r} is text with {len(categories)} different values, which looks like an "
            "identifier. Name the columns to use with --features."
        )
    notes.append(f"column {name!r} is categorical: one indicator per value, {len(categories)} in total")
    return Column(name, categories, 0.0, 1.0)


def _values(values: Any, column: Column, notes: list[str]) -> Array:
    """The columns of X (n, 1) or (n, categories) made from a column of the table."""
    if column.categories is None:
        if not _is_number(values):
            raise TableError(
                f"Column {column.name!r} was a number when the model was fitted, but is text now. "
                "Correct the table."
            )
        return ((_numbers(values, column.name) - column.center) / column.scale)[:, None]
    if values.isna().any():
        raise _missing(column.name, int(values.isna().sum()))
    texts = np.array([str(value) for value in values])
    indicators = texts[:, None] == np.array(column.categories)
    unknown = int((~indicators.any(axis=1)).sum())
    if unknown:
        notes.append(
            f"column {column.name!r} has new values in {unknown} row(s): treated as none of the known values"
        )
    return indicators.astype(float)


def _is_number(values: Any) -> bool:
    return bool(values.dtype.kind in "iufb")


def _numbers(values: Any, name: str) -> Array:
    numbers = values.to_numpy(dtype=float)
    if not np.isfinite(numbers).all():
        raise _missing(name, int((~np.isfinite(numbers)).sum()))
    return np.asarray(numbers)


def _missing(name: str, count: int) -> TableError:
    return TableError(
        f"Column {name!r} has {count} missing or infinite value(s). Fill them, remove those rows, "
        "or leave the column out with --features."
    )


def _listed(names: Sequence[str], limit: int = 12) -> str:
    shown = ", ".join(map(repr, names[:limit]))
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")
