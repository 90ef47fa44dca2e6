"""Predictions of the fitted rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .._progress import stage
from .._typing import Array, RowLike
from ..geometry.base import FittedGeometry
from ..rows.blocks import map_blocks, map_rows, row_blocks
from ..rows.sources import is_distributed, is_streamed
from ..terms import Inputs
from ..terms.base import View
from .fitted_rows import FittedRows
from .locator import Locator

if TYPE_CHECKING:
    from ._latent import LatentModel


def transduce(
    model: LatentModel,
    geometry: FittedGeometry,
    rows: RowLike,
    point: Callable[[Sequence[View]], Array],
    offset: Array | None = None,
) -> Array | None:
    """Predictions of the fitted rows, from their places if these are still at hand.

    None if the rows would have to be read again. Places of not too many rows stay with the model.
    """
    if is_distributed(rows) or (is_streamed(rows) and geometry.fitted_places() is None):
        return None
    process, locator = model._process_, Locator.of(model)
    model._fitted_rows_ = FittedRows.of(rows, geometry)
    if offset is not None:
        return model._answer(rows, point, offset=offset)
    with stage(f"transduction for {rows.shape[0]:,} points"):
        blocks = geometry.fitted_places()
        if blocks is None:
            return map_rows(rows, lambda X: point(process.at(locator(X))))
        if not model._needs_columns():
            return map_blocks(blocks, rows.shape[0], lambda places: point(process.at(Inputs(None, places))))
        pairs = row_blocks(rows).paired_with(blocks)
        return map_blocks(pairs, rows.shape[0], lambda pair: point(process.at(locator(*pair))))
