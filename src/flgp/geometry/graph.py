"""A given graph: the random walk on its nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from .._stored import stored
from .._typing import Array, RowLike
from .bases import (
    Known,
    LeadingColumns,
    NodeBasis,
    NodePlaces,
    at_nodes,
    check_rows,
    node_eigenpairs,
    node_numbers,
)
from .chebyshev import leading_by_filter
from .spectrum import fit_spectrum

# Relative difference between a matrix and its transpose that counts as rounding.
_ROUNDING = 1e-8
# Weight of staying relative to that of a step, in the lazy walk, whose eigenvalues are positive.
_STAY = 1.01


@stored("graph")
@dataclass(frozen=True, eq=False, repr=False)
class Graph(LeadingColumns):
    """A graph whose nodes are the points; rows are node numbers 0, 1, ..., one column.

    The Laplacian is that of the random walk, I - D⁻¹W with degrees D, so a diffusion time of 1 is about one
    step. Each connected part has its constant eigenfunction, and a node without edges is a part.

    Parameters
    ----------
    adjacency : array or sparse matrix of shape (N, N)
        Symmetric similarities W ≥ 0; a larger one joins two nodes more strongly. 0 means no edge.
    """

    adjacency: Any  # kept as a csr_array

    takes: ClassVar[str] = "1 column, the number of a node,"

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", _checked(self.adjacency))

    def __repr__(self) -> str:
        return f"Graph({self.adjacency.shape[0]:,} nodes, {sparse.triu(self.adjacency, 1).nnz:,} edges)"

    def identifiers(self, n_columns: int) -> tuple[int, ...]:
        return (0,)

    def fit(self, rows: RowLike, rng: np.random.Generator) -> FittedGraph:
        """Check that rows (n, 1) are numbers of nodes."""
        self.check_width(rows)
        n_nodes = self.adjacency.shape[0]
        check_rows(rows, lambda block, start: node_numbers(block, n_nodes, "node", start))
        return FittedGraph(n_nodes, self.adjacency)


def _checked(adjacency: Any) -> sparse.csr_array:
    """The adjacency matrix without explicit zeros; raises ValueError if it is not valid."""
    if not sparse.issparse(adjacency):
        try:
            adjacency = np.atleast_2d(np.asarray(adjacency, dtype=float))
        except (TypeError, ValueError) as error:
            raise ValueError("adjacency must be an array or a sparse matrix of similarities.") from error
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise ValueError(
            f"adjacency has shape {adjacency.shape} and is not square. It needs one row and column per node."
        )
    W = sparse.csr_array(adjacency, dtype=float)
    if W.shape[0] == 0:
        raise ValueError("adjacency has no nodes. It needs one row and column per node.")
    W.sum_duplicates()
    W.eliminate_zeros()
    if not np.isfinite(W.data).all():
        raise ValueError("adjacency has NaN or infinite entries. Replace them with similarities, or with 0.")
    if (W.data < 0).any():
        raise ValueError(
            "adjacency has negative entries. Use similarities, such as exp(-distance²), not correlations."
        )
    largest = W.data.max(initial=0.0)
    if abs(W - W.T).max() > _ROUNDING * largest:
        raise ValueError("adjacency is not symmetric. Pass (A + A.T) / 2 to ignore the direction of edges.")
    return W


@stored("fitted graph")
@dataclass(frozen=True, eq=False)
class FittedGraph(Known):
    """A graph of `n_nodes`; `adjacency` is None once frozen."""

    n_nodes: int
    adjacency: Any

    def locate(self, X: Array) -> NodePlaces:
        return at_nodes(node_numbers(X, self.n_nodes, "node"))

    def n_eigenpairs(self, n_labeled: int) -> int:
        """A tenth of the labels, between 200 and 1000, and at most half of the nodes."""
        return node_eigenpairs(n_labeled, self.n_nodes)

    def eigenpairs(self, count: int) -> NodeBasis:
        """The leading eigenpairs of the random walk, at least one for each part.

        The solver expects eigenvalues in [0, 1], but those of a walk, μ, may be negative. So it gets the lazy
        walk, which stays in place half of the time, or slightly more often since the solver drops eigenvalues
        near 0: σ² = (μ + c) / (1 + c), the same vectors.
        """
        W = self.adjacency
        degree = W.sum(axis=1)
        # At a node without edges the walk stays. Its weight in the mean square is that of a typical node.
        alone = degree == 0
        if alone.any():
            loops = np.where(alone, 1.0 if alone.all() else degree[~alone].mean(), 0.0)
            W, degree = W + sparse.diags_array(loops), degree + loops
        lazy = sparse.csr_array(W + sparse.diags_array(_STAY * degree))
        lazy *= self.n_nodes / lazy.sum()
        found = fit_spectrum(lazy, self.n_nodes, min(count, self.n_nodes), solver=leading_by_filter)
        sigma = 1.0 - found.eigenvalues
        eigenvalues = (1.0 + _STAY) * (1.0 - sigma**2)
        return NodeBasis(eigenvalues, found.lift * sigma, found.components, found.n_capped, 1.0)

    def walk(self, values: Array, steps: int) -> Array:
        """Values at the nodes (N, p), averaged over `steps` steps of the walk.

        One step is (D + I)⁻¹(W + I): the value of a node itself has weight 1, as in a simple graph
        convolution. `values` may be sparse; the result is an array.
        """
        if self.adjacency is None:
            raise ValueError("A frozen graph has no edges to walk on. Walk before the graph is frozen.")
        looped = sparse.csr_array(self.adjacency + sparse.eye_array(self.n_nodes))
        step = sparse.csr_array(sparse.diags_array(1.0 / looped.sum(axis=1)) @ looped)
        walked: Any = values
        for _ in range(steps):
            walked = step @ walked
        return walked.toarray() if sparse.issparse(walked) else np.asarray(walked, dtype=float)

    def frozen(self) -> FittedGraph:
        return replace(self, adjacency=None)
