"""The methods of the paper's tables: estimators and settings.

Each method has two models. "paper": amplitude 1, zero mean, Laplace's approximation and one against the rest,
as published. "ours": the defaults of the library for these, on the same graph. The method "defaults" uses the
default graph too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ... import FLGPClassifier, FLGPRegressor
from ...baselines import EGPClassifier, EGPRegressor, GLGPClassifier, GLGPRegressor
from .tables import DEFAULTS, PAPER

LABELS = {
    "egp": "EGP",
    "glgp": "GLGP",
    "glgp-star": "GLGP*",
    "sparse-glgp": "sparse GLGP",
    "flgp-x": "FLGP-X",
    "sr": "SRFLGP",
    "sk": "SKFLGP",
    "lr": "LRFLGP",
    "lk": "LKFLGP",
    DEFAULTS: "FLGP, all defaults",
}
_GRAPHS = {"sr": ("se", "random"), "sk": ("se", "kmeans"), "lr": ("lae", "random"), "lk": ("lae", "kmeans")}
# The published code calls kernlab's gausspr with its defaults: nothing is learned.
_PAPER_EGP: dict[str, Any] = {"length_scale": "automatic", "amplitude": 1.0}


@dataclass(frozen=True)
class Setting:
    """The numbers of an experiment (paper's symbols)."""

    s: int
    r: int
    M: int
    r_all: int = 20  # FLGP-X
    r_sparse: int = 30  # sparse GLGP
    seed: int = 0
    threads: int = 1
    anchors: str = "kmeans"  # the rule used where the paper says k-means


def classifier(method: str, model: str, setting: Setting) -> Any:
    """The classifier of a row."""
    if method == "egp":
        return EGPClassifier(**(_PAPER_EGP if model == PAPER else {}), random_state=setting.seed)
    own: dict[str, Any] = {}
    if model == PAPER:
        own = {"amplitude": 1.0, "inference": "laplace", "multi_class": "one_vs_rest", "mean": "zero"}
    if "glgp" in method:
        own.pop("mean", None)  # it has no constant
        return GLGPClassifier(**_glgp(method, setting), **own)
    return FLGPClassifier(**_flgp(method, setting), **own)


def regressor(method: str, model: str, setting: Setting) -> Any:
    """The regressor of a row."""
    if method == "egp":
        fixed = {**_PAPER_EGP, "noise_variance": 1.0} if model == PAPER else {}
        return EGPRegressor(**fixed, random_state=setting.seed)
    own: dict[str, Any] = {"amplitude": 1.0, "mean": "zero"} if model == PAPER else {}
    if "glgp" in method:
        return GLGPRegressor(**_glgp(method, setting), **own)
    if model == PAPER:
        own["residual"] = None
    return FLGPRegressor(**_flgp(method, setting), **own)


def _flgp(method: str, setting: Setting) -> dict[str, Any]:
    shared: dict[str, Any] = {"random_state": setting.seed, "n_jobs": setting.threads}
    if method == DEFAULTS:
        return shared
    if method == "flgp-x":
        graph = {"base_kernel": "se", "anchors": "all", "n_neighbors": setting.r_all}
    else:
        base_kernel, rule = _GRAPHS[method]
        anchors = setting.anchors if rule == "kmeans" else rule
        graph = {
            "base_kernel": base_kernel,
            "anchors": anchors,
            "n_anchors": setting.s,
            "n_neighbors": setting.r,
        }
    return {**shared, **graph, "n_eigenpairs": setting.M, "scaling": None}


def _glgp(method: str, setting: Setting) -> dict[str, Any]:
    graph: dict[str, Any] = {
        "glgp": {},
        "glgp-star": {"n_landmarks": setting.s},
        "sparse-glgp": {"n_neighbors": setting.r_sparse},
    }[method]
    return {**graph, "n_eigenpairs": setting.M, "random_state": setting.seed, "n_jobs": setting.threads}
