"""What a value in a model file may be: kinds of values with dtypes, shapes in named dimensions, and ranges.

A check has two halves. The first sees the header alone: structure, numbers, and the dtype and shape of every
array, so that sizes which do not fit each other are refused before an array is read. The second sees the
arrays, once the checksum has been verified. Nothing is built in either.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import _stored
from .errors import ModelFileError

# Arrays may be shared, but all references together stand for at most this many times the file, so that no
# small file can ask for much work.
_MOST_SHARED, _FREE_SHARED = 64, 16 * 2**20
_MAX_DEPTH = 60
# Integers beyond this are not exact in other readers of JSON.
_LARGEST_INTEGER = 2**53


class ArrayEntry(NamedTuple):
    """What the header says about an array."""

    dtype: np.dtype
    shape: tuple[int, ...]
    order: str

    @property
    def nbytes(self) -> int:
        """Bytes of its values."""
        return math.prod(self.shape) * self.dtype.itemsize


class ArrayRef(NamedTuple):
    """An array of the file, before it is read."""

    position: int
    entry: ArrayEntry

    @property
    def shape(self) -> tuple[int, ...]:
        """As the header says."""
        return self.entry.shape


@dataclass
class Record:
    """A concept found in a file: its named dimensions, and what its fields hold."""

    concept: str
    dims: dict[str, int]
    fields: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


Scope = dict[str, int]


class Rule(Protocol):
    """One kind of value."""

    def __call__(self, check: Check, node: Any, where: str, scope: Scope) -> Any: ...


@dataclass(frozen=True)
class Concept:
    """The fields of a stored concept, how they must fit each other, and the group that it belongs to."""

    fields: Mapping[str, Rule]
    fits: Callable[[Check, Record, str], None] | None = None
    group: str = ""


@dataclass
class Check:
    """One pass over a header; what needs the arrays' values is kept for later."""

    concepts: Mapping[str, Concept]
    table: Sequence[ArrayEntry]
    used: set[int] = field(default_factory=set)
    common: dict[str, Record] = field(default_factory=dict)  # by their JSON
    _later: dict[Hashable, Callable[[Sequence[np.ndarray]], bool]] = field(default_factory=dict)
    _words: dict[Hashable, str] = field(default_factory=dict)
    _shared: int = 0
    _depth: int = 0

    def __post_init__(self) -> None:
        self._most_shared = _MOST_SHARED * sum(entry.nbytes for entry in self.table) + _FREE_SHARED

    def reference(self, node: Any, where: str) -> ArrayRef:
        """The array that a node refers to."""
        position = content_of(node, "array")
        if type(position) is not int or not 0 <= position < len(self.table):
            raise wrong(where, "is not an array of this file")
        self.used.add(position)
        self._shared += self.table[position].nbytes
        if self._shared > self._most_shared:
            raise wrong(where, "refers to the same arrays too often")
        return ArrayRef(position, self.table[position])

    def record(self, node: Any, where: str, allowed: Sequence[str]) -> Record:
        """A concept; `allowed` are names of concepts and of groups."""
        if not isinstance(node, dict) or len(node) != 1:
            raise wrong(where, f"should hold {' or '.join(map(repr, allowed))}")
        ((name, content),) = node.items()
        if name not in self.concepts:
            raise wrong(where, f"is {name!r}, which is unknown to this version of flgp")
        concept = self.concepts[name]
        if name not in allowed and concept.group not in allowed:
            raise wrong(where, f"is {name!r}, but should hold {' or '.join(map(repr, allowed))}")
        entries(content, where, concept.fields, lambda missing: _has_default(name, missing))
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise wrong(where, "is nested too deeply")
        scope: Scope = {}
        values = {
            part: rule(self, content[part], f"{where}.{part}", scope)
            if part in content
            else _plain_default(name, part)
            for part, rule in concept.fields.items()
        }
        self._depth -= 1
        found = Record(name, scope, values)
        if concept.fits is not None:
            concept.fits(self, found, where)
        return found

    def later(
        self, where: str, words: str, holds: Callable[..., Any], *refs: ArrayRef, key: Hashable = None
    ) -> None:
        """Require `holds` of some arrays once they are read; the same question is asked once only."""
        identity = (words, key, *(ref.position for ref in refs))
        if identity not in self._later:
            self._later[identity] = lambda arrays: bool(holds(*(arrays[ref.position] for ref in refs)))
            self._words[identity] = f"{where} {words}"

    def values(self, arrays: Sequence[np.ndarray]) -> None:
        """The second half: ask what was kept for later."""
        with np.errstate(all="ignore"):
            for identity, holds in self._later.items():
                if not holds(arrays):
                    raise ModelFileError(self._words[identity])

    def all_used(self) -> None:
        """Every array of the file must have a place in the model."""
        if len(self.used) < len(self.table):
            raise wrong("the file", "holds arrays that nothing refers to")


