"""The error of model files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model cannot be stored, or a file is not a model that this version can read."""
