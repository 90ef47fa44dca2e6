"""Warnings about labels that make little sense."""

from __future__ import annotations

import warnings

import numpy as np

from .._typing import Array

# Beyond this many times the largest distance of fitted points a prediction is the prior's.
FAR = 3.0


def warn_if_far(distance: Array) -> None:
    """Warn about new labels at points that are far from the geometry (distances as `distance_to_anchors`)."""
    far = int(np.sum(distance > FAR))
    if far:
        warnings.warn(
            f"{far:,} of {len(distance):,} new label(s) are far from all fitted points and tell the model "
            "next to nothing. Check their scale, or fit again with these points.",
            UserWarning,
            stacklevel=5,
        )
