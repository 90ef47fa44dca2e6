"""Single measurements, each a module with its options and a function that measures and prints."""

from .catalogue import MEASUREMENTS, find, main

__all__ = ["MEASUREMENTS", "find", "main"]
