"""Labels of which some are wrong."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ._tilted import Tilted


def check_label_noise(value: float, owner: str) -> None:
    """A share of labels drawn at random, in [0, 1)."""
    if not 0.0 <= value < 1.0:
        raise ValueError(f"label_noise of {owner} must be at least 0 and below 1, not {value}.")


def mislabeled(clean: Tilted, noise: float, n_classes: int) -> Tilted:
    """Moments where a label is drawn at random, from all classes, with probability `noise`.

    Z = noise/C + (1 - noise) Ẑ. The derivatives are those of log Ẑ times s, the probability that the label
    is not random, and the spread of the two explanations is taken off the curvature, which may become
    negative: such a label says less than nothing about where f is.
    """
    if noise == 0.0:
        return clean
    kept = np.log1p(-noise) + clean.log_normalizer
    log_total = np.logaddexp(kept, np.log(noise / n_classes))
    s: Array = np.exp(kept - log_total)
    curvature = s * (clean.curvature - (1.0 - s) * clean.gradient**2)
    return Tilted(log_total, s * clean.gradient, curvature)
