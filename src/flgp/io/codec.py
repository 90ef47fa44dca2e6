"""Objects to JSON and arrays, and back.

Numbers, strings, None and lists are stored as they are. Everything else is a JSON object whose single key
names its type: {"array": 3}, {"tuple": [..]}, {"dict": {..}}, or a concept with its fields, such as
{"manifold term": {..}}. The names of concepts stay the same when classes are renamed.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, fields
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import OptimizeResult

from .. import _stored
from .container import plain_array
from .errors import ModelFileError

_MAX_DEPTH = 60


class Encoder:
    """Turns objects into JSON; arrays are collected in `arrays`, shared ones only once."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._position: dict[int, int] = {}

    def encode(self, value: Any) -> Any:
        """JSON for a value; raises ModelFileError if it cannot be stored."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is list:
            return [self.encode(item) for item in value]
        if type(value) is tuple:
            return {"tuple": [self.encode(item) for item in value]}
        if type(value) is OptimizeResult:
            return {"result": self.entries(value)}
        if type(value) is dict and all(type(name) is str for name in value):
            return {"dict": self.entries(value)}
        if type(value) is dict:
            return {"pairs": [[self.encode(name), self.encode(part)] for name, part in value.items()]}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            return {"scalar": self._add(np.asarray(value))}
        if isinstance(value, sparse.csr_array):
            parts = (value.data, value.indices, value.indptr)
            return {"sparse": [*(self._array(part) for part in parts), [*value.shape]]}
        if isinstance(value, np.random.RandomState):
            return {"random_state": self.encode(value.get_state(legacy=True))}
        if (concept := _concepts().get(type(value))) is not None:
            held = {entry.name: getattr(value, entry.name) for entry in _stored.stored_fields(type(value))}
            return {concept: self.entries(held)}
        raise ModelFileError(
            f"A {type(value).__name__} cannot be stored in a model file, because reading it back "
            "would need code that is not part of flgp. Use joblib or pickle for this model."
        )

    def entries(self, values: dict[Any, Any]) -> dict[str, Any]:
        """JSON for named values."""
        return {name: self.encode(value) for name, value in values.items()}

    def _array(self, value: np.ndarray) -> Any:
        if value.dtype == object:
            return {
                "objects": [self.encode(item) for item in value.ravel().tolist()],
                "shape": [*value.shape],
            }
        if id(value) not in self._position:
            # `arrays` keeps the original alive, so that its id is not reused.
            self._position[id(value)] = self._add(value)
        return {"array": self._position[id(value)]}

    def _add(self, value: np.ndarray) -> int:
        plain_array(value)
        self.arrays.append(value)
        return len(self.arrays) - 1


class Decoder:
    """Turns JSON and arrays back into objects; anything unexpected raises an ordinary exception."""

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self.arrays = arrays

    def decode(self, node: Any, depth: int = 0) -> Any:
        """The value of a node."""
        if depth > _MAX_DEPTH:
            raise ValueError("nested too deeply")
        if isinstance(node, list):
            return [self.decode(item, depth + 1) for item in node]
        if not isinstance(node, dict):
            return node
        if set(node) == {"objects", "shape"}:
            return self._object_array(node, depth)
        ((kind, content),) = node.items()
        if kind == "float":
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content]
        if kind == "array":
            return self._array(content)
        if kind == "scalar":
            return self._array(content)[()]
        if kind == "tuple":
            return tuple(self.decode(item, depth + 1) for item in content)
        if kind == "dict":
            return self.entries(content, depth)
        if kind == "pairs":
            return {self.decode(k, depth + 1): self.decode(v, depth + 1) for k, v in content}
        if kind == "result":
            return OptimizeResult(**self.entries(content, depth))
        if kind == "sparse":
            return _sparse([self.decode(part, depth + 1) for part in content])
        if kind == "random_state":
            generator = np.random.RandomState(0)
            generator.set_state(self.decode(content, depth + 1))
            return generator
        if kind not in _stored.CONCEPTS:
            raise ValueError(f"{kind!r} is unknown to this version of flgp")
        return _rebuilt(_stored.CONCEPTS[kind], self.entries(content, depth))

    def entries(self, content: Any, depth: int = 0) -> dict[str, Any]:
        """The values of a JSON object, by name."""
        return {str(name): self.decode(value, depth + 1) for name, value in content.items()}

    def _array(self, position: Any) -> np.ndarray:
        if type(position) is not int or not 0 <= position < len(self.arrays):
            raise ValueError(f"no array {position!r}")
        return self.arrays[position]

    def _object_array(self, node: dict[str, Any], depth: int) -> np.ndarray:
        items = [self.decode(item, depth + 1) for item in node["objects"]]
        flat = np.empty(len(items), dtype=object)
        flat[:] = items
        return flat.reshape([int(n) for n in node["shape"]])


def _sparse(parts: list[Any]) -> sparse.csr_array:
    """A sparse matrix whose indices are checked before use."""
    data, indices, indptr, shape = parts
    matrix = sparse.csr_array((data, indices, indptr), shape=tuple(int(size) for size in shape))
    matrix.check_format(full_check=True)
    return matrix


@cache
def _concepts() -> dict[type, str]:
    return {kind: concept for concept, kind in _stored.CONCEPTS.items()}


def _rebuilt(kind: type, values: dict[str, Any]) -> Any:
    """The object with these fields; fields added by newer versions take their defaults.

    No constructor runs, only `__post_init__`, which checks the values and rebuilds what is not stored.
    """
    known = {entry.name: entry for entry in fields(kind)}
    if unknown := set(values) - {entry.name for entry in _stored.stored_fields(kind)}:
        raise ValueError(f"{kind.__name__} has no field {sorted(unknown)[0]!r}")
    made: Any = object.__new__(kind)
    for name, entry in known.items():
        if name in values:
            value = values[name]
        elif entry.default is not MISSING:
            value = entry.default
        elif entry.default_factory is not MISSING:
            value = entry.default_factory()
        else:
            raise ValueError(f"{kind.__name__} lacks the field {name!r}")
        object.__setattr__(made, name, value)
    if hasattr(made, "__post_init__"):
        made.__post_init__()
    return made
