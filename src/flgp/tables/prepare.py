"""From a table and a few words of the user to features and a target."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .errors import TableError
from .guards import suspicions
from .schema import Schema, no_column
from .target import choose_target


@dataclass(frozen=True)
class Prepared:
    """A table that is ready to be fitted."""

    frame: Any  # with the target as numbers or classes, NaN or None where unlabelled
    schema: Schema
    likelihood: str  # "classes", or one of the regressor's
    notes: list[str]


def prepare(
    frame: Any,
    target: str,
    *,
    features: Sequence[str] = (),
    exclude: Sequence[str] = (),
    about: Mapping[str, str] | None = None,
    likelihood: str = "auto",
    task: str | None = None,
    scaling: str = "standard",
    missing: str = "impute",
) -> Prepared:
    """Choose features, look at the target, and collect what the user should know.

    `features` and `exclude` are names of columns, several in one text if separated by commas; `about` are
    columns about the labels, by the argument of `fit`. Other parameters are those of `choose_target` and
    `Schema.of`.
    """
    about = dict(about or {})
    names = [str(name) for name in frame.columns]
    wanted, unwanted = split_names(features, names), split_names(exclude, names)
    _check_about(names, target, wanted, about)
    if target not in names:
        raise no_column(target, names)
    if len(frame) == 1:
        raise TableError("The table has one row. Add others: a model learns from rows that differ.")
    if target in unwanted or (both := set(wanted) & set(unwanted)):
        name = target if target in unwanted else sorted(both)[0]
        raise TableError(f"Column {name!r} is both wanted and excluded. Choose one.")
    # Columns about the labels are not features.
    schema = Schema.of(
        frame, target, wanted or None, scaling, exclude=[*unwanted, *about.values()], missing=missing
    )
    found = choose_target(frame[target], likelihood, task)
    frame = frame.assign(**{target: found.values})
    schema = replace(schema, about=about, notes=[*schema.notes, *found.notes])
    doubts = suspicions(frame, target, [column.name for column in schema.columns])
    return Prepared(frame, schema, found.likelihood, [*schema.notes, *doubts])


def split_names(parts: Sequence[str], names: Sequence[str]) -> list[str]:
    """Names of columns from texts such as "age,height"; names with commas stay whole, quoted or not."""
    found: list[str] = []
    for part in parts:
        if part in names:
            found.append(part)
            continue
        pieces = [piece.strip() for piece in next(csv.reader([part], skipinitialspace=True), [])]
        while pieces:
            # The longest run of pieces that is the name of a column, or one piece.
            runs = ((k, glue.join(pieces[:k])) for k in range(len(pieces), 1, -1) for glue in (",", ", "))
            size, name = next(((k, name) for k, name in runs if name in names), (1, pieces[0]))
            found.append(name)
            del pieces[:size]
    return [name for name in dict.fromkeys(found) if name]


def _check_about(
    names: Sequence[str], target: str, features: Sequence[str], about: Mapping[str, str]
) -> None:
    """Check that the columns about the labels exist and have no other use."""
    for argument, column in about.items():
        option = "--weight" if argument == "sample_weight" else f"--{argument}"
        if column not in names:
            raise TableError(f"{option}: there is no column {column!r}. Check its name.")
        if column == target or column in features or list(about.values()).count(column) > 1:
            raise TableError(f"{option}: column {column!r} already has another use. Use each column once.")
