"""Classes of known sizes as clusters: the partition that diffusion leaves as it is.

Where classes are clusters, their sizes say more than a shift of all log odds can use. Every point takes the
class that is most frequent around it in the heat kernel's sense, as many points for each class as it has,
again and again until none changes: the threshold dynamics of Merriman, Bence and Osher, with the sizes kept.
Where classes overlap this is worse than no partition at all, so left-out labels decide how much it counts
beside the probabilities that it started from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from .._stored import stored
from .._typing import Array, IntArray
from ..process.class_models import mixture_shares
from ..terms import Manifold
from ..terms.base import TermView
from .class_prior import log_odds_shift, shifted

# Rounds of diffusion and choice: more than it takes.
_ROUNDS = 60
# Left-out folds of the labels, and labels that each of both models is thought to have explained before.
_FOLDS, _SEEN = 5, 3.0
# Powers of the indicators that are compared, and how far from 1 they are thought to be, in logarithms.
_POWERS, _SPREAD = np.exp(np.linspace(-1.5, 2.0, 22)).tolist(), 0.7
# The least that the shares count beside the indicators.
_FLOOR = 1e-2


@stored("classes as clusters")
@dataclass(frozen=True, eq=False)
class Clusters:
    """Probabilities of the classes from a partition of the points."""

    at_nodes: Array  # (s, C) indicators of the parts, diffused, at the nodes of the manifold term
    shares: Array  # (C,) of the classes
    power: float  # of the indicators, as left-out labels suggest
    weight: float  # of these probabilities beside those of the model
    shift: Array  # (C,) of the log odds, so that the mean probability is the share

    def probabilities(self, at: TermView) -> Array:
        """(b, C), given the manifold term at b points."""
        return shifted(
            self.power * np.log(indicators(at.rows.combine(self.at_nodes), self.shares)), self.shift
        )


def learn_clusters(
    manifold: Manifold,
    features: Array,
    probabilities: Callable[[IntArray], Array],
    codes: IntArray,
    weight: Array,
    shares: Array,
    trusted: bool,
) -> Clusters:
    """The partition of n points of which the last m are labelled, and how much it says about left-out labels.

    `features` (n, M) are those of the manifold term. `probabilities` gives those of the classes (n, C) at all
    points from the labels at some positions. `codes` and `weight` (m,) are the labels' classes and weights;
    where labels are `trusted`, points keep the class of their label.
    """
    n, everything = len(features), np.arange(len(codes))
    first = n - len(codes)

    def parts(p: Array, kept: IntArray) -> Array:
        fixed = kept if trusted else kept[:0]
        return partition(features, manifold.basis.eigenvalues, p, shares, first + fixed, codes[fixed])

    seen = np.zeros(len(codes), dtype=bool)
    own, other = np.ones(len(codes)), np.ones((len(codes), len(shares)))
    for out in folds(codes):
        kept = np.setdiff1d(everything, out)
        p, seen[out] = probabilities(kept), True
        own[out] = _moved(p, shares)[first + out, codes[out]]
        other[out] = indicators(features[first + out] @ parts(p, kept), shares)
    left_out = np.flatnonzero(seen)
    weight, right = weight[left_out], (np.arange(len(left_out)), codes[left_out])
    power = evenness(np.log(other[left_out]), right, weight)
    second = np.exp(log_softmax(power * np.log(other[left_out]), axis=1)[right])
    said = mixture_shares(np.stack([own[left_out], second], axis=1), weight, np.full(2, _SEEN))
    weights = parts(probabilities(everything), everything)
    p = indicators(features @ weights, shares) ** power
    return Clusters(
        manifold.at_nodes(weights),
        shares,
        power,
        float(said[1]),
        log_odds_shift(p, shares),
    )


def partition(
    features: Array, eigenvalues: Array, p: Array, shares: Array, labeled: IntArray, classes: IntArray
) -> Array:
    """Weights (M, C) of the diffused indicators of the parts that probabilities p (n, C) turn into.

    Points `labeled` keep their `classes`, (m,) each.
    """
    # As short as these eigenfunctions can tell: the fastest of them falls to 1/e.
    spread = np.exp(-eigenvalues / (float(eigenvalues.max()) or 1.0))[:, None] / len(features)
    shift: Array = np.zeros(p.shape[1])
    before, weights = None, np.zeros((len(eigenvalues), p.shape[1]))
    for _ in range(_ROUNDS):
        p = np.maximum(p, np.finfo(float).tiny)
        shift = log_odds_shift(p, shares, shift)
        own = (np.log(p) + shift).argmax(axis=1)
        own[labeled] = classes
        if before is not None and np.array_equal(own, before):
            break
        before = own
        weights = spread * (features.T @ np.eye(p.shape[1])[own])
        p = indicators(features @ weights, shares)
    return weights


def indicators(diffused: Array, shares: Array) -> Array:
    """Probabilities (b, C) from diffused indicators, which sum to about 1, and to less off the geometry."""
    # Sums of eigenfunctions that are cut off go a little below 0.
    kept = np.maximum(diffused, 0.0)
    rest = np.maximum(1.0 - kept.sum(axis=1, keepdims=True), _FLOOR)
    p = kept + rest * shares
    return p / p.sum(axis=1, keepdims=True)


def folds(codes: IntArray) -> Iterator[IntArray]:
    """Positions of labels to leave out, of every class some: never all of them, so none of a single one."""
    counts = np.bincount(codes)
    several = np.flatnonzero(counts[codes] > 1)
    if not len(several):
        return
    count = min(_FOLDS, int(counts[counts > 1].min()))
    place = np.full(len(codes), -1)
    place[several[np.argsort(codes[several], kind="stable")]] = np.arange(len(several)) % count
    for fold in range(count):
        yield np.flatnonzero(place == fold)


def evenness(log_p: Array, right: tuple[IntArray, IntArray], weight: Array) -> float:
    """The power of probabilities that says most about left-out labels; `right`: their places in `log_p`."""

    def score(power: float) -> float:
        said = float(weight @ log_softmax(power * log_p, axis=1)[right])
        return said - 0.5 * (np.log(power) / _SPREAD) ** 2

    return float(max(_POWERS, key=score))


def _moved(p: Array, shares: Array) -> Array:
    return shifted(np.log(np.maximum(p, np.finfo(float).tiny)), log_odds_shift(p, shares))


@stored("known shares of classes")
@dataclass(frozen=True, eq=False)
class KnownShares:
    """What known shares of the classes change."""

    shift: Array  # (C,) of the model's log odds
    clusters: Clusters | None = None

    def applied(self, p: Array, at: TermView | None) -> Array:
        """Probabilities (b, C) from those without known shares, with the manifold term at the points."""
        p = shifted(np.log(np.maximum(p, np.finfo(float).tiny)), self.shift)
        if self.clusters is None or at is None:
            return p
        return (1.0 - self.clusters.weight) * p + self.clusters.weight * self.clusters.probabilities(at)
