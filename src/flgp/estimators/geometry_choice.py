"""Which geometries a fit compares, and which of them it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._typing import RowLike
from ..geometry.base import FittedGeometry, Geometry
from ..geometry.point_cloud import PointCloud
from ..geometry.tangent import TangentSphere
from ..geometry.tangent_mesh import TangentMesh
from ..process.learning import LearnedModel, Settings
from ..rows.sources import in_memory
from ..terms import Inputs
from .composition import Composition
from .labels import Labels

if TYPE_CHECKING:
    from ._latent import LatentModel

# Up to this many rows a graph of all points is compared with that of the anchors; its r.
_COMPARED_ROWS, _NEIGHBORS_OF_ALL = 2_000, 5


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


def candidates(model: LatentModel, rows: RowLike) -> list[Geometry]:
    """The geometries that are compared: of few points, also that with every point an anchor.

    Of vector fields, those of several divergences.
    """
    first = model._geometry()
    if isinstance(first, TangentSphere | TangentMesh):
        return list(first.candidates())
    free = (model.n_anchors, model.n_neighbors, model.n_anchor_sets) == ("auto", "auto", "auto")
    cheap = rows.shape[0] <= _COMPARED_ROWS and in_memory(rows)
    plain = isinstance(first, PointCloud) and isinstance(model.anchors, str) and model.anchors == "kmeans"
    if free and cheap and plain and model.base_kernel == "lae" and model.anchor_weights == "auto":
        return [first, graph_of_all()]
    return [first]


def graph_of_all() -> PointCloud:
    """Every point an anchor: nothing is left to chance, but it takes few points."""
    return PointCloud(anchors="all", n_neighbors=_NEIGHBORS_OF_ALL)


def position_of_best(attempts: Sequence[Attempt]) -> int:
    """The attempt with the highest evidence.

    Where there is nothing but the manifold, parts of a graph without labels would be left to the prior: one
    with more of them than the first has is not taken.
    """
    most = attempts[0].silent_parts
    allowed = [i for i, each in enumerate(attempts) if each.has_other_terms or each.silent_parts <= most]
    return max(allowed, key=lambda i: attempts[i].learned.log_posterior)
