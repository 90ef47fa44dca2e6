"""A field whose transition rows have another bandwidth than the model's own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array
from ..feature_map import FeatureMap, Rows
from ..graph import Transition
from .latent import LatentField


@dataclass(frozen=True)
class MappedField:
    """The interface of `LatentField`, for rows that another feature map of the same graph has made.

    The neighbours do not depend on the bandwidth, so only r weights a point are computed anew.
    """

    field: LatentField
    transition: Transition
    lift: Array  # (s, M)

    @classmethod
    def on(cls, feature_map: FeatureMap, field: LatentField) -> MappedField:
        """`field`, which was learned on `feature_map`."""
        return cls(field, feature_map.transition, feature_map.spectrum.lift)

    def means(self, rows: Rows) -> Array:
        """E f (b,)."""
        return self.field.means(self._rows(rows))

    def variances(self, rows: Rows) -> Array:
        """Var f (b,)."""
        return self.field.variances(self._rows(rows))

    def covariances(self, rows: Rows) -> Array:
        """Joint covariance of f at the rows, (b, b)."""
        return self.field.covariances(self._rows(rows))

    def draws(self, rows: Rows, n_draws: int, rng: np.random.Generator) -> Array:
        """Joint draws of f at the rows, (b, n_draws)."""
        return self.field.draws(self._rows(rows), n_draws, rng)

    def prior(self, lift: Array, d: Array) -> MappedField:
        """The same before any label was seen; the lift is this field's own."""
        return replace(self, field=self.field.prior(self.lift, d))

    def _rows(self, rows: Rows) -> Rows:
        assert rows.block is not None
        return replace(rows, z=self.transition.rows(rows.block))