def _has_default(concept: str, name: str) -> bool:
    """Whether a field may be missing: it was added later and has a default."""
    entry = _field(concept, name)
    return entry.default is not MISSING or entry.default_factory is not MISSING


def _plain_default(concept: str, name: str) -> Any:
    """What a missing field will be: a number, text, or an empty collection; None for anything else."""
    entry = _field(concept, name)
    value = entry.default if entry.default_factory is MISSING else entry.default_factory()
    empty = isinstance(value, Sequence | Mapping) and not value
    plain = isinstance(value, bool | int | float | str) or empty
    return value if plain else None


def _field(concept: str, name: str) -> Field[Any]:
    return next(entry for entry in fields(_stored.CONCEPTS[concept]) if entry.name == name)


def wrong(where: str, what: str) -> ModelFileError:
    """The error for a value that is not what it should be; `models` adds the path and the remedy."""
    return ModelFileError(f"{where} {what}")


def entries(
    content: Any, where: str, wanted: Mapping[str, Any], optional: Callable[[str], bool] = lambda _: False
) -> None:
    """Names of a JSON object must be the wanted ones; only optional ones may be missing."""
    if not isinstance(content, dict):
        raise wrong(where, "is not an object with fields")
    for name in content:
        if name not in wanted:
            raise wrong(where, f"has no field {name!r}")
    for name in wanted:
        if name not in content and not optional(name):
            raise wrong(where, f"lacks the field {name!r}")


def content_of(node: Any, kind: str) -> Any:
    """What a node of some kind holds; None if it is not of that kind."""
    return node.get(kind) if isinstance(node, dict) and len(node) == 1 else None


def number(node: Any, where: str, kinds: str) -> float | int:
    """A number, as JSON or as a NumPy scalar."""
    if isinstance(node, dict) and set(node) == {"scalar"}:
        node = scalar(node["scalar"], where, kinds).item()
    elif isinstance(node, dict) and set(node) == {"float"} and "f" in kinds:
        node = special(node["float"], where)
    if type(node) is int and ("i" in kinds or "f" in kinds):
        if abs(node) > _LARGEST_INTEGER:
            raise wrong(where, "is too large an integer")
        return node
    if type(node) is float and "f" in kinds:
        return node
    raise wrong(where, "is not a number" if "f" in kinds else "is not an integer")


def scalar(content: Any, where: str, kinds: str = "biufU") -> Any:
    """A NumPy scalar, stored as its dtype and value."""
    if not (isinstance(content, list) and len(content) == 2 and isinstance(content[0], str)):
        raise wrong(where, "is not a scalar")
    name: str = content[0]
    value: Any = content[1]
    kind = name[1:2].replace("u", "i") if name[:1] in "<|" else ""
    right = {"b": bool, "i": int, "f": float, "U": str}.get(kind)
    if kind == "f" and isinstance(value, str):
        value = special(value, where)
    if right is None or type(value) is not right or (kind not in kinds and "f" not in kinds):
        raise wrong(where, f"is a scalar of the dtype {name!r}, which is not allowed here")
    if kind == "U":
        return np.str_(value)
    if name not in _SCALARS:
        raise wrong(where, f"has the unknown dtype {name!r}")
    made: Any = np.dtype(name)
    limits: Any = np.iinfo(made) if kind == "i" else None
    if limits is not None and not limits.min <= value <= limits.max:
        raise wrong(where, f"is outside the dtype {name!r}")
    with np.errstate(over="ignore"):
        return made.type(value)


