"""The local term by nearest neighbours, where it is required or the evidence asks for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._threads import blas_for
from .._typing import Array
from ..likelihoods import Gaussian
from ..process.learning import LearnedModel
from ..process.local_search import LocalOptions, keep_local, learn_local, learn_shared_local
from ..process.search import LearnedFunction
from ..terms import Inputs, Manifold
from .composition import BY_NEIGHBORS
from .geometry_choice import Attempt
from .labels import FEWEST_NUMBERS

if TYPE_CHECKING:
    from ._latent import LatentModel

# Neighbours that a local term conditions on; how many labels are few enough to afford more; and all of them,
# which for Gaussian labels is one dense matrix: no slower, and better where f is smooth in many columns.
_NEIGHBORS, _MANY_NEIGHBORS, _FEW_LABELS, _DENSE_LABELS = 30, 60, 2_000, 1_000
# Degrees of freedom of f that may be left out, and the part of the eigenfunctions that is looked at for it.
_LITTLE, _LAST_PART = 1.0, 10


def with_local(model: LatentModel, found: Attempt, near: LearnedModel | None = None) -> Attempt:
    """The same with a local term by neighbours, where the model has one.

    `near`: what was learned with fewer eigenpairs, to begin from.
    """
    if found.composition.local_kind != BY_NEIGHBORS:
        return found
    with blas_for(found.settings.n_eigenpairs):
        return replace(found, learned=_learned(model, found.learned, found.inputs, near))


def enough_eigenpairs(found: Attempt, asked: int) -> bool:
    """Whether more eigenpairs, as many as `asked`, would tell the labels nothing beside a local term.

    An eigenfunction's posterior variance is smaller than its prior one by the share of a degree of freedom
    that the labels take up. Prior variances fall with the eigenvalue, so the last eigenfunctions are a limit
    for those that were left out.
    """
    few = found.settings.n_eigenpairs
    if few >= asked:
        return True
    manifold = found.learned.terms.find(Manifold)
    if manifold is None:
        return True
    start, stop = manifold[1].start, manifold[1].stop
    last = slice(stop - max((stop - start) // _LAST_PART, 1), stop)
    left_out = (stop - start) * (asked / few - 1.0)
    return all(
        function.evidence.local is not None and left_out * float(_told(function)[last].mean()) < _LITTLE
        for function in found.learned.functions
    )


def _told(function: LearnedFunction) -> Array:
    """1 - posterior variance / prior variance of each feature, (M,)."""
    d = function.evidence.variances(function.best.values)
    C = function.best.evaluation.posterior.factor[: len(d)]
    return 1.0 - np.divide(np.einsum("ij,ij->i", C, C), d, out=np.ones(len(d)), where=d > 0)


def _learned(
    model: LatentModel, learned: LearnedModel, inputs: Inputs, near: LearnedModel | None
) -> LearnedModel:
    """The functions with a local term where they have one; `inputs` are the labelled rows."""
    options = LocalOptions(model.residual_kernel, _count(model, learned, inputs), model.residual == "local")
    features, points = learned.terms.features(inputs), inputs.coordinates
    assert points is not None
    rows = [function.target.rows for function in learned.functions]
    enough = [options.required or len(own) >= FEWEST_NUMBERS for own in rows]
    if learned.shared is not None:
        if not all(enough):
            return learned
        each, own_points = [features[own] for own in rows], [points[own] for own in rows]
        beside = None if near is None else near.shared
        together = learn_shared_local(learned.shared, learned.functions, each, own_points, options, beside)
        return learned if together is None else replace(learned, shared=together[0], functions=together[1])
    functions = []
    others = [None] * len(rows) if near is None else near.functions
    for function, own, many, other in zip(learned.functions, rows, enough, others, strict=True):
        known = function.target.known is not None
        if not many:
            functions.append(function)
        elif known:
            functions.append(keep_local(function, features[own], points[own], options))
        else:
            functions.append(learn_local(function, features[own], points[own], options, other) or function)
    return replace(learned, functions=functions)


def _count(model: LatentModel, learned: LearnedModel, inputs: Inputs) -> int:
    """Neighbours of each label, k."""
    given, m = model.n_residual_neighbors, len(inputs)
    if not isinstance(given, str):
        return int(given)
    if m <= _DENSE_LABELS and isinstance(learned.functions[0].target.likelihood, Gaussian):
        return m
    return _MANY_NEIGHBORS if m <= _FEW_LABELS else _NEIGHBORS
