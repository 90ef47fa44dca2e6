"""Factors of the columns for the linear and the local term, where the labels can tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._threads import blas_for
from ..geometry.base import FittedGeometry
from ..likelihoods import Gaussian
from ..process.column_scales import learn_scales
from ..process.relevance import CLASSES, NUMBERS, learn_relevance, working_labels
from .composition import BY_FEATURES, BY_NEIGHBORS, Composition
from .labels import Labels, Problem
from .locator import Locator

if TYPE_CHECKING:
    from ._latent import LatentModel


def with_relevance(
    model: LatentModel, geometry: FittedGeometry, labels: Labels, problem: Problem, terms: Composition
) -> Composition:
    """The same terms, with factors that the labels learn."""
    linear = None if terms.linear is None else terms.linear.with_relevance(None)
    terms = Composition(linear, terms.local_kind)
    automatic = linear is not None and linear.on_cloud
    required = terms.local_kind == BY_FEATURES
    # Distances on a known geometry are what its user says they are.
    free = model._learns_all and model.geometry is None
    local = required or (terms.local_kind == BY_NEIGHBORS and model.residual == "auto" and free)
    target, roles = problem.targets[0], model._roles_
    if not (local or automatic) or len(target.rows) < problem.fewest_labels:
        return terms
    points = Locator(geometry, roles).coordinates(labels.points[target.rows])
    responses = working_labels(target)
    if responses is None:
        return terms
    gaussian = isinstance(target.likelihood, Gaussian)
    kind = NUMBERS if gaussian else CLASSES
    with blas_for(min(len(points), kind.most)):
        weight = target.obs.weight / target.obs.noise_scale
        found = learn_relevance(points, responses, weight, kind)
    given = roles.local is not None  # with factors or without: they are kept
    finer = not given and local and gaussian and len(points) > kind.most and found.separate
    if finer:
        scales = learn_scales(points, responses[:, 0], 1.0 / weight, found.local)
        found = replace(found, local=scales)
    if linear is not None and automatic and not given and len(linear.columns) == points.shape[1]:
        terms = replace(terms, linear=linear.with_relevance(found.linear))
    if required or finer or (local and found.uneven and not given):
        scale = np.full(points.shape[1], found.local.mean()) if given else found.local
        terms = replace(terms, local_scale=scale)
    columns = np.arange(model.n_features_in_) if roles.geometry is None else roles.geometry
    columns = columns if roles.local is None else roles.local.index
    if len(columns) == len(found.shares):
        relevance = np.zeros(model.n_features_in_)
        relevance[columns] = found.shares
        terms = replace(terms, relevance=relevance)
    return terms
