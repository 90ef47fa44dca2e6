"""How the columns of a table become the columns of X: selection, order, scale, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._stored import stored
from .._typing import Array, BoolArray
from .._words import check_choice, listed
from .cells import MOSTLY, NO, YES, booleans_of, is_code, is_mixed, numbers_of, objects, plain_text, times_of
from .columns import named_cells
from .errors import TableError
from .identifiers import OWN_PREFIX, identifier

SCALINGS = ("standard", "range", "none")
MISSING_RULES = ("impute", "error")
# More categories than this are more likely an identifier than a feature.
_MAX_CATEGORIES = 50
# Cycles of dates, in days; each is two columns, a point on a circle.
_CYCLES = {"year": 365.2425, "week": 7.0, "day": 1.0}
_SMALL = 1e-9
# Columns that an error names.
_NAMED = 12
_SPOKEN = {
    "number": "a number",
    "boolean": "yes or no",
    "date": "a date",
    "time": "a time of day",
    "duration": "a duration",
}


@stored("column of a table")
@dataclass(frozen=True)
class Column:
    """One column of the table: a number (x - center)/scale, a date, or one indicator per category."""

    name: str
    categories: list[str] | None  # None: a number
    center: float
    scale: float
    kind: str = "number"  # number, boolean, date, time (of day), duration or category
    fill: Any = None  # what a missing value is replaced by: the median, or the most frequent category
    marked: bool = False  # whether one more column of X tells where values were missing
    cycles: list[str] = field(default_factory=list)  # of a date or time

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of X that it makes."""
        if self.categories is not None:
            names = [f"{self.name}={category}" for category in self.categories]
        else:
            circles = [f"{self.name} ({cycle}, {part})" for cycle in self.cycles for part in ("sin", "cos")]
            names = circles if self.kind == "time" else [self.name, *circles]
        return [*names, f"{self.name} is missing"] if self.marked else names


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
    missing: str = "impute"

    @classmethod
    def of(
        cls,
        frame: Any,
        target: str | None,
        features: Sequence[str] | None = None,
        scaling: str = "standard",
        *,
        exclude: Sequence[str] = (),
        missing: str = "impute",
    ) -> Schema:
        """Schema of a data frame.

        Parameters
        ----------
        frame : pandas.DataFrame
        target : str or None
        features : names of columns, default all but the target, `exclude` and identifiers
        scaling : {"standard", "range", "none"}
            Numbers to mean 0 and standard deviation 1, to [0, 1], or as they are.
        exclude : names of columns that are not features
        missing : {"impute", "error"}
            Replace missing values by the median or the most frequent category, and add a column that says
            where; or refuse them.
        """
        check_choice("scaling", scaling, SCALINGS, error=TableError)
        check_choice("missing", missing, MISSING_RULES, error=TableError)
        names = [str(name) for name in frame.columns]
        if len(set(names)) < len(names):
            raise TableError("Two columns have the same name. Rename one of them.")
        for name in [*(features or ()), *exclude, *([] if target is None else [target])]:
            if name not in names:
                raise no_column(name, names)
        if target in (features or ()):
            raise TableError(f"{target!r} is the target and cannot be a feature too.")
        wanted = [n for n in features or names if n != target and n not in exclude]
        notes: list[str] = []
        if not features and (own := [name for name in wanted if name.startswith(OWN_PREFIX)]):
            notes.append(
                f"column(s) {_quoted(own)} were written by flgp, about the target itself, and were left out; "
                "--features can name them"
            )
            wanted = [name for name in wanted if name not in own]
        if not wanted:
            raise TableError("The table has no column besides the target. Add features.")
        maker = _Maker(scaling, missing, bool(features), notes)
        columns = [c for name in wanted if (c := maker.column(frame[name], name)) is not None]
        if not columns:
            raise TableError(f"No column can be a feature: {'; '.join(notes)}.")
        return cls(columns, target, scaling, notes, missing=missing)

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of X."""
        return [name for column in self.columns for name in column.feature_names]

    def matrix(self, frame: Any, notes: list[str] | None = None) -> Array:
        """X (n, p) of a data frame; remarks about it are added to `notes`."""
        names = [str(name) for name in frame.columns]
        missing = [c.name for c in self.columns if c.name not in names]
        if missing:
            raise TableError(
                f"The table lacks the column(s) {_quoted(missing)} that the model was fitted on."
            )
        notes = [] if notes is None else notes
        return np.concatenate([self._values(frame[c.name], c, notes) for c in self.columns], axis=1)

    def _values(self, values: Any, column: Column, notes: list[str]) -> Array:
        """The columns of X (n, k) made from a column of the table."""
        if column.categories is not None:
            return self._indicators(values, column, notes)
        numbers, broken = values_of(values, column.kind)
        if numbers is None:
            such = str(values.dropna().iloc[0])[:30]
            raise TableError(
                f"Column {column.name!r} was {_SPOKEN[column.kind]} when the model was fitted, but is "
                f"something else now, such as {such!r}. Correct the table, or use --na {such!r} if this "
                "means missing."
            )
        if broken is not None and broken.any():
            notes.append(
                f"column {column.name!r}: {named_cells(values, broken)} not "
                f"{_SPOKEN[column.kind]}, taken as missing"
            )
        gone = _missing(numbers, column.name)
        if gone.any():
            self._accept_missing(column, gone, notes)
            numbers = np.where(gone, column.fill if column.fill is not None else column.center, numbers)
        parts = [] if column.kind == "time" else [(numbers - column.center) / column.scale]
        for cycle in column.cycles:
            angle = 2 * np.pi * numbers / _CYCLES[cycle]
            parts += [np.sin(angle), np.cos(angle)]
        return np.stack([*parts, gone.astype(float)] if column.marked else parts, axis=1)

    def _indicators(self, values: Any, column: Column, notes: list[str]) -> Array:
        gone = values.isna().to_numpy()
        texts = np.array(["" if pale else plain_text(v) for v, pale in zip(values, gone, strict=True)])
        if gone.any():
            self._accept_missing(column, gone, notes)
            if column.fill is not None:
                texts = np.where(gone, column.fill, texts)
        indicators = texts[:, None] == np.array(column.categories)
        unknown = int((~indicators.any(axis=1) & ~gone).sum())
        if unknown:
            notes.append(
                f"column {column.name!r} has new values in {unknown} row(s): treated as none of the known "
                "values"
            )
        parts = indicators.astype(float)
        return np.column_stack([parts, gone]) if column.marked else parts

    def _accept_missing(self, column: Column, gone: BoolArray, notes: list[str]) -> None:
        """Refuse missing values if the user wants that; say so if the fit had none, or all are now."""
        count = int(gone.sum())
        if self.missing == "error":
            raise _refused(column.name, count)
        if not column.marked:
            notes.append(
                f"column {column.name!r} has {count} missing value(s), though it had none in the fit: "
                f"replaced by {_shown(column)}"
            )
        elif count == len(gone) > 1:
            notes.append(f"column {column.name!r} is empty in all rows: replaced by {_shown(column)}")


@dataclass(frozen=True)
class _Maker:
    """Makes columns of a schema, and notes what it decides."""

    scaling: str
    missing: str
    chosen: bool  # the user named the features
    notes: list[str]

    def column(self, values: Any, name: str) -> Column | None:
        """The column, or None if it is of no use."""
        if values.isna().all():
            self.notes.append(f"column {name!r} is empty and was left out")
            return None
        if not self.chosen and (reason := identifier(values, name)):
            self.notes.append(f"column {name!r} {reason} and was left out; --features can name it")
            return None
        kind = _kind(values)
        if kind == "category":
            return self._category(values, name)
        numbers, broken = values_of(values, kind)
        assert numbers is not None
        if broken is not None and broken.any():
            kinds = "times of day" if kind == "time" else "numbers"
            self.notes.append(
                f"column {name!r} holds {kinds}, but {named_cells(values, broken)} not {_SPOKEN[kind]}: "
                "taken as missing"
            )
        gone = _missing(numbers, name)
        known = numbers[~gone]
        if known.min() == known.max():
            self.notes.append(f"column {name!r} is constant and was left out")
            return None
        if kind == "boolean":
            self.notes.append(f"column {name!r} holds yes and no: 1 and 0")
        fill = _middle_time(known) if kind == "time" else float(np.median(known))
        cycles = self._cycles(known, name) if kind == "date" else []
        if kind == "time":
            cycles = ["day"]
            self.notes.append(f"column {name!r} is a time of day: its place on a circle of 24 hours")
        if kind == "duration":
            self.notes.append(f"column {name!r} is a duration: hours as a number")
        column = Column(name, None, *self._scale(known), kind, fill, bool(gone.any()), cycles)
        self._note_missing(column, int(gone.sum()), len(numbers))
        return column

    def _scale(self, numbers: Array) -> tuple[float, float]:
        """What to subtract, and what to divide by."""
        if self.scaling == "none":
            return 0.0, 1.0
        if self.scaling == "range":
            low, high = float(numbers.min()), float(numbers.max())
            return low, high - low
        # The spread of columns as large as 1e200 must not overflow.
        unit = float(np.abs(numbers).max())
        center, spread = float((numbers / unit).mean() * unit), float((numbers / unit).std() * unit)
        return center, spread or 1.0

    def _cycles(self, days: Array, name: str) -> list[str]:
        """The cycles that dates go through: those of which they show a good part."""
        span = float(days.max() - days.min())
        found = [c for c in ("year", "week") if span > _CYCLES[c] / 2 and _varies(days, _CYCLES[c])]
        if _varies(days, 1.0):
            found.append("day")
        circles = f", and its place in the {' and the '.join(found)} on a circle" if found else ""
        self.notes.append(f"column {name!r} is a date: days as a number{circles}")
        return found

    def _category(self, values: Any, name: str) -> Column | None:
        gone = values.isna().to_numpy()
        texts = values[~gone].map(plain_text)
        counts = texts.value_counts()
        categories = sorted(counts.index)
        if len(categories) == 1:
            self.notes.append(f"column {name!r} is constant and was left out")
            return None
        if len(categories) > _MAX_CATEGORIES and self.chosen:
            raise TableError(
                f"Column {name!r} is text with {len(categories)} different values, which looks like an "
                f"identifier. At most {_MAX_CATEGORIES} can be a feature: leave it out, or group rare values."
            )
        if len(categories) > _MAX_CATEGORIES:
            self.notes.append(
                f"column {name!r} is text with {len(categories)} different values, which looks like an "
                "identifier or free text, and was left out"
            )
            return None
        mixed = ", numbers and text mixed" if is_mixed(texts) else ""
        self.notes.append(
            f"column {name!r} is categorical{mixed}: one indicator per value, {len(categories)} in total"
        )
        most = str(counts.index[counts.to_numpy() == counts.iloc[0]].min())
        column = Column(name, categories, 0.0, 1.0, "category", most, bool(gone.any()))
        self._note_missing(column, int(gone.sum()), len(values))
        return column

    def _note_missing(self, column: Column, count: int, n: int) -> None:
        if count and self.missing == "error":
            raise _refused(column.name, count)
        if count:
            self.notes.append(
                f"column {column.name!r} has {count:,} missing value(s) of {n:,}: replaced by "
                f"{_shown(column)}, and marked in an extra column"
            )


def _shown(column: Column) -> str:
    """What missing values of a column are replaced by, in words."""
    if column.categories is not None:
        return f"the most frequent value {column.fill!r}"
    if column.kind == "time":
        minutes = round(column.fill * 1440) % 1440
        return f"the middle time {minutes // 60:02d}:{minutes % 60:02d}"
    if column.kind == "date":
        return f"the middle date {np.datetime64('1970-01-01') + int(column.fill)}"
    return f"the median {column.fill if column.fill is not None else column.center:.6g}"


def _kind(values: Any) -> str:
    if values.dtype.kind in "iufb":
        return "number"
    if values.dtype.kind in "mM":
        return "date" if values.dtype.kind == "M" else "duration"
    texts = objects(values)
    if booleans_of(texts) is not None:
        return "boolean"
    if times_of(texts) is not None:
        return "time"
    known = [str(cell) for cell in texts if cell is not None]
    return "category" if is_code(known) or numbers_of(texts) is None else "number"


def values_of(values: Any, kind: str) -> tuple[Array | None, BoolArray | None]:
    """Numbers (n,), NaN where missing, and which cells are not what they should be; None for text.

    Dates are days since 1970, times of day shares of a day, durations hours.
    """
    stored = values.dtype.kind
    if values.isna().all():
        return np.full(len(values), np.nan), None
    if kind == "date" and stored == "M":
        days = values.dt.tz_localize(None).to_numpy(dtype="datetime64[us]").astype(np.int64) / 86_400_000_000
        return np.where(values.isna(), np.nan, days), None
    if kind == "duration" and stored == "m":
        hours = values.to_numpy(dtype="timedelta64[us]").astype(np.int64) / 3_600_000_000
        return np.where(values.isna(), np.nan, hours), None
    if kind in ("number", "boolean") and stored in "iufb":
        return values.to_numpy(dtype=float, na_value=np.nan), None
    if kind in ("date", "duration") or stored in "iufbmM":
        return None, None
    texts = objects(values)
    if kind == "time":
        return times_of(texts) or (None, None)
    if kind == "boolean":
        cells = [None if cell is None else str(cell) for cell in texts]
        strange = np.array([cell is not None and cell.lower() not in YES | NO for cell in cells])
        if strange.sum() <= (1.0 - MOSTLY) * sum(cell is not None for cell in cells):
            known = [None if odd else cell for cell, odd in zip(cells, strange, strict=True)]
            return booleans_of(known), strange
    numbers = numbers_of(texts)
    return (None, None) if numbers is None else (numbers.values, numbers.broken)


def _middle_time(shares: Array) -> float:
    """The mean of times of day, on the circle: that of 23:00 and 1:00 is midnight."""
    return float(np.angle(np.exp(2j * np.pi * shares).mean()) / (2 * np.pi) % 1.0)


def _missing(numbers: Array, name: str) -> BoolArray:
    if np.isinf(numbers).any():
        raise TableError(
            f"Column {name!r} has {int(np.isinf(numbers).sum())} infinite value(s). Correct them or remove "
            "those rows; in a fit, the column can also be left out with --exclude."
        )
    return np.asarray(np.isnan(numbers))


def _varies(days: Array, period: float) -> bool:
    """Whether points on a circle of this period differ."""
    phase = days % period
    return bool(phase.max() - phase.min() > _SMALL * period)


def _refused(name: str, count: int) -> TableError:
    return TableError(
        f"Column {name!r} has {count} missing value(s). Fill them, remove those rows, leave the column out "
        "with --exclude, or use --missing impute."
    )


def no_column(name: str, names: Sequence[str]) -> TableError:
    """The error about a column that is not there, with the nearest name."""
    from difflib import get_close_matches

    lower = {other.lower(): other for other in reversed(names)}
    near = get_close_matches(name.strip().lower(), lower, n=1, cutoff=0.75)
    hint = f" Did you mean {lower[near[0]]!r}?" if near else ""
    return TableError(f"There is no column {name!r}.{hint} The table has: {_quoted(names)}.")


def _quoted(names: Sequence[str]) -> str:
    return listed([repr(name) for name in names[:_NAMED]], len(names))
