"""The search for a geometry's bandwidth, by whatever is learned on each of its bases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from .base import Eigenbasis, FittedGeometry

# After the grid, the step is halved this many times around the best value.
_REFINEMENTS = 3


class Rated(Protocol):
    """What was learned on one basis, and how good it is."""

    @property
    def basis(self) -> Eigenbasis:
        """The basis."""
        ...

    @property
    def log_posterior(self) -> float:
        """How good it is."""
        ...


A = TypeVar("A", bound=Rated)


def search_basis(
    geometry: FittedGeometry, n_eigenpairs: int, learn: Callable[[Eigenbasis, A | None], A]
) -> tuple[Eigenbasis, list[tuple[float, float]]]:
    """The basis, on all rows, at the bandwidth on which `learn` reaches the highest log posterior.

    `learn` learns on a basis, given what was learned on one nearby (or None). Also returns the pairs
    (bandwidth, log posterior) as tried; there are none where there is nothing to search.
    """
    bandwidths = geometry.bandwidths
    if bandwidths is None:
        return geometry.basis(n_eigenpairs), []
    trace: list[tuple[float, float]] = []
    best: A | None = None

    def attempt(bandwidth: float, beside: A | None) -> A:
        nonlocal best
        near = None if beside is None else beside.basis
        found = learn(geometry.basis(n_eigenpairs, bandwidth, near, rough=True), beside)
        trace.append((bandwidth, found.log_posterior))
        if best is None or found.log_posterior > best.log_posterior:
            best = found
        return found

    # The widest first: its eigenvalues are well separated, so it is solved quickly, and its eigenvectors are
    # a start for narrow bandwidths, which nearly disconnect the graph.
    last: A | None = None
    for bandwidth in bandwidths[::-1]:
        last = attempt(float(bandwidth), last)
    step = float(bandwidths[1] / bandwidths[0])
    for _ in range(_REFINEMENTS):
        assert best is not None
        center, beside = best, best
        step = float(np.sqrt(step))
        middle = center.basis.bandwidth
        assert middle is not None
        attempt(middle * step, beside)
        attempt(middle / step, best)
    assert best is not None
    return geometry.basis(n_eigenpairs, best.basis.bandwidth), trace
