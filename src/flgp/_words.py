"""Words that many errors and notes have in common."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any


def check_choice(
    name: str, value: Any, choices: Sequence[str], optional: bool = False, error: type[Exception] = ValueError
) -> None:
    """`value` must be one of `choices`, or None if it is optional."""
    if optional and value is None:
        return
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(map(repr, [*choices, None] if optional else choices))
        raise error(f"{name}={value!r} is not known. Use one of {known}.")


def listed(first: Collection[Any], total: int) -> str:
    """The first of some names or numbers, and how many more there are in all."""
    more = f" and {total - len(first):,} more" if total > len(first) else ""
    return ", ".join(map(str, first)) + more
