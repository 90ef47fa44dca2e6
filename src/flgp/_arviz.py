"""Draws as ArviZ holds them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from ._typing import Array, IntArray


def inference_data(
    groups: Mapping[str, Mapping[str, Array]],
    coords: Mapping[str, Array | IntArray],
    dims: Mapping[str, Sequence[str]],
) -> Any:
    """ArviZ's InferenceData (from ArviZ 1.0 on: a DataTree) of arrays (chains, draws, …)."""
    try:
        import arviz
    except ImportError as error:
        raise ImportError("Exporting draws needs ArviZ: pip install arviz") from error
    labels = {"coords": dict(coords), "dims": {name: list(axes) for name, axes in dims.items()}}
    if "posterior" in inspect.signature(arviz.from_dict).parameters:  # ArviZ before 1.0
        return arviz.from_dict(**groups, **labels)
    return arviz.from_dict(dict(groups), **labels)
