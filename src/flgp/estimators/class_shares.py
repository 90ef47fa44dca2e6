"""What known shares of the classes say about a fitted model."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._typing import Array, IntArray, RowLike
from ..process.process import Process
from ..rows.blocks import map_rows, take_rows
from ..rows.sample import random_order
from ..rows.sources import in_memory
from ..terms import Manifold
from ..terms.base import TermView, View
from ._fitting import process_without
from .answers import answers
from .class_clusters import Clusters, KnownShares, learn_clusters
from .class_prior import log_odds_shift, soft_shares
from .class_targets import known_values
from .labels import Labels

if TYPE_CHECKING:
    from .classifier import FLGPClassifier

# Fitted rows over which shares of classes are averaged, and that are divided into clusters; more labels than
# this say where classes are better than clusters do.
_SHARE_ROWS, _CLUSTER_ROWS, _CLUSTER_LABELS = 20_000, 5_000, 500


def warn_of_unlabeled(classes: Array, labels: Labels) -> None:
    """A class that has a share but no label is known by its share alone."""
    absent = np.setdiff1d(classes, labels.y).tolist()
    if absent:
        names = ", ".join(repr(name) for name in absent[:3]) + (", …" if len(absent) > 3 else "")
        warnings.warn(
            f"No row is labelled {names}: class_prior says how many rows are, and nothing says which. "
            "Label a few of them.",
            UserWarning,
            stacklevel=3,
        )


def on_manifold(process: Process, views: Sequence[View]) -> TermView | None:
    """The manifold term at the points, if there is one."""
    parts = zip(process.layers[0].parts, views[0].terms, strict=True)
    return next((at for part, at in parts if isinstance(part, Manifold)), None)


def known_shares(
    model: FLGPClassifier, shares: Array | str | None, rows: RowLike, labels: Labels, offset: Array | None
) -> KnownShares | None:
    """What shares (C,) of the classes say: over some of the rows their mean probabilities are these."""
    if shares is None or len(model.classes_) == 1:
        return None
    if not in_memory(rows):
        raise ValueError("class_prior needs rows in memory. Use class_prior=None for files and clusters.")
    # At random: rows may be in an order that has to do with their classes.
    some = random_order(rows, _SHARE_ROWS, np.random.default_rng(0))
    X, own = take_rows(rows, some), None if offset is None else offset[some]
    p = answers(model, X, model._unshifted, offset=own)
    if isinstance(shares, str):
        counts = np.unique(labels.y, return_counts=True)[1].astype(float)
        return KnownShares(log_odds_shift(p, soft_shares(p, counts)))
    shift = log_odds_shift(p, shares)
    manifold = model._process_.layers[0].find(Manifold)
    if manifold is None or len(labels) > _CLUSTER_LABELS:
        return KnownShares(shift)
    fewer = None if own is None else own[:_CLUSTER_ROWS]
    clusters = _clusters(model, manifold[0], X[:_CLUSTER_ROWS], labels, fewer, shares)

    def alone(views: Sequence[View]) -> Array:
        at = on_manifold(model._process_, views)
        assert at is not None
        return clusters.probabilities(at)

    here = answers(model, X, alone, offset=own)
    return KnownShares(shift, replace(clusters, shift=clusters.shift + log_odds_shift(here, shares)))


def _clusters(
    model: FLGPClassifier,
    manifold: Manifold,
    X: Array,
    labels: Labels,
    offset: Array | None,
    shares: Array,
) -> Clusters:
    """The classes as clusters of rows X (n, p) and of the labelled points."""
    points, codes = np.concatenate([X, labels.points]), np.searchsorted(model.classes_, labels.y)
    weight = labels.weight
    weight = np.ones(len(codes)) if weight is None else weight
    if offset is not None and labels.offset is not None:
        offset = np.concatenate([offset, labels.offset])
    known = known_values(model)

    def probabilities(kept: IntArray) -> Array:
        other = copy.copy(model)
        if len(kept) < len(codes):
            some = labels.take(kept)
            other._process_ = process_without(model, some, model._problem(some, known))
        return answers(other, points, other._unshifted, offset=offset)

    features = map_rows(points, lambda block: manifold.features(model._inputs(block)))
    return learn_clusters(
        manifold, features, probabilities, codes, weight, shares, trusted=not model.label_noise_
    )
