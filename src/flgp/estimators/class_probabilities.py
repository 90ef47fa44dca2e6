"""Class probabilities, classes and draws of classes from a fitted process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import softmax

from .._typing import Array, BoolArray
from ..process.component import Component
from ..process.draws_field import DrawsField
from ..process.field import WeightField
from ..process.process import Process
from ..terms.base import View

# Probabilities closer to 1/2 than this are not told apart by limits: their integrals are approximated.
_ROUNDING = 1e-6


def class_probabilities(process: Process, n_classes: int, views: Sequence[View]) -> Array:
    """(b, C), integrated over the posterior."""
    if n_classes == 1:
        return np.ones((len(views[0]), 1))
    if process.coupled is not None:
        return process.class_probabilities(views)
    columns = [function.predictive_mean(own) for function, own in process.each(views)]
    return _both(columns[0]) if n_classes == 2 else exactly_one(np.stack(columns, axis=1))


def conditional_probabilities(process: Process, f: Array) -> Array:
    """(b, C, draws), given draws of the latent functions: (b, draws), or (b, C, draws)."""
    if process.coupled is not None:
        return np.stack([process.coupled.conditional(f[:, :, k]) for k in range(f.shape[2])], axis=2)
    p = process.functions[0].likelihood.conditional_mean(f)
    return _both(p) if f.ndim == 2 else exactly_one(p)


def _both(p: Array) -> Array:
    """Probabilities of two classes from those of the second, along a new axis 1."""
    return np.stack([1.0 - p, p], axis=1)


def exactly_one(p: Array) -> Array:
    """Class probabilities from independent "is it class c?" probabilities p (b, C).

    Exactly one of the C answers is yes: P(c) ∝ p_c Π_{k≠c} (1 - p_k) ∝ p_c / (1 - p_c). Conditioning on that
    is what the independent model implies, and is better calibrated than dividing p by its sum.
    """
    tiny = np.finfo(float).tiny
    log_odds = np.log(np.maximum(p, tiny)) - np.log(np.maximum(1.0 - p, np.finfo(float).epsneg))
    return softmax(log_odds, axis=1)


def is_gaussian(process: Process) -> bool:
    """Whether the first latent function is known by its moments, not by draws."""
    return not any(isinstance(part.field, DrawsField) for part in process.functions[0].components)


def is_second(
    process: Process, views: Sequence[View], probabilities: Callable[[Sequence[View]], Array]
) -> BoolArray:
    """Whether the second of two classes is the more probable one, (b,).

    The link is symmetric: p > 1/2 where the latent mean is positive, and no variance is needed unless the
    parts of a mixture disagree. Then limits of the variances decide nearly everywhere.
    """
    parts = process.functions[0].components
    means = [part.field.means(views[part.layer].of_function(0)) for part in parts]
    second = means[0] > 0
    unsure = np.flatnonzero(np.any([(mean > 0) != second for mean in means[1:]], axis=0))
    if len(unsure):
        low, high = _chances(parts, [view.take(unsure) for view in views], [mean[unsure] for mean in means])
        second[unsure] = low > 0.5
        unsure = unsure[(low <= 0.5 + _ROUNDING) & (high >= 0.5 - _ROUNDING)]
    if len(unsure):
        p = probabilities([view.take(unsure) for view in views])
        second[unsure] = p.argmax(axis=1) == 1
    return second


def _chances(
    parts: Sequence[Component], views: Sequence[View], means: Sequence[Array]
) -> tuple[Array, Array]:
    """Limits of the probability (b,) of the second class: the less certain f is, the nearer p is to 1/2."""
    low, high = (np.zeros(len(views[0])) for _ in range(2))
    for part, mean in zip(parts, means, strict=True):
        view = views[part.layer]
        average = part.given(None).predictive_mean
        near: Array = np.full(len(view), 0.5)
        if isinstance(part.field, WeightField):
            near = average(mean, part.field.variance_limits(view))
        far = average(mean, np.zeros(len(view)))
        low += part.weight * np.minimum(near, far)
        high += part.weight * np.maximum(near, far)
    return low, high
