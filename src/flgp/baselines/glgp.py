"""Graph Laplacian Gaussian processes (Dunson, Wu and Wu): full, on landmarks (GLGP*), and sparse."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, TypeVar

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._words import check_choice
from ..estimators import FLGPClassifier, FLGPRegressor
from ..estimators.validation import check_count
from ..geometry.landmarks import Landmarks
from ..likelihoods import Likelihood

LANDMARK_RULES = ("kmeans", "random")

C = TypeVar("C", bound=type)

_PARAMETERS = """n_landmarks : int, optional
        s, the landmarks on which the graph is made (GLGP*, extended to the rest by Nyström's formula). None:
        all points, n² numbers of memory.
    landmarks : {"kmeans", "random"}
        Where they are: cluster centres, as in the paper's code, or a random choice of points.
    n_neighbors : int, optional
        Join only pairs of which one is among the r nearest of the other: the sparse GLGP. None: all pairs.
    n_eigenpairs : int or "auto"
        M, the eigenpairs kept.
    bandwidth : float, optional
        ε of the weights exp(-d²/4ε²). None: searched by evidence.
    kernel, nu, diffusion_time, amplitude, inference, random_state, n_jobs, verbose
        As for the FLGP estimators."""


def _documented(cls: C) -> C:
    if cls.__doc__ is not None:  # python -OO strips docstrings
        cls.__doc__ = cls.__doc__.replace("{glgp}", _PARAMETERS)
    return cls


@dataclass(kw_only=True, eq=False, repr=False)
class _Landmarks(BaseEstimator):
    """An FLGP estimator on the geometry of landmarks; whatever is not here is that estimator's."""

    n_landmarks: int | None = None
    landmarks: str = "kmeans"
    n_neighbors: int | None = None
    n_eigenpairs: int | str = "auto"
    bandwidth: float | None = None
    kernel: str = "heat"
    nu: float = 1.5
    diffusion_time: float | None = None
    amplitude: float | None = None
    inference: str = "auto"
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    _kind: ClassVar[type]  # of the model inside

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, **known: Any) -> Self:
        """As the `fit` of the model inside."""
        if self.n_landmarks is not None:
            check_count("n_landmarks", self.n_landmarks)
        check_choice("landmarks", self.landmarks, LANDMARK_RULES)
        if self.n_neighbors is not None:
            check_count("n_neighbors", self.n_neighbors, minimum=2)
        self.__dict__.pop("model_", None)  # a fit that fails leaves none behind
        geometry = Landmarks(self.n_landmarks, self.landmarks, self.n_neighbors, self.bandwidth)
        own = {entry.name for entry in fields(Landmarks)}
        options = {name: value for name, value in self.get_params(deep=False).items() if name not in own}
        self.model_ = self._kind(geometry=geometry, residual=None, **options).fit(X, y, X_unlabeled, **known)
        return self

    def __getattr__(self, name: str) -> Any:
        """Learned attributes and methods of the model inside."""
        if name.startswith("__") or "model_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.model_, name)

    def predict(self, X: Any, *args: Any, **options: Any) -> Any:
        """As the `predict` of the model inside."""
        check_is_fitted(self)
        return self.model_.predict(X, *args, **options)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """As the `score` of the model inside: accuracy, or R², over the labelled rows."""
        check_is_fitted(self)
        return self.model_.score(X, y, sample_weight)

    def update(self, *args: Any, **options: Any) -> Self:
        """As the `update` of the model inside."""
        check_is_fitted(self)
        self.model_.update(*args, **options)
        return self


@_documented
@dataclass(kw_only=True, eq=False, repr=False)
class GLGPRegressor(RegressorMixin, _Landmarks):
    """Graph Laplacian Gaussian process regression.

    The same inference, search and prediction as `FLGPRegressor`, on other eigenfeatures. `model_` is the
    `FLGPRegressor` behind it, whose methods and learned attributes this one has too.

    Parameters
    ----------
    {glgp}
    noise_variance, likelihood, mean
        As for `FLGPRegressor`.
    """

    noise_variance: float | None = None
    likelihood: str | Likelihood = "gaussian"
    mean: str = "constant"

    _kind: ClassVar[type] = FLGPRegressor

    score = _Landmarks.score  # rather than that of the mixin


@_documented
@dataclass(kw_only=True, eq=False, repr=False)
class GLGPClassifier(ClassifierMixin, _Landmarks):
    """Graph Laplacian Gaussian process classification.

    The same inference, search and prediction as `FLGPClassifier`, on other eigenfeatures. `model_` is the
    `FLGPClassifier` behind it, whose methods and learned attributes this one has too.

    Parameters
    ----------
    {glgp}
    multi_class, unlabeled
        As for `FLGPClassifier`.
    """

    multi_class: str = "one_vs_rest"
    unlabeled: Any = -1

    _kind: ClassVar[type] = FLGPClassifier

    score = _Landmarks.score  # rather than that of the mixin
