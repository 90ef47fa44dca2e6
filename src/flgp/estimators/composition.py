"""Which terms f has beside the manifold, and on which scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._typing import Array, RowLike
from ..geometry.base import FittedGeometry
from ..geometry.graph import FittedGraph
from ..likelihoods import Bernoulli, Categorical, Gaussian
from ..rows.sources import in_memory
from ..terms import Linear
from .columns import ColumnRoles
from .labels import Labels, Problem
from .validation import is_auto

if TYPE_CHECKING:
    from ._latent import LatentModel

# Steps of a graph's walk that linear_steps="auto" compares with none, for tables of nodes up to this size.
_STEPS, _MOST_WALKED = (1, 2, 4), 20_000_000
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


def linear_terms(model: LatentModel, geometry: FittedGeometry, rows: RowLike) -> list[Linear | None]:
    """The covariates, on one scale: several where the labels are to choose the steps of a graph's walk."""
    roles, steps = model._roles_, model.linear_steps
    if roles.linear is None:
        if steps not in (0, "auto"):
            raise ValueError(
                f"linear_steps={steps} averages covariates, but there are none. Name columns of X in linear."
            )
        return [None]
    if is_auto(model.linear) and roles.linear_is_own:
        return [Linear.of(rows, roles.linear, roles.even, on_cloud=True)]
    as_given = Linear.of(rows, roles.linear)
    held = rows.shape[0] * len(roles.linear) <= _MOST_WALKED and in_memory(rows)
    if steps == 0 or (steps == "auto" and not (held and isinstance(geometry, FittedGraph))):
        return [as_given]
    try:
        nodes = _covariates_of_nodes(geometry, roles, rows, steps)
    except ValueError:
        if steps != "auto":
            raise
        return [as_given]  # covariates of rows, or of some of the nodes
    if not isinstance(steps, str):
        return [_walked(as_given, nodes, steps)]
    return [as_given, *(_walked(as_given, nodes, each) for each in _STEPS)]


@dataclass(frozen=True, eq=False)
class _NodeTable:
    """The covariates (N, q) of all nodes of a graph."""

    graph: FittedGraph
    table: Array
    column: int  # of X with the number of the node


def _covariates_of_nodes(
    geometry: FittedGeometry, roles: ColumnRoles, rows: RowLike, steps: int | str
) -> _NodeTable:
    """The covariates as a table of nodes, each with the same ones in all of its rows."""
    if not isinstance(geometry, FittedGraph):
        raise ValueError(
            f"linear_steps={steps} walks along a graph. Use geometry=Graph(adjacency), or linear_steps=0."
        )
    column = 0 if roles.geometry is None else int(roles.geometry[0])
    X = np.asarray(rows[:], dtype=np.float64)
    own, nodes = X[:, roles.linear], X[:, column].astype(np.intp)
    absent = np.flatnonzero(np.bincount(nodes, minlength=geometry.n_nodes) == 0)
    if len(absent):
        raise ValueError(
            f"linear_steps={steps} needs the covariates of every node, but {len(absent):,} nodes are not "
            f"among the rows, the first {absent[0]}. Add them as unlabelled rows."
        )
    table = np.zeros((geometry.n_nodes, own.shape[1]))
    table[nodes] = own
    differ = np.flatnonzero((table[nodes] != own).any(axis=1))
    if len(differ):
        raise ValueError(
            f"linear_steps={steps} averages covariates of nodes, but rows of node {nodes[differ[0]]} "
            "differ in theirs. Use linear_steps=0 for covariates of rows."
        )
    return _NodeTable(geometry, table, column)


def _walked(as_given: Linear, nodes: _NodeTable, steps: int) -> Linear:
    walked = nodes.graph.walk(nodes.table, steps)
    return Linear.of_nodes(nodes.table, walked, as_given.columns, nodes.column, steps)


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
    free = model._learns_all and model.geometry is None
    return BY_FEATURES if free and len(labels) >= problem.fewest_labels else None
