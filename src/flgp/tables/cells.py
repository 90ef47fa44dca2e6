"""What the cells of a text column mean: missing, a number, a date, yes or no, or text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array, BoolArray

# Cells that mean "missing" wherever they stand, in lower case.
MISSING = frozenset(
    (
        *("", "?", "na", "n/a", "n.a.", "#n/a", "nan", "null", "nil", "-", "--", "---", "–", "—", "<na>"),
        *("(null)", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!", "k.a.", "k. a.", "k.a"),
        *("keine angabe", "n. a.", "n.b.", "#nv", "#wert!", "#bezug!", "#zahl!", "#n/d", "#valeur!"),
    )
)
# These may be values of a category; among numbers they mean "missing", too.
MISSING_AMONG_NUMBERS = frozenset(
    (
        *("none", ".", "..", "missing", "unknown", "unk", "nd", "n.d.", "x", "*", "not available", "keine"),
        *("unbekannt", "entfällt", "inconnu", "error"),
    )
)
# A column with at least this share of numbers (or dates) is one, and the other cells are mistakes.
MOSTLY = 0.9
# Among this many different numbers, one or two words that stand in all other cells mean "missing".
_MANY_NUMBERS, _FEW_WORDS = 20, 2
# Text columns with at least this share of numbers are noted as mixed.
_MIXED = 0.3
YES = frozenset(["true", "yes", "y", "t", "ja", "oui", "si", "sí", "vrai", "wahr"])
NO = frozenset(["false", "no", "n", "f", "nein", "non", "faux", "falsch"])

_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?inf(inity)?", re.I)
_SIGNS = "$€£¥%"
_SPACES = "\u00a0\u202f\u2009 '’"  # thousands marks besides comma and point
_WITH_POINT = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?")
_WITH_COMMA = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+(,\d*)?|\d+,\d*|,\d+)")
_SPACED = re.compile(rf"[-+]?\d{{1,3}}([{_SPACES}]\d{{3}})+([.,]\d*)?")
_CODE = re.compile(r"0\d+")
# Two-digit years below this, at the end of those of a column, are of this century.
_THIS_CENTURY = 40
_ISO = re.compile(r"\d{4}-\d{1,2}(-\d{1,2})?([T ]\d.*)?|\d{4}/\d{1,2}/\d{1,2}( \d.*)?")
_DAY = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})( \d{1,2}:\d{2}(:\d{2})?)?")
# 8:30, 08:30:15.5, 8:30 pm, 08:30 Uhr.
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:[.,]\d+)?))?(?:\s*([ap]\.?m\.?|uhr|h))?", re.I)


@dataclass(frozen=True)
class Numbers:
    """Numbers of a text column."""

    values: Array  # (n,), NaN where there is none
    broken: BoolArray  # (n,) cells that are neither missing nor numbers
    marks: dict[str, int]  # words that mean "missing" among numbers, and how often they stand there
    note: str | None  # how the numbers are written, if not plainly


def tidy(values: Any, marks: Sequence[str], found: dict[str, dict[str, int]]) -> Any:
    """A text column without blanks around cells, and None where a cell means "missing".

    `found` receives how often each mark stands in the column.
    """
    texts = values.astype(object).map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    own = {mark.strip().lower() for mark in marks}
    gone = texts.map(lambda cell: isinstance(cell, str) and (cell.lower() in MISSING or cell.lower() in own))
    _count(texts[gone.astype(bool)], str(values.name), found)
    return objects(texts.where(~gone.astype(bool), None))


def tidy_numbers(values: Any, marks: Sequence[str], found: dict[str, dict[str, int]]) -> Any:
    """A column of numbers with NaN for those that the user says mean "missing", such as -999."""
    numbers = {float(mark) for mark in marks if _PLAIN.fullmatch(mark.strip())}
    gone = values.isin(numbers)
    if not gone.any():
        return values
    _count(values[gone].astype(str), str(values.name), found)
    return values.astype(float).where(~gone)


def _count(cells: Any, name: str, found: dict[str, dict[str, int]]) -> None:
    counts = {str(cell): int(times) for cell, times in cells.value_counts().items() if cell != ""}
    if counts:
        found[name] = counts


def listed_marks(found: dict[str, dict[str, int]], limit: int = 6) -> str | None:
    """One line about what was read as missing."""
    if not found:
        return None
    parts = [
        f"{', '.join(f'{cell!r} ({times:,})' for cell, times in counts.items())} in {name!r}"
        for name, counts in list(found.items())[:limit]
    ]
    more = f" and in {len(found) - limit} more columns" if len(found) > limit else ""
    return f"read as missing: {'; '.join(parts)}{more}"


def numbers_of(texts: Any, decimal: str = ".") -> Numbers | None:
    """Numbers, if most cells (objects, None where missing) are numbers; None if the column is text.

    A column is also one of numbers if all its other cells hold the same word or two, however many they are.
    """
    import pandas

    given = texts.notna().to_numpy()
    cells = texts[given].map(plain_text)
    weak = cells.str.lower().isin(MISSING_AMONG_NUMBERS).to_numpy(copy=True)
    rest = cells[~weak]
    if rest.empty:
        return None
    parsed, note = pandas.to_numeric(rest, errors="coerce").to_numpy(dtype=float), None
    if decimal == "," or np.isnan(parsed).any():
        parsed, note = _parse(rest, decimal)
    good = ~np.isnan(parsed)
    if good.mean() < MOSTLY:
        if len(np.unique(parsed[good])) < _MANY_NUMBERS or rest[~good].nunique() > _FEW_WORDS:
            return None
        words = rest[~good].value_counts()
        told = " and ".join(f"{word!r} in {count:,} rows" for word, count in words.items())
        note = f"{note}; " if note else ""
        note += f"numbers, but {told}, read as missing"
        weak[np.flatnonzero(~weak)[~good]] = True
        parsed, good = parsed[good], good[good]
        cells = cells.where(~cells.isin(words.index), "")
    places = np.flatnonzero(given)[~weak]
    values, broken = np.full(len(texts), np.nan), np.zeros(len(texts), dtype=bool)
    values[places] = parsed
    broken[places[~good]] = True
    marks = {str(mark): int(count) for mark, count in cells[weak].value_counts().items() if mark}
    return Numbers(values, broken, marks, note)


def objects(values: Any) -> Any:
    """A column as objects, None where it has no value."""
    return values.astype(object).where(values.notna(), None)


def plain_text(cell: Any) -> str:
    """A cell as text; whole numbers without ".0", which a missing value in the column adds to them."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _parse(cells: Any, decimal: str) -> tuple[Array, str | None]:
    """Numbers in text cells, NaN where there are none, read in the way that suits most; and a note."""
    signs = {cell[0] for cell in cells if cell[:1] in _SIGNS} | {
        cell[-1] for cell in cells if cell[-1:] in _SIGNS
    }
    signs.discard("")
    bare = [cell.strip(_SIGNS + " \u00a0") for cell in cells]
    best, way = np.full(len(bare), np.nan), ""
    # The way of the file comes first: another must read more cells.
    for other in (",", ".", " ") if decimal == "," else (".", ",", " "):
        parsed = np.array([_number(cell, other) for cell in bare])
        if not way or np.isfinite(parsed).sum() > np.isfinite(best).sum():
            best, way = parsed, other
    read = [cell for cell, value in zip(bare, best, strict=True) if not np.isnan(value)]
    told = []
    if way == " ":
        told.append("a space or apostrophe was read as thousands mark")
    elif any(("." if way == "," else ",") in cell for cell in read):
        told.append(f"{'.' if way == ',' else ','!r} was read as thousands mark")
    if way != " " and way != decimal and any(way in cell for cell in read):
        told.append(f"{way!r} was read as decimal mark")
    if signs:
        told.append(f"{' and '.join(sorted(signs))} was removed from numbers")
    return best, "; ".join(told) or None