_SCALARS = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")


def special(name: Any, where: str) -> float:
    """NaN and the infinities, which JSON does not have."""
    found = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.get(name if isinstance(name, str) else "")
    if found is None:
        raise wrong(where, "is not a number")
    return found


@dataclass(frozen=True)
class Real:
    """A number in a range."""

    low: float
    high: float
    nan: bool = False
    infinite: bool = False

    def __call__(self, check: Check, node: Any, where: str, scope: Scope) -> float:
        value = float(number(node, where, "f"))
        exempt = self.nan if math.isnan(value) else self.infinite and math.isinf(value)
        if not exempt and not self.low <= value <= self.high:
            raise wrong(where, f"is {value!r}, not between {self.low:g} and {self.high:g}")
        return value


@dataclass(frozen=True)
class Whole:
    """An integer in a range; `dimension` names one that arrays must agree with."""

    low: int = 0
    high: int = 2**40
    dimension: str | None = None

    def __call__(self, check: Check, node: Any, where: str, scope: Scope) -> int:
        value = int(number(node, where, "i"))
        if not self.low <= value <= self.high:
            raise wrong(where, f"is {value}, not between {self.low} and {self.high}")
        if self.dimension is not None:
            bind(scope, self.dimension, value, where)
        return value


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def __call__(self, check: Check, node: Any, where: str, scope: Scope) -> bool:
        if type(node) is not bool:
            raise wrong(where, "is neither true nor false")
        return node


@dataclass(frozen=True)
class Text:
    """A string, possibly one of a few."""

    choices: tuple[str, ...] | None = None

    def __call__(self, check: Check, node: Any, where: str, scope: Scope) -> str:
        if not isinstance(node, str) or (self.choices is not None and node not in self.choices):
            raise wrong(where, f"is not one of {', '.join(self.choices or ('text',))}")
        if not proper_text(node):
            raise wrong(where, "is text with an unpaired surrogate")
        return node


def proper_text(value: str) -> bool:
    """Whether a string can be encoded: JSON may hold unpaired surrogates."""
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


@dataclass(frozen=True)
class Maybe:
    """None, or a value of another kind."""

    rule: Rule

    def __call__(self, check: Check, node: Any, where: str, scope: Scope) -> Any:
        return None if node is None else self.rule(check, node, where, scope)


@dataclass(frozen=True)
class Either:
    """A value of one kind if the node has its form, otherwise of another kind."""

    has_form: Callable[[Any], bool]
    rule: Rule
    otherwise: Rule

    def __call__(self, check: Check, node: Any, where: str, scope: Scope) -> Any:
        return (self.rule if self.has_form(node) else self.otherwise)(check, node, where, scope)


class A:
    """A concept, one of some names or groups.

    `same` is a dimension that it shares with what holds it. A `common` concept is one that many others may
    hold, and that is looked at once.
    """

    def __init__(self, *names: str, same: str | None = None, common: bool = False) -> None:
        self.names, self.same, self.common = names, same, common

    def __call__(self, check: Check, node: Any, where: str, scope: Scope) -> Record:
        key = json.dumps(node, sort_keys=True) if self.common else ""
        found = check.common.get(key) or check.record(node, where, self.names)
        if self.common:
            check.common[key] = found
        if self.same is not None:
            bind(scope, self.same, found.dims[self.same], where)
        return found


@dataclass(frozen=True)
class Several:
    """A list or tuple of values of one kind; each has a scope of its own unless they share dimensions.

    `dimension` names their number, which other fields must agree with.
    """

    rule: Rule
    least: int = 0
    most: int = 10**6
    form: str = "tuple"
    shared: bool = False
    dimension: str | None = None

    def __call__(self, check: Check, node: Any, where: str, scope: Scope) -> list[Any]:
        if self.form == "tuple":
            node = content_of(node, "tuple")
        if not isinstance(node, list) or not self.least <= len(node) <= self.most:
            raise wrong(where, f"is not a {self.form} of {self.least} to {self.most} values")
        if self.dimension is not None:
            bind(scope, self.dimension, len(node), where)
        return [
            self.rule(check, item, f"{where}[{i}]", scope if self.shared else {})
            for i, item in enumerate(node)
        ]


