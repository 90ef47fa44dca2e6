"""Covariates: a linear function of some columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from .._stored import stored
from .._typing import Array, IntArray, RowLike
from ..geometry.base import MatrixRows
from ..rows.columns import select
from ..rows.even import EvenColumns, common_scale, summarize
from .base import Inputs, OneVariance, TermView

VARIANCE = "linear_variance"


@stored("linear term")
@dataclass(frozen=True)
class Linear(OneVariance):
    """f = Σ_j β_j x_j over scaled columns, β_j ~ N(0, a_l²/q): its variance over the points is a_l².

    Columns are centred and put on one scale (see `common_scale`). The labels inform at most m directions
    of the q columns. Where there are more columns, the features are the coordinates in those directions, and
    what is left of x stays at its prior.
    """

    columns: IntArray  # (q,)
    center: Array  # (q,)
    scale: Array  # (q,)
    directions: Array | None = None  # (q, k), orthonormal columns; None: all
    at_nodes_of: Array | None = None  # (N, q) columns at the nodes of a graph, after some steps of its walk
    node_column: int = 0  # the column of X with the node's number, where there are such
    steps: int = 0  # of the walk
    relevance: Array | None = None  # (q,) relative prior standard deviations of the slopes; None: alike
    even: EvenColumns | None = None  # what the columns go through first
    on_cloud: bool = False  # trusted near the point cloud only: off it the prior is back, as for the manifold

    name = "linear"
    parameters = (VARIANCE,)

    @classmethod
    def of(
        cls, rows: RowLike, columns: IntArray, even: EvenColumns | None = None, on_cloud: bool = False
    ) -> Linear:
        """Columns of the fitted rows (n, p)."""
        own = rows if even is None else select(rows, columns, even)
        summary = summarize(own, columns if even is None else np.arange(len(columns)))
        return cls(columns, summary.mean, common_scale(summary), even=even, on_cloud=on_cloud)

    @classmethod
    def of_nodes(cls, table: Array, walked: Array, columns: IntArray, node_column: int, steps: int) -> Linear:
        """Columns that belong to the nodes of a graph: as given, and after some steps of its walk, (N, q).

        Both are on the scale of the given ones: what the walk averages out counts less afterwards.
        """
        scale = common_scale(summarize(table, np.arange(len(columns))))
        spread = np.sqrt(np.mean((walked.std(axis=0) * scale) ** 2))
        return cls(columns, walked.mean(axis=0), scale / (spread or 1.0), None, walked, node_column, steps)

    def with_relevance(self, relevance: Array | None) -> Linear:
        """The same with slopes of different size, mean square 1 (see `process.relevance`); None: alike."""
        return replace(self, relevance=relevance)

    def seen_by(self, labels: Inputs) -> Linear:
        """The same with features for the directions that these labels inform."""
        known = replace(self, directions=None)._scaled(labels)
        if known.shape[1] <= known.shape[0]:
            return replace(self, directions=None)
        return replace(self, directions=linalg.qr(known.T, mode="economic", check_finite=False)[0])

    @property
    def n_features(self) -> int:
        """q, or the number of directions."""
        return len(self.columns) if self.directions is None else self.directions.shape[1]

    @property
    def n_shares(self) -> int:
        """q: the variance of β_j is a_l²/q."""
        return len(self.columns)

    def features(self, at: Inputs) -> Array:
        """(b, q) scaled columns, or their coordinates (b, k)."""
        x = self._scaled(at)
        return x if self.directions is None else x @ self.directions

    def view(self, at: Inputs) -> TermView:
        """The features, and what is left of x outside their directions."""
        x, g = self._scaled(at), at.places.closeness
        off = self.on_cloud and bool((g < 1.0).any())
        if off:
            # Far away x may be anything; what the line says there counts for nothing.
            x = np.where(g[:, None] > 0, x, 0.0) * g[:, None]
        if self.directions is None:
            return TermView(MatrixRows(x), 1.0 - g**2 if off else None)
        known = x @ self.directions
        left = (x - known @ self.directions.T) / np.sqrt(len(self.columns))
        gap = np.einsum("ij,ij->i", left, left)
        if off:
            return TermView(MatrixRows(known), gap + 1.0 - g**2)
        return TermView(MatrixRows(known), gap, remainder=left)

    def _scaled(self, at: Inputs) -> Array:
        X = at.columns()
        own: Array = X[:, self.columns]
        if self.even is not None:
            own = self.even(own)
        if self.at_nodes_of is not None:
            own = self.at_nodes_of[np.asarray(X[:, self.node_column], dtype=np.intp)]
        x = (own - self.center) * self.scale
        return x if self.relevance is None else x * self.relevance
