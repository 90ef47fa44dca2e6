"""Which classes a model file may hold. A file names them; only what is listed here is ever made."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import ModuleType
from typing import Any

from .. import feature_map, kernels, likelihoods, spectrum
from ..blocks import Blocks
from ..estimators import FLGPClassifier, FLGPRegressor, HeatKernelFeatures, _component, _labels
from ..graph import NeighborGraph, transition
from ..graph.neighbors import AnchorSearch
from ..inference import (
    _sites,
    chains,
    draws,
    hyper,
    hyper_posterior,
    integration,
    latent,
    learning,
    mapped,
    posterior,
    priors,
    softmax,
)
from ..inference.expectation_propagation import ExpectationPropagation
from ..inference.gaussian import GaussianInference
from ..inference.laplace import LaplaceInference
from ..residual import columns, dissection, euclidean, field, joint, kriging, multifrontal, neighborhoods
from ..residual import inference as residual_inference
from ..residual import laplace as residual_laplace
from ..residual import likelihood as residual_likelihood
from ..tables import schema

ESTIMATORS: tuple[type, ...] = (FLGPRegressor, FLGPClassifier, HeatKernelFeatures)

# Modules whose dataclasses, the frozen results of the stages, are stored field by field.
_MODULES: tuple[ModuleType, ...] = (
    feature_map,
    transition,
    spectrum,
    kernels,
    latent,
    learning,
    hyper,
    posterior,
    priors,
    softmax,
    _sites,
    chains,
    draws,
    hyper_posterior,
    integration,
    mapped,
    _component,
    _labels,
    columns,
    dissection,
    euclidean,
    field,
    joint,
    kriging,
    multifrontal,
    neighborhoods,
    residual_inference,
    residual_laplace,
    residual_likelihood,
    schema,
)

# Plain classes whose attributes are all numbers, arrays and listed objects.
_STATES: tuple[type, ...] = (
    GaussianInference,
    LaplaceInference,
    ExpectationPropagation,
    softmax.SoftmaxLaplace,
)

# Fields that are made again rather than stored.
_REBUILT: dict[type, tuple[str, ...]] = {NeighborGraph: ("search", "blocks")}


@cache
def classes() -> dict[str, type]:
    """Every storable class by the name it has in files."""
    kinds = [*ESTIMATORS, *_STATES, *_dataclasses(likelihoods), likelihoods.Observations]
    for module in _MODULES:
        kinds += [kind for kind in _dataclasses(module) if kind.__module__ == module.__name__]
    return {kind.__name__: kind for kind in kinds}


def _dataclasses(module: ModuleType) -> list[type]:
    return [kind for kind in vars(module).values() if isinstance(kind, type) and is_dataclass(kind)]


def stored_fields(value: Any) -> dict[str, Any]:
    """What is stored of an object of a listed class."""
    if not is_dataclass(value):
        return dict(vars(value))
    skipped = _REBUILT.get(type(value), ())
    return {f.name: getattr(value, f.name) for f in fields(value) if f.name not in skipped}


def rebuild(kind: type, values: dict[str, Any]) -> Any:
    """The object with these fields; those that newer versions added take their defaults.

    No constructor runs, only `__post_init__`, which checks the values.
    """
    made: Any = object.__new__(kind)
    if is_dataclass(kind):
        values = _complete(kind, values)
    elif kind in _STATES:
        blank = {name for name in values if not name.isidentifier() or name.startswith("__")}
        if blank:
            raise ValueError(f"{kind.__name__} has no attribute {blank.pop()!r}")
    for name, value in values.items():
        object.__setattr__(made, name, value)
    if is_dataclass(kind) and hasattr(made, "__post_init__"):
        made.__post_init__()
    return made


def _complete(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    known = {f.name: f for f in fields(kind)}
    if unknown := set(values) - set(known):
        raise ValueError(f"{kind.__name__} has no field {sorted(unknown)[0]!r}")
    if kind is NeighborGraph:
        anchors = values["anchors"]
        search = AnchorSearch(anchors, values.get("set_sizes") or [len(anchors)])
        values = {**values, "search": search, "blocks": Blocks([])}
    for name, entry in known.items():
        if name in values:
            continue
        if entry.default is not MISSING:
            values[name] = entry.default
        elif entry.default_factory is not MISSING:
            values[name] = entry.default_factory()
        else:
            raise ValueError(f"{kind.__name__} lacks its field {name!r}")
    return values