def _number(cell: str, way: str) -> float:
    """The number in a cell, whose decimal mark is `way`, or whose thousands are marked by spaces."""
    if _PLAIN.fullmatch(cell) and not (way == "," and "." in cell):
        return float(cell)
    if way == "." and _WITH_POINT.fullmatch(cell):
        return float(cell.replace(",", ""))
    if way == "," and _WITH_COMMA.fullmatch(cell):
        return float(cell.replace(".", "").replace(",", "."))
    if way == " " and _SPACED.fullmatch(cell):
        return float("".join(character for character in cell if character not in _SPACES).replace(",", "."))
    return np.nan


def is_mixed(texts: Any) -> bool:
    """Whether a text column has many numbers, though not nearly all."""
    cells = texts[texts.notna()].astype(str)
    share = cells.map(lambda cell: bool(_PLAIN.fullmatch(cell))).mean() if len(cells) else 0.0
    return bool(_MIXED <= share < MOSTLY)


def is_code(cells: Sequence[str]) -> bool:
    """Whether all cells are digits and some have leading zeros, as postcodes do: these are not numbers."""
    return all(cell.isdigit() for cell in cells) and any(_CODE.fullmatch(cell) for cell in cells)


def booleans_of(texts: Any) -> Array | None:
    """1 for yes, 0 for no and NaN for missing, if all cells are such words; otherwise None."""
    cells = {str(cell).lower() for cell in texts if cell is not None}
    if not cells or not cells <= (YES | NO):
        return None
    return np.array([np.nan if c is None else float(str(c).lower() in YES) for c in texts])


