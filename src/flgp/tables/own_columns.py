"""The user's own columns, as they can be shown: values in their own units, and which features each makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from .cells import objects, plain_text
from .schema import Column, Schema, values_of


@dataclass(frozen=True)
class OwnColumn:
    """A column of the user's table."""

    name: str
    features: list[int]  # numbers of the columns of X that it makes
    values: Array  # (n,) NaN where missing: numbers, days since 1970, hours, or numbers of levels
    kind: str = "number"  # number, date, time or level
    levels: list[str] | None = None  # their names


def own_columns(schema: Schema, frame: Any) -> list[OwnColumn]:
    """The columns that features are made from, with the values they have in a table."""
    found, first = [], 0
    for column in schema.columns:
        features = list(range(first, first + len(column.feature_names)))
        first += len(features)
        found.append(_own(column, features, frame[column.name]))
    return found


def _own(column: Column, features: list[int], values: Any) -> OwnColumn:
    if column.categories is not None:
        number = {name: float(k) for k, name in enumerate(column.categories)}
        codes = [np.nan if cell is None else number.get(plain_text(cell), np.nan) for cell in objects(values)]
        return OwnColumn(column.name, features, np.array(codes), "level", column.categories)
    numbers, _ = values_of(values, column.kind)
    assert numbers is not None  # the schema made X of it
    if column.kind == "boolean":
        return OwnColumn(column.name, features, numbers, "level", ["no", "yes"])
    kind = column.kind if column.kind in ("date", "time") else "number"
    return OwnColumn(column.name, features, 24.0 * numbers if kind == "time" else numbers, kind)
