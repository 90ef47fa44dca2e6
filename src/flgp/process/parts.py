"""A prediction, term by term."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .._typing import Array


@dataclass(frozen=True)
class TermPart:
    """Posterior mean and variance of one term at n points."""

    mean: Array  # (n,) or (n, k)
    variance: Array


@dataclass(frozen=True)
class PredictedParts:
    """Posterior moments of f and of each of its terms at n points.

    The means of the terms sum to that of f; their variances do not sum to its variance, because the labels
    constrain sums of terms, so that the errors of the terms are correlated.
    """

    mean: Array  # (n,) or (n, k)
    variance: Array
    terms: Mapping[str, TermPart]  # "constant", "manifold", "linear", "groups", "local"

    def __getitem__(self, term: str) -> TermPart:
        return self.terms[term]
