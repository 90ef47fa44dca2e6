"""The error of the neuroimaging module."""

from __future__ import annotations


class ImageError(ValueError):
    """An image, mask, atlas, mesh or seed that cannot be used; the message says why and what to do."""
