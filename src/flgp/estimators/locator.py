"""Rows of X as the terms see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._typing import Array
from ..geometry.base import FittedGeometry, Places
from ..terms import Inputs
from .columns import ColumnRoles

if TYPE_CHECKING:
    from ._model import HeatKernelModel


@dataclass(frozen=True)
class Locator:
    """What finds the inputs of the terms, and can be sent to a worker without the whole estimator."""

    geometry: FittedGeometry
    roles: ColumnRoles
    local: bool = False  # whether a local term needs coordinates
    scale: Array | None = None  # (q,) factors of these

    @classmethod
    def of(cls, model: HeatKernelModel) -> Locator:
        """That of a fitted model."""
        return cls(model.geometry_, model._roles_, model._process_.has_local, model._local_scale_)

    def __call__(self, X: Array, places: Places | None = None) -> Inputs:
        """Inputs at rows (b, p), whose places may be known."""
        if places is None:
            places = self.geometry.locate(self.roles.geometry_of(X))
        return Inputs(X, places, self.coordinates(X) if self.local else None)

    def coordinates(self, X: Array) -> Array:
        """Where a local term measures distances between rows (b, p)."""
        if self.roles.local is not None:
            coordinates: Array | None = self.roles.local.of(X)
        else:
            coordinates = self.geometry.coordinates(self.roles.geometry_of(X))
        if coordinates is None:
            raise ValueError(
                "residual='local' measures distances, but this geometry has no coordinates. Name columns of "
                "X in residual_columns, or use residual=None."
            )
        return coordinates if self.scale is None else coordinates * self.scale
