"""Labels of which some are wrong: how probable it is for each, and how much it counts then."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..process.class_models import probability_of_own_class
from ..process.evidence import KnownValues
from ..process.learning import LearnedModel
from ..process.search import LearnedFunction
from ._fitting import learn_again
from .labels import Labels

if TYPE_CHECKING:
    from .._typing import Array
    from .classifier import FLGPClassifier

# Shares that label_noise="auto" compares, and the one with which the geometry is chosen.
NOISES, FIRST_NOISE = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.0), 0.2
# What the most improbable label still counts: a weight must be positive.
_LEAST_TRUST = 1e-3


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


def first_noise(model: FLGPClassifier) -> float:
    """The share with which the geometry is chosen."""
    if isinstance(model.label_noise, str):
        return FIRST_NOISE if len(model.classes_) > 1 else 0.0
    return float(model.label_noise or 0.0)


def judged(model: FLGPClassifier, labels: Labels, known: Mapping[Hashable, KnownValues] | None) -> Labels:
    """The labels with the probability that each is right; as they are if the model trusts them all.

    A share of the labels is assumed to be random, and a label is right if f, given all labels, is largest for
    its class. A share that is to be found is that with the largest evidence, each with its own
    hyperparameters. `known` are hyperparameters to keep, the share among them.
    """
    if model.label_noise is None:
        model.label_noise_ = 0.0
        model.__dict__.pop("label_wrong_proba_", None)
        return labels
    wrong: Array = np.zeros(len(labels))
    if len(model.classes_) > 1:
        found = _most_evident(model, labels, known)
        if model.label_noise_:
            wrong = _wrong(found)
    model.label_wrong_proba_ = wrong
    return replace(labels, trust=np.maximum(1.0 - wrong, _LEAST_TRUST))


def _most_evident(
    model: FLGPClassifier, labels: Labels, known: Mapping[Hashable, KnownValues] | None
) -> LearnedFunction:
    """What is learned with the share of random labels that is given, or has the largest evidence."""
    shares: tuple[float, ...] = (model.label_noise_,)
    if not isinstance(model.label_noise, str):
        shares = (float(model.label_noise or 0.0),)
    elif any(target.known is None for target in model._problem(labels, known).targets):
        shares = NOISES
    found: dict[float, LearnedModel] = {}
    for share in shares:
        model.label_noise_ = share
        found[share] = learn_again(model, labels, model._problem(labels, known)).learned
    model.label_noise_ = max(found, key=lambda share: found[share].log_evidence)
    return found[model.label_noise_].functions[0]


def _wrong(function: LearnedFunction) -> Array:
    """The probability (m,) that another class than its label's is the most probable one at each point."""
    known = function.best.evaluation.at_labels
    assert known is not None
    right = probability_of_own_class(function.target, known.mean, known.variance)
    return np.clip(1.0 - right, 0.0, 1.0)
