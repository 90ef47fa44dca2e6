"""Which classes a model file may hold. A file names them; only what is listed here is ever made."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

from ..blocks import Blocks
from ..estimators import FLGPClassifier, FLGPRegressor, HeatKernelFeatures
from ..estimators._latent import Component
from ..feature_map import FeatureMap
from ..graph import NeighborGraph, Transition
from ..graph.neighbors import NeighborSearch
from ..inference import priors
from ..inference.expectation_propagation import ExpectationPropagation
from ..inference.gaussian import GaussianInference
from ..inference.hyper import Evidence, Fit, HyperSpace
from ..inference.laplace import LaplaceInference
from ..inference.latent import LatentField, SoftmaxField
from ..inference.learning import Head, Task
from ..inference.posterior import Evaluation, WeightPosterior
from ..inference.softmax import SoftmaxLaplace, SoftmaxPosterior
from ..kernels import SpectralKernel
from ..likelihoods import (
    Bernoulli,
    Binomial,
    Categorical,
    Exponential,
    Gamma,
    Gaussian,
    NegativeBinomial,
    Observations,
    Poisson,
    StudentT,
)
from ..spectrum import Spectrum
from ..tables.schema import Column, Schema

ESTIMATORS: tuple[type, ...] = (FLGPRegressor, FLGPClassifier, HeatKernelFeatures)

# Frozen results of the stages, stored field by field.
_DATACLASSES: tuple[type, ...] = (
    FeatureMap,
    NeighborGraph,
    Transition,
    Spectrum,
    SpectralKernel,
    Component,
    LatentField,
    SoftmaxField,
    Head,
    Task,
    Observations,
    Evidence,
    Fit,
    HyperSpace,
    Evaluation,
    WeightPosterior,
    SoftmaxPosterior,
    priors.Flat,
    priors.LogNormal,
    priors.HalfNormal,
    priors.InverseGamma,
    priors.GraphTime,
    Bernoulli,
    Binomial,
    Categorical,
    Exponential,
    Gamma,
    Gaussian,
    NegativeBinomial,
    Poisson,
    StudentT,
    Column,
    Schema,
)

# Plain classes whose attributes are all numbers, arrays and listed objects.
_STATES: tuple[type, ...] = (
    GaussianInference,
    LaplaceInference,
    ExpectationPropagation,
    SoftmaxLaplace,
)

# Fields that are made again rather than stored.
_REBUILT: dict[type, tuple[str, ...]] = {NeighborGraph: ("search", "blocks")}


@cache
def classes() -> dict[str, type]:
    """Every storable class by the name it has in files."""
    return {kind.__name__: kind for kind in (*ESTIMATORS, *_DATACLASSES, *_STATES)}


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
        values = {**values, "search": NeighborSearch(values["anchors"]), "blocks": Blocks([])}
    for name, field in known.items():
        if name in values:
            continue
        if field.default is not MISSING:
            values[name] = field.default
        elif field.default_factory is not MISSING:
            values[name] = field.default_factory()
        else:
            raise ValueError(f"{kind.__name__} lacks its field {name!r}")
    return values
