"""The measurements by name."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

MEASUREMENTS = {
    "coverage": "90 % intervals on simulated data, for every likelihood.",
    "dask-workers": "Dask: one worker process against two.",
    "evidence": "The evidence with its gradient against a Cholesky factorisation.",
    "geometries": "Known geometries and terms: globe, graph, mesh, groups.",
    "imports": "`import flgp` against `import sklearn.cluster`.",
    "large-rank": "Error and cost as anchors and eigenpairs grow.",
    "neighbors": "The nearest anchors, against faiss-cpu and usearch.",
    "new-points": "Errors at the fitted points and at new ones.",
    "out-of-core": "Rows in a file larger than memory.",
    "posterior-accuracy": "Approximate posteriors against Markov chains.",
    "residual": "Long and short range together against each alone.",
}


class Module(Protocol):
    """What every module here has, beside a docstring that is the help of its command."""

    def add_options(self, parser: ArgumentParser) -> None:
        """Add the options of the command."""

    def measure(self, options: Namespace) -> None:
        """Measure and print."""


def find(name: str) -> tuple[Module, ArgumentParser]:
    """The measurement with this name and the options of `flgp bench NAME`; imported when it is asked for."""
    module = cast(Module, import_module(f".{name.replace('-', '_')}", __package__))
    parser = ArgumentParser(
        f"flgp bench {name}", description=module.__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    module.add_options(parser)
    return module, parser


def main(name: str, argv: Sequence[str]) -> None:
    """Measure and print."""
    module, parser = find(name)
    module.measure(parser.parse_args(argv))


def whole(text: str) -> int:
    """An integer, which may be written as 1e6."""
    return int(float(text))
