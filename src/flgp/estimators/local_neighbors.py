"""The local term by nearest neighbours, where it is required or the evidence asks for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .._threads import blas_for
from ..likelihoods import Gaussian
from ..process.learning import LearnedModel
from ..process.local_search import LocalOptions, keep_local, learn_local, learn_shared_local
from ..terms import Inputs
from .composition import BY_NEIGHBORS
from .geometry_choice import Attempt
from .labels import FEWEST_NUMBERS

if TYPE_CHECKING:
    from ._latent import LatentModel

# Neighbours that a local term conditions on; how many labels are few enough to afford more; and all of them,
# which for Gaussian labels is one dense matrix: no slower, and better where f is smooth in many columns.
_NEIGHBORS, _MANY_NEIGHBORS, _FEW_LABELS, _DENSE_LABELS = 30, 60, 2_000, 1_000


def with_local(model: LatentModel, found: Attempt) -> Attempt:
    """The same with a local term by neighbours, where the model has one."""
    if found.composition.local_kind != BY_NEIGHBORS:
        return found
    with blas_for(found.settings.n_eigenpairs):
        return replace(found, learned=_learned(model, found.learned, found.inputs))


def _learned(model: LatentModel, learned: LearnedModel, inputs: Inputs) -> LearnedModel:
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
        together = learn_shared_local(learned.shared, learned.functions, each, own_points, options)
        return learned if together is None else replace(learned, shared=together[0], functions=together[1])
    functions = []
    for function, own, many in zip(learned.functions, rows, enough, strict=True):
        known = function.target.known is not None
        if not many:
            functions.append(function)
        elif known:
            functions.append(keep_local(function, features[own], points[own], options))
        else:
            functions.append(learn_local(function, features[own], points[own], options) or function)
    return replace(learned, functions=functions)


def _count(model: LatentModel, learned: LearnedModel, inputs: Inputs) -> int:
    """Neighbours of each label, k."""
    given, m = model.n_residual_neighbors, len(inputs)
    if not isinstance(given, str):
        return int(given)
    if m <= _DENSE_LABELS and isinstance(learned.functions[0].target.likelihood, Gaussian):
        return m
    return _MANY_NEIGHBORS if m <= _FEW_LABELS else _NEIGHBORS
