"""Single measurements, each a module with its options and a function that measures and prints."""

from .catalogue import MEASUREMENTS, find

__all__ = ["MEASUREMENTS", "find"]
