"""What a fit is to learn from its labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..process.evidence import Target


@dataclass(frozen=True)
class Problem:
    """The latent functions to learn, and what they have in common."""

    targets: Sequence[Target]
    fewest_labels: int  # from which on several terms can be told apart
    shared: bool = False  # whether the functions share their hyperparameters
    rank: int = 0  # of what links the functions; 0: nothing does
