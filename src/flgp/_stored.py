"""Which objects a model file may hold: each has a name that lasts, whatever its class is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from typing import Any, TypeVar

C = TypeVar("C", bound=type)

# Every class that may be stored, by the name of what it stands for.
CONCEPTS: dict[str, type] = {}


def stored(concept: str) -> Callable[[C], C]:
    """Let model files hold a dataclass under the name `concept`, which must not change once released."""

    def register(kind: C) -> C:
        assert is_dataclass(kind), f"{kind.__name__} is not a dataclass"
        assert CONCEPTS.setdefault(concept, kind) is kind, f"two classes are stored as {concept!r}"
        return kind

    return register


# The metadata of a field that is made again when a file is read (in `__post_init__`) rather than stored.
REBUILT = {"stored": False}


def stored_fields(kind: type) -> list[Field[Any]]:
    """The fields of a class that files hold."""
    return [entry for entry in fields(kind) if entry.metadata.get("stored", True)]
