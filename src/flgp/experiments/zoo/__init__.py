"""The zoo: many data sets × many methods with the same columns, labels and seeds; `flgp bench zoo`."""

from .command import main, parser

__all__ = ["main", "parser"]