@dataclass(frozen=True)
class ByName:
    """A dict from names, possibly some of a few, to values of one kind."""

    rule: Rule
    names: tuple[str, ...] | None = None

    def __call__(self, check: Check, node: Any, where: str, scope: Scope) -> dict[str, Any]:
        content = content_of(node, "dict")
        if not isinstance(content, dict):
            raise wrong(where, "is not a dict")
        if self.names is not None and not set(content) <= set(self.names):
            raise wrong(where, f"has other names than {', '.join(self.names)}")
        return {name: self.rule(check, value, f"{where}[{name!r}]", scope) for name, value in content.items()}


@dataclass(frozen=True)
class Numbers:
    """An array: dtype, shape in named dimensions, and the range of its values.

    A dimension is a number, a name that has the same value wherever it occurs in a concept, or "*" for any.
    """

    shape: tuple[int | str, ...]
    low: float = -math.inf
    high: float = math.inf
    kinds: str = "f"
    nan: bool = False
    infinite: bool = False
    ascending: bool = False
    total: float | None = None  # what the values sum to

    def __call__(self, check: Check, node: Any, where: str, scope: Scope) -> ArrayRef:
        ref = check.reference(node, where)
        dtype, shape = ref.entry.dtype, ref.entry.shape
        if dtype.kind not in self.kinds or (dtype.kind == "f" and dtype.itemsize != 8):
            raise wrong(where, f"has the dtype {dtype}, which is not allowed here")
        fit_shape(scope, self.shape, shape, where)
        if dtype.kind in "iuf":
            check.later(where, f"has values outside of {self._range()}", self._holds, ref, key=self)
        return ref

    def _range(self) -> str:
        order = ", ascending" if self.ascending else ""
        total = "" if self.total is None else f", sum {self.total:g}"
        return f"[{self.low:g}, {self.high:g}]{order}{total}"

    def _holds(self, values: np.ndarray) -> bool:
        if values.size == 0:
            return True
        known = values
        if values.dtype.kind == "f":
            finite = np.isfinite(values)
            if not finite.all():
                missing = np.isnan(values)
                if (missing.any() and not self.nan) or ((~finite & ~missing).any() and not self.infinite):
                    return False
                known = values[finite]
        if known.size and not (self.low <= known.min() and known.max() <= self.high):
            return False
        if self.ascending and np.any(np.diff(values) < 0):
            return False
        return self.total is None or abs(float(values.sum()) - self.total) <= 1e-6 * max(abs(self.total), 1.0)


def bind(scope: Scope, name: str, value: int, where: str) -> None:
    """Give a dimension its value, or compare it with the one it has."""
    if scope.setdefault(name, value) != value:
        raise wrong(where, f"does not fit: {name} is {value} here and {scope[name]} elsewhere")


def fit_shape(scope: Scope, wanted: tuple[int | str, ...], shape: tuple[int, ...], where: str) -> None:
    """Compare a shape with the wanted one, dimension by dimension."""
    if len(shape) != len(wanted):
        raise wrong(where, f"has the shape {shape}, but {len(wanted)} axes are expected")
    for size, name in zip(shape, wanted, strict=True):
        if isinstance(name, str):
            if name != "*":
                bind(scope, name, size, where)
        elif size != name:
            raise wrong(where, f"has the shape {shape}, but an axis of {name} is expected")


