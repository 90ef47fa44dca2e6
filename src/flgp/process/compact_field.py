"""The Gaussian posterior of f by its weights alone, for small model files.

At the nodes a posterior has s rows for each of its K columns; among the weights it is a triangle of K².
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import cast

import numpy as np
from scipy import linalg

from .._stored import stored
from .._typing import Array
from ..inference.posterior import WeightPosterior
from ..terms import Constant, Terms
from .component import Component, Field
from .field import WeightField
from .local_field import LocalField
from .process import Process


@stored("posterior of the weights")
@dataclass(frozen=True)
class CompactField:
    """β ~ N(β̄, L Lᵀ), the last weight being the constant's."""

    mean: Array  # (M,) of the features of all terms
    triangle: Array  # (T,) rows of L, one after the other; T = (M + 1)(M + 2) / 2
    constant: float  # E c


def compacted(process: Process) -> Process:
    """The process with all Gaussian posteriors at nodes replaced by those of the weights."""
    inverses = [
        [np.linalg.pinv(term.at_nodes(np.eye(term.n_features))) for term in terms.parts]
        for terms in process.layers
    ]

    # Least squares has one covariance for all classes: files hold an array that is shared only once.
    shared: dict[bytes, Array] = {}

    def short(component: Component) -> Field | CompactField:
        field = component.field
        if isinstance(field, LocalField):  # whose covariance at the nodes follows from its factor
            parts = tuple(replace(part, covariance=None) for part in field.features.parts)
            return replace(field, features=replace(field.features, parts=parts))
        if not isinstance(field, WeightField):
            return field
        own = inverses[component.layer]
        mean = [inverse @ part.mean for inverse, part in zip(own, field.parts, strict=True)]
        factor = [inverse @ part.factor for inverse, part in zip(own, field.parts, strict=True)]
        rows = np.concatenate([*factor, field.constant_factor[None]])
        triangle = _triangle(rows)
        triangle = shared.setdefault(sha256(triangle.tobytes()).digest(), triangle)
        return CompactField(np.concatenate([np.empty(0), *mean]), triangle, field.constant)

    return _with_fields(process, short)


def expanded(process: Process) -> Process:
    """The inverse of `compacted`."""

    def long(component: Component) -> Field | CompactField:
        field = component.field
        if not isinstance(field, CompactField):
            return field
        return _at_nodes(field, process.layers[component.layer], component.variances)

    return _with_fields(process, long)


def _with_fields(process: Process, changed: Callable[[Component], Field | CompactField]) -> Process:
    functions = tuple(
        # A compact field is only in files: nothing asks it for predictions.
        replace(f, components=tuple(replace(p, field=cast(Field, changed(p))) for p in f.components))
        for f in process.functions
    )
    return replace(process, functions=functions)


def _at_nodes(field: CompactField, terms: Terms, variances: Array) -> WeightField:
    size = len(field.mean) + 1
    L = np.zeros((size, size))
    L[np.tril_indices(size)] = field.triangle
    posterior = WeightPosterior(np.append(field.mean, 0.0), L)
    # The constant's weight is what it differs by from its mean, so that its own mean is 0.
    return WeightField.of(terms, posterior, variances, Constant(field.constant, 1.0))


def _triangle(rows: Array) -> Array:
    """Lower triangle L with L Lᵀ = rows rowsᵀ."""
    R: Array = linalg.qr(rows.T, mode="r", check_finite=False)[0][: rows.shape[1]]  # (min(K, N), N)
    L = np.zeros((len(rows), len(rows)))
    L[:, : len(R)] = R.T
    return L[np.tril_indices(len(L))]
