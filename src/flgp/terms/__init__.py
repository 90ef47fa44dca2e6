"""The parts of f: constant + manifold + linear + groups + local."""

from .base import Inputs, Term, Terms, TermView
from .constant import Constant
from .groups import Groups
from .linear import Linear
from .local.term import Local
from .manifold import AMPLITUDE, TIME, Manifold

__all__ = [
    "AMPLITUDE",
    "TIME",
    "Constant",
    "Groups",
    "Inputs",
    "Linear",
    "Local",
    "Manifold",
    "Term",
    "TermView",
    "Terms",
]
