"""Points → anchors → neighbours → weights → transition matrix → eigenfunctions."""

from .anchors import ANCHOR_RULES, choose_anchors
from .cloud import BANDWIDTH_GRID, CloudBasis, CloudPlaces, FittedCloud, PointCloud
from .joining import NeighborBlock, NeighborGraph, join_to_anchors
from .neighbors import MAX_TREE_COLUMNS, AnchorSearch, NeighborSearch
from .walk import Transition, anchor_gram, fit_transition

__all__ = [
    "ANCHOR_RULES",
    "BANDWIDTH_GRID",
    "MAX_TREE_COLUMNS",
    "AnchorSearch",
    "CloudBasis",
    "CloudPlaces",
    "FittedCloud",
    "NeighborBlock",
    "NeighborGraph",
    "NeighborSearch",
    "PointCloud",
    "Transition",
    "anchor_gram",
    "choose_anchors",
    "fit_transition",
    "join_to_anchors",
]
