"""Points → anchors → neighbours → weights → transition matrix."""

from .anchors import ANCHOR_RULES, choose_anchors
from .transition import NeighborBlock, NeighborGraph, Transition, anchor_gram, fit_transition, join_to_anchors

__all__ = [
    "ANCHOR_RULES",
    "NeighborBlock",
    "NeighborGraph",
    "Transition",
    "anchor_gram",
    "choose_anchors",
    "fit_transition",
    "join_to_anchors",
]
