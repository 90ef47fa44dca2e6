"""What was learned on each of several geometries, and which of them is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..geometry.base import FittedGeometry
from ..process.learning import LearnedModel, Settings
from ..terms import Inputs
from .composition import Composition
from .labels import Labels


@dataclass(frozen=True, eq=False)
class Attempt:
    """What was learned on one geometry."""

    geometry: FittedGeometry
    labels: Labels
    inputs: Inputs
    composition: Composition
    settings: Settings
    learned: LearnedModel

    @property
    def has_other_terms(self) -> bool:
        """Whether labels also speak of points that no walk joins them to."""
        return len(self.learned.terms.parts) > 1

    @property
    def silent_parts(self) -> int:
        """Connected parts of the graph without a label."""
        basis = self.learned.basis
        return basis.n_parts - len(np.unique(basis.part_of(self.inputs.places)))


def position_of_best(attempts: Sequence[Attempt]) -> int:
    """The attempt with the highest evidence.

    Where there is nothing but the manifold, parts of a graph without labels would be left to the prior: one
    with more of them than the first has is not taken.
    """
    most = attempts[0].silent_parts
    allowed = [i for i, each in enumerate(attempts) if each.has_other_terms or each.silent_parts <= most]
    return max(allowed, key=lambda i: attempts[i].learned.log_posterior)
