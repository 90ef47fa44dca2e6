"""Labels of which some are wrong: a share of them is drawn at random, from all classes."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

from ._fitting import finish_again, learn_again
from .labels import Labels

if TYPE_CHECKING:
    from .classifier import FLGPClassifier

# Shares that label_noise="auto" compares, and the one with which the geometry is chosen.
NOISES, FIRST_NOISE = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.0), 0.2


def check_label_noise(noise: Any, inference: str, multi_class: str) -> None:
    """`label_noise` must be None, "auto" or a share, for a model that knows of wrong labels."""
    if noise is None:
        return
    number = isinstance(noise, numbers.Real) and not isinstance(noise, bool)
    if not (noise == "auto" or (number and 0.0 <= float(noise) < 1.0)):
        raise ValueError(f"label_noise={noise!r} must be None, 'auto' or a number in [0, 1).")
    if inference not in ("auto", "ep") or multi_class == "one_vs_rest":
        raise ValueError(
            "label_noise needs expectation propagation and classes that are learned together. Use "
            "inference='auto' and multi_class='auto'."
        )


def searches_noise(model: FLGPClassifier) -> bool:
    """Whether the share is to be found."""
    return isinstance(model.label_noise, str) and len(model.classes_) > 1


def choose_noise(model: FLGPClassifier, labels: Labels) -> None:
    """The share of random labels with the largest evidence, each with its own hyperparameters."""
    found = {}
    for noise in NOISES:
        model.label_noise_ = noise
        found[noise] = learn_again(model, labels, model._problem(labels))
    model.label_noise_ = max(found, key=lambda noise: found[noise].learned.log_evidence)
    finish_again(model, found[model.label_noise_])
