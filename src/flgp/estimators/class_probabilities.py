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

    Limits of means and variances decide nearly everywhere: those of the heaviest part alone if it has more
    than half of the weight, then those of all parts.
    """
    parts = sorted(process.functions[0].components, key=lambda part: -part.weight)
    second, left = np.zeros(len(views[0]), dtype=bool), np.arange(len(views[0]))
    for decide in (_by_heaviest, _by_all):
        low, high = decide(parts, views)
        second[left] = low > 0.5
        unsure = np.flatnonzero((low <= 0.5 + _ROUNDING) & (high >= 0.5 - _ROUNDING))
        left = left[unsure]
        if len(left) == 0:
            return second
        if len(left) < len(views[0]):
            views = [view.take(unsure) for view in views]
    second[left] = probabilities(views).argmax(axis=1) == 1
    return second


def _by_heaviest(parts: Sequence[Component], views: Sequence[View]) -> tuple[Array, Array]:
    """Limits of the probability (b,) of the second class, from the first part of a mixture alone."""
    part = parts[0]
    if part.weight <= 0.5 or not isinstance(part.field, WeightField):
        return np.zeros(len(views[0])), np.ones(len(views[0]))
    view = views[part.layer].of_function(0)
    low, high = part.field.mean_limits(view)
    if len(parts) == 1:  # the link is symmetric, so that the sign of the mean decides
        return (low > 0).astype(float), (high > 0).astype(float)
    # Where the sign of the mean is known, the other limit would decide nothing: it is left at 0 or 1.
    chance = part.given(None).predictive_mean(np.where(low > 0, low, high), part.field.variance_limits(view))
    rest = 1.0 - part.weight
    return np.where(low > 0, part.weight * chance, 0.0), np.where(high > 0, 1.0, part.weight * chance + rest)


def _by_all(parts: Sequence[Component], views: Sequence[View]) -> tuple[Array, Array]:
    """The same from all parts: the sign of their means where they agree."""
    own = [views[part.layer].of_function(0) for part in parts]
    means = [part.field.means(view) for part, view in zip(parts, own, strict=True)]
    low = (means[0] > 0).astype(float)
    high, unsure = low.copy(), np.flatnonzero(np.any([(mean > 0) != (low > 0.5) for mean in means], axis=0))
    if len(unsure):
        low[unsure], high[unsure] = 0.0, 0.0
        for part, view, mean in zip(parts, own, means, strict=True):
            limits = _chances(part, view.take(unsure), mean[unsure])
            low[unsure] += part.weight * np.minimum(*limits)
            high[unsure] += part.weight * np.maximum(*limits)
    return low, high


def _chances(part: Component, view: View, mean: Array) -> tuple[Array, Array]:
    """The probability (b,) of the second class if f is as uncertain as it may be, and if it is certain."""
    average = part.given(None).predictive_mean
    near: Array = np.full(len(view), 0.5)
    if isinstance(part.field, WeightField):
        near = average(mean, part.field.variance_limits(view))
    return near, average(mean, np.zeros(len(view)))