@dataclass(frozen=True)
class Sparse:
    """A sparse matrix by rows."""

    shape: tuple[int | str, int | str]
    low: float
    high: float

    def __call__(self, check: Check, node: Any, where: str, scope: Scope) -> tuple[int, ...]:
        parts = content_of(node, "sparse")
        if not isinstance(parts, list) or len(parts) != 4 or not isinstance(parts[3], list):
            raise wrong(where, "is not a sparse matrix")
        own: Scope = {}
        data = Numbers(("nnz",), self.low, self.high)(check, parts[0], where, own)
        indices = Numbers(("nnz",), 0, 2**40, "i")(check, parts[1], where, own)
        starts = Numbers(("starts",), 0, 2**40, "i", ascending=True)(check, parts[2], where, own)
        shape = tuple(Whole()(check, size, where, own) for size in parts[3])
        fit_shape(scope, self.shape, shape, where)
        if own["starts"] != shape[0] + 1:
            raise wrong(where, "has another number of rows than its shape")
        count, width = data.shape[0], shape[1]

        def inside(columns: np.ndarray, rows: np.ndarray) -> bool:
            whole = rows[0] == 0 and rows[-1] == count
            return bool(whole and (count == 0 or columns.max() < width))

        check.later(where, "has entries outside of its shape", inside, indices, starts, key=(count, width))
        return shape


@dataclass(frozen=True)
class Given:
    """A parameter as the user gave it: plain values, arrays and stored concepts; estimators check them."""

    concepts: tuple[str, ...] = ()
    depth: int = 4

    def __call__(self, check: Check, node: Any, where: str, scope: Scope) -> Any:
        if node is None or type(node) is bool:
            return node
        if isinstance(node, str):
            return Text()(check, node, where, scope)
        if isinstance(node, int | float):
            return number(node, where, "if")
        if self.depth == 0:
            raise wrong(where, "is nested too deeply")
        inner = Given(self.concepts, self.depth - 1)
        if isinstance(node, list):
            return [inner(check, item, where, {}) for item in node]
        if not isinstance(node, dict):
            raise wrong(where, "is not a plain value")
        if set(node) == {"objects", "shape"}:
            return Objects(self)(check, node, where, scope)
        if len(node) != 1:
            raise wrong(where, "is not a plain value")
        ((kind, content),) = node.items()
        if kind == "float":
            return special(content, where)
        if kind == "scalar":
            return scalar(content, where)
        if kind == "array":
            ref = check.reference(node, where)
            if ref.entry.dtype.kind == "f":
                check.later(where, "is not finite", lambda values: np.isfinite(values).all(), ref)
            return ref
        if kind == "sparse":
            return Sparse(("rows", "columns"), -1e300, 1e300)(check, node, where, {})
        if kind == "tuple":
            return Several(inner)(check, node, where, {})
        if kind == "dict":
            return ByName(inner)(check, node, where, {})
        if kind == "pairs":
            return pairs(check, node, where, inner)
        if kind == "random_state":
            return Several(Whole(0, 2**32 - 1), 1, 8, "list")(check, content, where, {})
        return check.record(node, where, self.concepts)


def pairs(check: Check, node: Any, where: str, rule: Rule) -> list[tuple[Any, Any]]:
    """A dict whose keys are not text; they are numbers, text or flags."""
    content = content_of(node, "pairs")
    if not isinstance(content, list) or not all(isinstance(p, list) and len(p) == 2 for p in content):
        raise wrong(where, "is not a dict")
    found = []
    for key, value in content:
        if isinstance(key, list | dict) and not (isinstance(key, dict) and set(key) == {"scalar"}):
            raise wrong(where, "has a key that is not plain")
        plain = scalar(key["scalar"], where) if isinstance(key, dict) else key
        found.append((plain, rule(check, value, where, {})))
    if len({key for key, _ in found}) < len(found):
        raise wrong(where, "has a key twice")
    return found


@dataclass(frozen=True)
class Objects:
    """An array of plain objects, such as names of columns."""

    rule: Rule

    def __call__(self, check: Check, node: Any, where: str, scope: Scope) -> list[Any]:
        entries(node, where, {"objects": 0, "shape": 0})
        items, sizes = node["objects"], node["shape"]
        if not isinstance(items, list) or not isinstance(sizes, list) or len(sizes) > 8:
            raise wrong(where, "is not an array of objects")
        shape = tuple(Whole()(check, size, where, {}) for size in sizes)
        if math.prod(shape) != len(items):
            raise wrong(where, "has another number of entries than its shape")
        return [self.rule(check, item, where, {}) for item in items]
