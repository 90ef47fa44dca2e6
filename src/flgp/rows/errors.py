"""Errors of where rows come from."""

from __future__ import annotations


class ClusterError(RuntimeError):
    """A Dask cluster failed as a whole; what the model had learned before is unchanged."""
