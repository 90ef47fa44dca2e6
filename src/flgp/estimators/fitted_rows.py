"""The rows that a model was fitted on, recognised when they come again: their neighbours are known."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._threads import thread_map
from .._typing import Array, RowLike
from ..geometry.base import FittedGeometry
from ..geometry.point_cloud import CloudPlaces, FittedCloud
from ..rows.blocks import Blocks

# Pairs of rows and anchors that a fitted model keeps, 60 MB.
_MOST_PAIRS = 3_000_000
# Bytes hashed at a time, and rows that are compared before all of them are.
_PIECE, _FEW_ROWS = 2**22, 16


@dataclass(frozen=True, eq=False)
class FittedRows:
    """What tells the fitted rows from others, and their places."""

    shape: tuple[int, ...]
    dtype: np.dtype
    first_look: bytes  # of a few rows
    digest: bytes  # of all of them
    places: Blocks[CloudPlaces] | None  # None: too many to keep; predictions are remembered all the same

    @classmethod
    def of(cls, rows: RowLike, geometry: FittedGeometry) -> FittedRows | None:
        """Of rows in memory whose neighbours were searched; None where there are none."""
        if not isinstance(rows, np.ndarray) or not isinstance(geometry, FittedCloud):
            return None
        graph, places = geometry.graph, geometry.fitted_places()
        if places is None:
            return None
        few = graph.n_rows * graph.n_neighbors * graph.n_sets <= _MOST_PAIRS
        return cls(rows.shape, rows.dtype, _first_look(rows), _digest(rows), places if few else None)

    def places_of(self, X: Any) -> Blocks[CloudPlaces] | None:
        """The places, if they are known and X has these rows."""
        return self.places if self.places is not None and self.are(X) else None

    def are(self, X: Any) -> bool:
        """Whether X has the same rows, to the last bit: an array that was changed in place does not."""
        if not isinstance(X, np.ndarray) or X.shape != self.shape or X.dtype != self.dtype:
            return False
        return _first_look(X) == self.first_look and _digest(X) == self.digest


def _first_look(X: Array) -> bytes:
    some = X[:: max(len(X) // _FEW_ROWS, 1)]
    return hashlib.blake2b(np.ascontiguousarray(some).tobytes(), digest_size=16).digest()


def _digest(X: Array) -> bytes:
    """A hash of the hashes of pieces, which run side by side."""
    rows = max(_PIECE // max(X[:1].nbytes, 1), 1)

    def hashed(start: int) -> bytes:
        piece = np.ascontiguousarray(X[start : start + rows])
        return hashlib.blake2b(piece.view(np.uint8).data, digest_size=16).digest()

    return hashlib.blake2b(b"".join(thread_map(hashed, range(0, len(X), rows)))).digest()
