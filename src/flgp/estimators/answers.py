"""Answers of a fitted process about rows, block by block."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._progress import stage
from .._typing import Array, RowLike
from ..geometry.base import FittedGeometry
from ..rows.blocks import Blocks, map_blocks, map_rows, row_blocks
from ..rows.sources import is_distributed, is_streamed
from ..terms import Inputs
from .fitted_rows import FittedRows
from .locator import Locator

if TYPE_CHECKING:
    from ._latent import LatentModel

# From this many rows on predictions are a stage of their own.
_MANY_ROWS = 20_000


def answers(
    model: LatentModel,
    X: Any,
    function: Callable[..., Any],
    beside: Array | None = None,
    offset: Array | None = None,
) -> Any:
    """`function` of the views of X, and of the matching values of `beside` (n,), block by block.

    The views hold the `offset` (n, k), if there is one.
    """
    # Only many rows take long enough for a message.
    much = not is_distributed(X) and X.shape[0] >= _MANY_ROWS
    with model._working(), stage(f"answers for {X.shape[0]:,} points") if much else nullcontext():
        fitted = model._fitted_rows_
        places = None if fitted is None else fitted.places_of(X)
        return _in_blocks(model, X, places, function, beside, offset)


def transduced(
    model: LatentModel,
    geometry: FittedGeometry,
    rows: RowLike,
    function: Callable[..., Array],
    offset: Array | None,
) -> Array | None:
    """`function` at the fitted rows, from their places if these are still at hand.

    None if the rows would have to be read again. Places of not too many rows stay with the model.
    """
    places = geometry.fitted_places()
    if is_distributed(rows) or (places is None and is_streamed(rows)):
        return None
    model._fitted_rows_ = FittedRows.of(rows, geometry)
    with stage(f"transduction for {rows.shape[0]:,} points"):
        found: Array = _in_blocks(model, rows, places, function, None, offset)
        return found


def remembered(model: LatentModel, X: Any, name: str) -> Array | None:
    """A learned attribute with a prediction for each of the fitted rows, if X are these."""
    held, fitted = getattr(model, name, None), model._fitted_rows_
    if held is None or fitted is None:
        return None
    with model._working():
        return held.copy() if fitted.are(X) else None


def _in_blocks(
    model: LatentModel,
    X: RowLike,
    places: Blocks[Any] | None,
    function: Callable[..., Any],
    beside: Array | None,
    offset: Array | None,
) -> Any:
    """`function` of the views of X; where its places are known, rows are read only if a term needs them."""
    locator, process = Locator.of(model), model._process_
    given = [values for values in (offset, beside) if values is not None]

    def answered(inputs: Inputs, *own: Any) -> Any:
        if offset is not None:
            own, inputs = own[1:], replace(inputs, offset=own[0])
        return function(process.at(inputs), *own)

    if places is None:
        return map_rows(X, lambda block, *own: answered(locator(block), *own), beside=given)
    if not (process.has_local or model._linear_ is not None or model._roles_.groups):
        return map_blocks(places, X.shape[0], lambda at, *own: answered(Inputs(None, at), *own), given)
    pairs = row_blocks(X).paired_with(places)
    return map_blocks(pairs, X.shape[0], lambda pair, *own: answered(locator(*pair), *own), given)
