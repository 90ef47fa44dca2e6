"""`Blocks` on Dask workers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from dask.delayed import Delayed

from ..blocks import Blocks
from .tasks import map_blocks, pair_blocks, reduce_blocks, shared_object, task
from .waiting import compute, persist

# Partial sums combined by one task: few enough to overlap with the work, many enough to keep the tree short.
_FAN_IN = 8


class DaskBlocks(Blocks[Any]):
    """Blocks on workers, with the same `map` and `reduce`.

    Every part is one chunk, split into a list of blocks of the usual size: chunks may be of any size, and the
    temporaries still fit in the cache.
    """

    def __init__(self, parts: Sequence[Delayed], starts: Sequence[int]) -> None:
        super().__init__([], starts)
        self._parts = list(parts)

    def __len__(self) -> int:
        return len(self._parts)

    def map(self, function: Callable[[Any], Any], keep: bool = True) -> DaskBlocks:
        """Apply `function` to every block on its worker; with `keep`, the results stay there."""
        shared = shared_object(function)
        parts = [task(map_blocks, shared, part) for part in self._parts]
        return DaskBlocks(persist(*parts) if keep else parts, self.starts)

    def map_at(self, function: Callable[[Any, int], Any]) -> DaskBlocks:
        """Like `map`; `function` also gets the number of the first row of the block."""
        shared = shared_object(function)
        pairs = zip(self._parts, self.starts, strict=True)
        parts = [task(map_blocks, shared, part, start) for part, start in pairs]
        return DaskBlocks(persist(*parts), self.starts)

    def paired_with(self, other: Blocks[Any]) -> DaskBlocks:
        """Pairs of blocks of the same rows."""
        assert isinstance(other, DaskBlocks)
        pairs = zip(self._parts, other._parts, strict=True)
        return DaskBlocks([task(pair_blocks, *pair) for pair in pairs], self.starts)

    def reduce(
        self, function: Callable[[Any], Any], combine: Callable[[Any, Any], Any] = operator.add
    ) -> Any:
        """`function` of every block, combined in order by a tree of tasks; only the result is transferred."""
        shared = shared_object(function)
        level = [task(reduce_blocks, shared, combine, part) for part in self._parts]
        while len(level) > 1:
            groups = [level[i : i + _FAN_IN] for i in range(0, len(level), _FAN_IN)]
            level = [task(reduce, combine, group) for group in groups]
        (result,) = compute(level[0])
        return result
