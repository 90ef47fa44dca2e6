"""Rows on a Dask cluster: the same stages, run where the chunks are.

`fit` and `predict` come here for Dask arrays and data frames. Neighbours and weights are made on the workers
and stay there; sums over the rows are tree-reduced; what travels to the client is of the anchors' size, and
predictions are lazy arrays with the chunks of the input.
"""

from ..errors import ClusterError
from .blocks import DaskBlocks
from .labels import gather_labels
from .rows import DaskRows, dask_rows

__all__ = ["ClusterError", "DaskBlocks", "DaskRows", "dask_rows", "gather_labels"]
