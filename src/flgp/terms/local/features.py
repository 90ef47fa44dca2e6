"""The local term as features, for likelihoods that no closed form exists for and few labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from ..._linalg import distinct_rows, safe_cholesky, squared_distances
from ..._stored import stored
from ..._typing import Array, IntArray
from ...geometry.base import MatrixRows
from ..base import Inputs, OneVariance, TermView
from .term import VARIANCE

# Labelled points that the features are made from; more of them cost more than they add.
_MOST_POINTS = 300
# Added to the diagonal of the correlations, so that repeated points do no harm.
_JITTER = 1e-8
# Rows whose distances are in the cache together.
_TILE = 1_024


@dataclass(frozen=True, eq=False)
class CorrelationRows:
    """k(x) (b, k) between rows and points, computed when it is asked for: limits do without."""

    coordinates: Array  # (b, q)
    points: Array  # (k, q)

    def __len__(self) -> int:
        return len(self.coordinates)

    @property
    def width(self) -> int:
        return len(self.points)

    @cached_property
    def z(self) -> Array:
        """exp(-|x - x'|²/2)."""
        result = np.empty((len(self), self.width))
        for start in range(0, len(result), _TILE):
            tile = slice(start, start + _TILE)
            with np.errstate(over="ignore"):  # infinitely far is a correlation of 0
                squared = squared_distances(self.coordinates[tile], self.points)
            squared *= -0.5
            np.exp(squared, out=result[tile])
        return result

    def combine(self, values: Array) -> Array:
        if not values.any():
            return np.zeros((len(self), *values.shape[1:]))
        return self._known.combine(values)

    def quadratic(self, values: Array) -> Array:
        return self._known.quadratic(values)

    def limit(self, sizes: Array) -> Array:
        return np.full(len(self), sizes.sum())

    def take(self, part: slice | IntArray) -> CorrelationRows | MatrixRows:
        """The same for some of the rows."""
        if "z" in self.__dict__:
            return self._known.take(part)
        return CorrelationRows(self.coordinates[part], self.points)

    def scaled(self, factor: Array) -> MatrixRows:
        return self._known.scaled(factor)

    @property
    def _known(self) -> MatrixRows:
        return MatrixRows(self.z)


@stored("local term by features")
@dataclass(frozen=True)
class LocalFeatures(OneVariance):
    """u ~ GP(0, a_u² exp(-|x - x'|²/2)), through its values at labelled points.

    With R the correlations among the points and k(x) those with them, φ(x) = k(x) L⁻ᵀ, R = L Lᵀ: exact at
    the points, and 1 - |φ(x)|² of the variance stays prior elsewhere.
    """

    points: Array  # (k, q)
    inverse: Array  # (k, k) L⁻¹

    name = "local"
    parameters = (VARIANCE,)

    @classmethod
    def at_labels(cls, labels: Inputs) -> LocalFeatures:
        """For labelled rows, whose coordinates have the length scale 1."""
        assert labels.coordinates is not None
        points = distinct_rows(labels.coordinates)
        if len(points) > _MOST_POINTS:
            chosen = np.random.default_rng(0).permutation(len(points))[:_MOST_POINTS]
            points = points[np.sort(chosen)]
        R = np.exp(-0.5 * squared_distances(points, points))
        R[np.diag_indices_from(R)] += _JITTER
        inverse = linalg.solve_triangular(safe_cholesky(R), np.eye(len(R)), lower=True, check_finite=False)
        return cls(points, np.ascontiguousarray(inverse))

    @property
    def n_features(self) -> int:
        return len(self.points)

    def features(self, at: Inputs) -> Array:
        return self._rows(at).z @ self.inverse.T

    def view(self, at: Inputs) -> TermView:
        """k(x), and the share of the variance that the points do not explain."""
        return TermView(self._rows(at), whitener=self.inverse.T)

    def at_nodes(self, weights: Array) -> Array:
        return self.inverse.T @ weights

    def _rows(self, at: Inputs) -> CorrelationRows:
        assert at.coordinates is not None
        return CorrelationRows(at.coordinates, self.points)
