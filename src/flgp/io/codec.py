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
from .rules import scalar, special

# Words of 32 bits in the seed that stands for a random generator.
_SEED_WORDS = 4


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
            return self._scalar(value)
        if isinstance(value, sparse.csr_array):
            parts = (value.data, value.indices, value.indptr)
            return {"sparse": [*(self._array(part) for part in parts), [*value.shape]]}
        if isinstance(value, np.random.RandomState):
            return {"random_state": _seed_of(value)}
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
            plain_array(value)
            self._position[id(value)] = len(self.arrays)
            self.arrays.append(value)  # kept alive, so that its id is not reused
        return {"array": self._position[id(value)]}

    def _scalar(self, value: np.generic) -> Any:
        """A NumPy scalar as its dtype and value."""
        plain = plain_array(np.asarray(value))
        held = plain.item()
        if isinstance(held, float) and not math.isfinite(held):
            held = repr(held)
        return {"scalar": [plain.dtype.str, held]}


def _seed_of(generator: np.random.RandomState) -> list[int]:
    """A seed drawn from a copy of a generator, which stays as it is.

    The state itself is not stored: a forged one could make the generator read memory that is not its own.
    """
    copy = np.random.RandomState()
    copy.set_state(generator.get_state(legacy=False))
    words: list[int] = copy.randint(0, 2**32, _SEED_WORDS, dtype=np.uint64).tolist()
    return words


class Decoder:
    """Turns JSON and arrays that were checked (`contents.check_contents`) back into objects."""

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self.arrays = arrays

    def decode(self, node: Any) -> Any:
        """The value of a node."""
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        if set(node) == {"objects", "shape"}:
            return self._object_array(node)
        ((kind, content),) = node.items()
        if kind == "float":
            return special(content, "a number")
        if kind == "array":
            return self.arrays[content]
        if kind == "scalar":
            return scalar(content, "a number")
        if kind == "tuple":
            return tuple(self.decode(item) for item in content)
        if kind == "dict":
            return self.entries(content)
        if kind == "pairs":
            return {self.decode(k): self.decode(v) for k, v in content}
        if kind == "result":
            return OptimizeResult(**self.entries(content))
        if kind == "sparse":
            return _sparse([self.decode(part) for part in content])
        if kind == "random_state":
            return np.random.RandomState(content)
        return _rebuilt(_stored.CONCEPTS[kind], self.entries(content))

    def entries(self, content: Any) -> dict[str, Any]:
        """The values of a JSON object, by name."""
        return {name: self.decode(value) for name, value in content.items()}

    def _object_array(self, node: dict[str, Any]) -> np.ndarray:
        flat = np.empty(len(node["objects"]), dtype=object)
        for i, item in enumerate(node["objects"]):  # one by one: an entry may be a list
            flat[i] = self.decode(item)
        return flat.reshape(node["shape"])


def _sparse(parts: list[Any]) -> sparse.csr_array:
    """A sparse matrix whose indices are checked before use."""
    data, indices, indptr, shape = parts
    matrix = sparse.csr_array((data, indices, indptr), shape=tuple(shape))
    matrix.check_format(full_check=True)
    return matrix


@cache
def _concepts() -> dict[type, str]:
    return {kind: concept for concept, kind in _stored.CONCEPTS.items()}


def _rebuilt(kind: type, values: dict[str, Any]) -> Any:
    """The object with these fields; fields added by newer versions take their defaults.

    No constructor runs, only `__post_init__`, which checks the values and rebuilds what is not stored.
    """
    made: Any = object.__new__(kind)
    for entry in fields(kind):
        if entry.name in values:
            value = values[entry.name]
        elif entry.default is not MISSING:
            value = entry.default
        else:
            assert entry.default_factory is not MISSING  # the schema requires all other fields
            value = entry.default_factory()
        object.__setattr__(made, entry.name, value)
    if hasattr(made, "__post_init__"):
        made.__post_init__()
    return made