def dates_of(texts: Any, order: str | None = None) -> tuple[Any, str | None] | None:
    """Dates in a text column (NaT where missing or broken) and a note, if most cells are dates.

    `order` says how to read 03/04/2021, "day-first" or "month-first"; None: by looking for a number above 12.
    """
    import pandas

    cells = texts[texts.notna()].astype(str)
    if cells.empty:
        return None
    if cells.map(lambda cell: bool(_ISO.fullmatch(cell))).mean() >= MOSTLY:
        found = pandas.to_datetime(cells, format="ISO8601", errors="coerce", utc=True).dt.tz_localize(None)
        note = None
    else:
        parts = cells.map(_DAY.fullmatch)
        if parts.notna().mean() < MOSTLY:
            return None
        known = [part for part in parts if part is not None]
        first = max(int(part[1]) for part in known)
        second = max(int(part[3]) for part in known)
        doubtful = first <= 12 and second <= 12
        day_first = first > 12 or (doubtful and known[0][2] == ".")
        if order is not None:
            day_first, doubtful = order == "day-first", False
        full, century = _with_centuries(cells, parts)
        found = pandas.to_datetime(full, format="mixed", dayfirst=day_first, errors="coerce")
        other = "month-first" if day_first else "day-first"
        remarks = [century] if century else []
        if doubtful:
            remarks.append(
                f"dates such as {cells.iloc[0]!r} were read with the {'day' if day_first else 'month'} "
                f"first; if that is wrong, use --dates {other}"
            )
        note = "; ".join(remarks) or None
    if found.notna().mean() < MOSTLY:
        return None
    return found.reindex(texts.index), note


def times_of(texts: Any) -> tuple[Array, BoolArray] | None:
    """Times of day as shares of a day (NaN where missing) and which cells are not times, if most are."""
    cells = [None if cell is None else _TIME.fullmatch(str(cell).strip()) for cell in texts]
    values = np.array([np.nan if found is None else _share_of_day(found) for found in cells])
    given = np.array([cell is not None for cell in texts])
    good = ~np.isnan(values)
    if not good.any() or good.sum() < MOSTLY * given.sum():
        return None
    return values, given & ~good


def _share_of_day(time: re.Match[str]) -> float:
    hour, minute, second = int(time[1]), int(time[2]), float((time[3] or "0").replace(",", "."))
    half = (time[4] or "").lower().replace(".", "")
    if half in ("am", "pm"):
        if not 1 <= hour <= 12:
            return np.nan
        hour = hour % 12 + 12 * (half == "pm")
    if hour > 23 or minute > 59 or second >= 60:
        return np.nan
    return (hour * 3600 + minute * 60 + second) / 86_400


def _with_centuries(cells: Any, parts: Any) -> tuple[Any, str | None]:
    """Dates with years of four digits, and a note if some had two.

    The years of a column are taken to be as close together as they can be: 98, 99 and 02 are 1998 to 2002,
    60 to 98 are 1960 to 1998, whatever the year is today.
    """
    short = [part is not None and len(part[4]) == 2 for part in parts]
    years = sorted({int(part[4]) for part, two in zip(parts, short, strict=True) if two})
    if not years:
        return cells, None
    gaps = np.diff([*years, years[0] + 100])
    last = years[max(i for i, gap in enumerate(gaps) if gap == gaps.max())]  # before the largest gap
    end = last + (2000 if last < _THIS_CENTURY else 1900)
    full = cells.copy()
    for i, (part, two) in enumerate(zip(parts, short, strict=True)):
        if two:
            year = end - (last - int(part[4])) % 100
            full.iloc[i] = f"{part[1]}{part[2]}{part[3]}{part[2]}{year}{part[5] or ''}"
    first = end - max((last - year) % 100 for year in years)
    return full, f"years of two digits were read as {first} to {end}; write four digits if that is wrong"
