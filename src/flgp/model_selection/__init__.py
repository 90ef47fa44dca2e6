"""Cross-validation with few labelled rows: score labelled rows, but keep all rows in the graph."""

from .evaluation import Evaluation
from .held_out import evaluate
from .transductive import LabeledKFold, Transductive, cross_validate_labeled

__all__ = ["Evaluation", "LabeledKFold", "Transductive", "cross_validate_labeled", "evaluate"]
