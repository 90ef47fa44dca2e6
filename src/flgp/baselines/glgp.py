"""Graph Laplacian Gaussian processes (Dunson, Wu and Wu): full, on landmarks (GLGP*), and sparse."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from .._progress import stage
from .._typing import RowLike
from ..estimators import FLGPClassifier, FLGPRegressor
from ..estimators._base import HeatKernelEstimator
from ..estimators._validation import check_choice, check_count
from ..graph import choose_anchors
from ..inference.learning import BANDWIDTH_GRID
from ..likelihoods import Likelihood
from ..sources import is_streamed
from .landmarks import LandmarkGraph, join_to_landmarks
from .nystrom import fit_landmark_map

# The paper's grid where all pairs are joined, in units of their mean squared distance. Where only near pairs
# are, that unit is small, as it is for FLGP, and the grid is FLGP's.
ALL_PAIRS_BANDWIDTHS = np.geomspace(0.001, 1.0, 20)

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


class _Landmarks(HeatKernelEstimator):
    """The part of an estimator that differs from FLGP's: where the eigenfeatures come from."""

    n_landmarks: int | None
    landmarks: str

    def _check_graph_parameters(self) -> None:
        if self.n_landmarks is not None:
            check_count("n_landmarks", self.n_landmarks)
        check_choice("landmarks", self.landmarks, LANDMARK_RULES)
        if self.n_neighbors is not None:
            check_count("n_neighbors", self.n_neighbors, minimum=2)

    def _build_graph(self, rows: RowLike) -> LandmarkGraph:
        n = rows.shape[0]
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        count = n if self.n_landmarks is None else int(self.n_landmarks)
        with stage(f"graph of {min(count, n):,} landmarks", self.verbose):
            landmarks = choose_anchors(rows, count, self.landmarks, rng, self._n_threads)
            return join_to_landmarks(rows, landmarks, self.n_neighbors, self._n_threads)

    def _keeps_neighbors(self, rows: RowLike) -> bool:
        # Pairs with landmarks are made again in every pass; only rows of a file are not at hand.
        return not is_streamed(rows)

    def _eigenfeatures(self) -> dict[str, Any]:
        grid = ALL_PAIRS_BANDWIDTHS if self.n_neighbors is None else BANDWIDTH_GRID
        return {"fit_map": fit_landmark_map, "bandwidths": grid}


@_documented
class GLGPRegressor(_Landmarks, FLGPRegressor):
    """Graph Laplacian Gaussian process regression.

    The same inference, search and prediction as `FLGPRegressor`, on other eigenfeatures.

    Parameters
    ----------
    {glgp}
    noise_variance, likelihood, mean
        As for `FLGPRegressor`.
    """

    def __init__(
        self,
        *,
        n_landmarks: int | None = None,
        landmarks: str = "kmeans",
        n_neighbors: int | None = None,
        n_eigenpairs: int | str = "auto",
        bandwidth: float | None = None,
        kernel: str = "heat",
        nu: float = 1.5,
        diffusion_time: float | None = None,
        amplitude: float | None = None,
        noise_variance: float | None = None,
        likelihood: str | Likelihood = "gaussian",
        inference: str = "auto",
        mean: str = "constant",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_eigenpairs=n_eigenpairs,
            base_kernel="se",
            bandwidth=bandwidth,
            kernel=kernel,
            nu=nu,
            diffusion_time=diffusion_time,
            amplitude=amplitude,
            noise_variance=noise_variance,
            likelihood=likelihood,
            inference=inference,
            mean=mean,
            residual=None,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        # None, all pairs, is a choice that the base class does not have.
        self.n_neighbors = n_neighbors  # type: ignore[assignment]


@_documented
class GLGPClassifier(_Landmarks, FLGPClassifier):
    """Graph Laplacian Gaussian process classification.

    The same inference, search and prediction as `FLGPClassifier`, on other eigenfeatures.

    Parameters
    ----------
    {glgp}
    multi_class, unlabeled
        As for `FLGPClassifier`.
    """

    def __init__(
        self,
        *,
        n_landmarks: int | None = None,
        landmarks: str = "kmeans",
        n_neighbors: int | None = None,
        n_eigenpairs: int | str = "auto",
        bandwidth: float | None = None,
        kernel: str = "heat",
        nu: float = 1.5,
        diffusion_time: float | None = None,
        amplitude: float | None = None,
        multi_class: str = "one_vs_rest",
        unlabeled: Any = -1,
        inference: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_eigenpairs=n_eigenpairs,
            base_kernel="se",
            bandwidth=bandwidth,
            kernel=kernel,
            nu=nu,
            diffusion_time=diffusion_time,
            amplitude=amplitude,
            multi_class=multi_class,
            unlabeled=unlabeled,
            inference=inference,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        # None, all pairs, is a choice that the base class does not have.
        self.n_neighbors = n_neighbors  # type: ignore[assignment]
