"""Which terms f has beside the manifold, and on which scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._typing import Array, RowLike
from ..geometry.base import FittedGeometry
from ..geometry.graph import FittedGraph
from ..likelihoods import Bernoulli, Categorical, Gaussian
from ..terms import Linear
from .labels import Labels
from .problem import Problem

if TYPE_CHECKING:
    from ._latent import LatentModel

# How a local term is computed.
BY_FEATURES, BY_NEIGHBORS = "features", "neighbors"


@dataclass(frozen=True, eq=False)
class Composition:
    """What a fit decides about the terms, before it learns their hyperparameters."""

    linear: Linear | None
    local_kind: str | None  # how a local term is computed, if there may be one
    local_scale: Array | None = None  # (q,) factors of its coordinates
    relevance: Array | None = None  # (p,) share of each column of X

    @classmethod
    def of(cls, model: LatentModel) -> Composition:
        """That of a fitted model."""
        relevance = getattr(model, "feature_relevance_", None)
        return cls(model._linear_, model._local_kind_, model._local_scale_, relevance)


def linear_term(model: LatentModel, geometry: FittedGeometry, rows: RowLike) -> Linear | None:
    """The covariates, on one scale, after some steps of a graph's walk if asked for."""
    roles, steps = model._roles_, model.linear_steps
    if roles.linear is None:
        if steps:
            raise ValueError(
                f"linear_steps={steps} averages covariates, but there are none. Name columns of X in linear."
            )
        return None
    if isinstance(model.linear, str) and model.linear == "auto" and roles.linear_is_own:
        return Linear.of(rows, roles.linear, roles.even, on_cloud=True)
    if not steps:
        return Linear.of(rows, roles.linear)
    if not isinstance(geometry, FittedGraph):
        raise ValueError(
            f"linear_steps={steps} walks along a graph. Use geometry=Graph(adjacency), or linear_steps=0."
        )
    node = 0 if roles.geometry is None else int(roles.geometry[0])
    X = np.asarray(rows[:], dtype=np.float64)
    table = np.zeros((geometry.n_nodes, len(roles.linear)))
    nodes = X[:, node].astype(np.intp)
    absent = np.flatnonzero(np.bincount(nodes, minlength=geometry.n_nodes) == 0)
    if len(absent):
        raise ValueError(
            f"linear_steps={steps} needs the covariates of every node, but {len(absent):,} nodes are not "
            f"among the rows, the first {absent[0]}. Add them as unlabelled rows."
        )
    table[nodes] = X[:, roles.linear]
    return Linear.of_nodes(table, geometry.walk(table, steps), roles.linear, node)


def local_kind(model: LatentModel, geometry: FittedGeometry, labels: Labels, problem: Problem) -> str | None:
    """How the local term is computed, or that it may be: closed form for numbers, features for the rest."""
    likelihood = problem.targets[0].likelihood
    classes = isinstance(likelihood, Bernoulli | Categorical)
    if model.residual == "local":
        return BY_FEATURES if classes and model.inference in ("auto", "ep", "gibbs") else BY_NEIGHBORS
    roles = model._roles_
    if model.residual != "auto" or model.hyperparameters == "fixed" or problem.rank:
        return None
    if roles.local is None and geometry.coordinates(roles.geometry_of(labels.points[:1])) is None:
        return None
    if isinstance(likelihood, Gaussian):
        # A file that is small enough is as good as memory: joblib hands arrays on as such files.
        return BY_NEIGHBORS if labels.in_memory else None
    free = model.amplitude is None and model.hyperparameters == "optimize" and model.geometry is None
    return BY_FEATURES if free and len(labels) >= problem.fewest_labels else None
