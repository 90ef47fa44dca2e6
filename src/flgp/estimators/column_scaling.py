"""Whether the columns of a point cloud are used as given or on one scale: by the evidence of some labels."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._progress import stage
from .._typing import Array, IntArray, RowLike
from ..kernels import Heat
from ..rows.even import EvenColumns
from ..rows.sample import Sample, random_order, random_rows
from .columns import ColumnRoles
from .labels import Labels
from .validation import is_auto

if TYPE_CHECKING:
    from ._latent import LatentModel

SCALINGS = ("auto", "even")
# Rows, and labels, that tell the two apart.
_ROWS, _LABELS = 1_000, 100
# Where labels are too few to tell: a column with more than this share of all variance hides the others.
_HIDING = 0.99

LogEvidence = Callable[["LatentModel", Array, Labels], float]


def with_scaling(
    model: LatentModel, sample: Sample, labels: Labels, enough: bool, log_evidence: LogEvidence
) -> ColumnRoles:
    """The roles of the columns, with what those of the geometry go through.

    `enough`: whether there are labels enough to compare models, by the `log_evidence` of a sample.
    """
    rows = sample.X
    if model.scaling == "even":
        return on_one_scale(model._roles_, rows)
    if model.scaling is None or not _is_free(model):
        return model._roles_
    with stage("scale of the columns"):
        few, some = sample.first(_ROWS), labels.take(_representative(labels))
        even = on_one_scale(model._roles_, few)
        if even.even is None or not even.even.changes_distances:
            return model._roles_
        if not enough:
            hidden = _one_column_is_all(model._roles_.geometry_of(few))
            return on_one_scale(model._roles_, rows) if hidden else model._roles_
        points = few if len(few) == rows.shape[0] else np.concatenate([some.points, few])
        given, changed = (log_evidence(_trial(model, roles), points, some) for roles in (model._roles_, even))
    return on_one_scale(model._roles_, rows) if changed > given else model._roles_


def on_one_scale(roles: ColumnRoles, rows: RowLike) -> ColumnRoles:
    """The geometry's columns on one scale, heavy tails drawn in."""
    own = roles.geometry_of(rows)
    return replace(roles, even=EvenColumns.of(own, random_rows(own, _ROWS, np.random.default_rng(0))))


def _one_column_is_all(X: Array) -> bool:
    """Whether a graph of these rows (k, q) would see only one of at least three columns."""
    variance = X.var(axis=0, dtype=np.float64)
    return int((variance > 0).sum()) > 2 and float(variance.max()) > _HIDING * float(variance.sum())


def _is_free(model: LatentModel) -> bool:
    """Whether all is learned, and nothing was given in the units of the columns."""
    learned = model.hyperparameters != "fixed" and model.amplitude is None and model.diffusion_time is None
    own_terms = model.linear is None or is_auto(model.linear)
    units = model.bandwidth is None and isinstance(model.anchors, str) and model.residual_columns is None
    return model.geometry is None and learned and own_terms and units


def _representative(labels: Labels) -> IntArray:
    """Some of the labels, at least one of each class or of each output."""
    order = random_order(labels.points, len(labels), np.random.default_rng(0))
    y = labels.y[order]
    if y.ndim == 1:
        first = np.unique(y, return_index=True)[1]
    else:
        first = np.argmin(np.isnan(y), axis=0)
    return np.unique(np.concatenate([order[:_LABELS], order[first]]))


def _trial(model: LatentModel, roles: ColumnRoles) -> LatentModel:
    """The model with these roles, and the ordinary kernel."""
    trial = copy.copy(model)
    trial._roles_, trial.n_eigenpairs = roles, "auto"
    if is_auto(trial.kernel):
        trial.kernel = Heat()
    return trial
