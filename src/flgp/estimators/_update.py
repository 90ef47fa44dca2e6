"""New labels on the graph that a model has: what active learning asks for."""

from __future__ import annotations

import dataclasses
from typing import Any

from ._labels import Labels

# Learned attributes that a new posterior does not always set, or that it leaves out of date.
_DATED = ("transduction_", "chains_", "hyperparameter_posterior_")


def update_labels(model: Any, added: Labels, replace: bool, relearn: bool) -> None:
    """The posterior for more labels, or for other ones; anchors, neighbours and spectrum stay.

    Parameters
    ----------
    model : LatentEstimator, fitted; unchanged if this fails
    added : Labels
    replace : bool
        Forget the labels the model has.
    relearn : bool
        Search the hyperparameters again rather than keep their values.
    """
    if not relearn and model.hyperparameters == "integrate":
        raise ValueError(
            "relearn=False keeps one value of each hyperparameter, but hyperparameters='integrate' averages "
            "over many. Use relearn=True."
        )
    before = dict(vars(model))
    try:
        labels = _replaced(model, added) if replace else _labels_of(model).joined(added)
        tasks = model._tasks(labels, None if relearn else model._kept())
        for name in _DATED:
            vars(model).pop(name, None)
        feature_map = model.feature_map_
        settings = model._settings(
            n_eigenpairs=len(feature_map.eigenvalues),
            bandwidth=model.bandwidth_,
            dimension=getattr(model, "intrinsic_dimension_", model.intrinsic_dimension),
            fit_map=lambda *_: feature_map,
        )
        _, nearest = model._learn(feature_map.graph, labels, tasks, settings)
        model._keep_graph(feature_map, nearest)
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


def _replaced(model: Any, added: Labels) -> Labels:
    old = getattr(model, "_labels_", None)
    return added if old is None else dataclasses.replace(added, local=old.local)


def _labels_of(model: Any) -> Labels:
    labels = getattr(model, "_labels_", None)
    if labels is None:
        raise ValueError(
            "This model does not hold the labels it was fitted on: they were too large to keep, or it was "
            "loaded from a file that left them out. Hand over all labels with replace=True, or fit again."
        )
    return labels
