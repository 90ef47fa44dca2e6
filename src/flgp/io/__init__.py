"""Model files without pickle."""

from .errors import ModelFileError
from .models import describe, load, save

__all__ = ["ModelFileError", "describe", "load", "save"]
