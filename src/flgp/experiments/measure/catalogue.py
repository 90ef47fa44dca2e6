"""The measurements by name."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast


class Measurement(Protocol):
    """The interface of every module here."""

    def parser(self) -> ArgumentParser:
        """The options of the command."""

    def main(self, argv: Sequence[str] | None = None) -> None:
        """Measure and print."""


# Modules are imported on demand, so that the command line starts quickly.
MEASUREMENTS = {
    "coverage": "90 % intervals on simulated data, for every likelihood.",
    "dask-workers": "Dask: one worker process against two.",
    "evidence": "The evidence with its gradient against a Cholesky factorisation.",
    "geometries": "Known geometries and terms: globe, graph, mesh, groups.",
    "imports": "`import flgp` against `import sklearn.cluster`.",
    "large-rank": "Error and cost as anchors and eigenpairs grow.",
    "new-points": "Errors at the fitted points and at new ones.",
    "out-of-core": "Rows in a file larger than memory.",
    "posterior-accuracy": "Approximate posteriors against Markov chains.",
    "residual": "Long and short range together against each alone.",
}


def find(name: str) -> Measurement:
    """The measurement with this name; raises a ValueError that lists the known ones."""
    if name not in MEASUREMENTS:
        raise ValueError(f"Unknown measurement {name!r}. Known: {', '.join(MEASUREMENTS)}.")
    return cast(Measurement, import_module(f".{name.replace('-', '_')}", __package__))


def parser_for(name: str, description: str | None) -> ArgumentParser:
    """A parser without options for `flgp bench NAME`."""
    return ArgumentParser(
        f"flgp bench {name}", description=description, formatter_class=RawDescriptionHelpFormatter
    )


def whole(text: str) -> int:
    """An integer, which may be written as 1e6."""
    return int(float(text))
