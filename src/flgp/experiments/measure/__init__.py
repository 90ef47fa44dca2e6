"""Single measurements: each module has a function that measures, a `parser()` and a `main(argv)`."""

from .catalogue import MEASUREMENTS, find

__all__ = ["MEASUREMENTS", "find"]
