"""The error of tables."""

from __future__ import annotations


class TableError(ValueError):
    """A table cannot be read or does not fit; the message says what to do."""
