"""The eigenfeatures as a transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._progress import stage
from .._typing import Array
from ..feature_map import Rows, fit_feature_map
from ._base import HeatKernelEstimator
from ._docs import documented


@documented
class HeatKernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, HeatKernelEstimator):
    """Scaled eigenfeatures D^(1/2) φ(x), to put before any linear model.

    Inner products of the features are the prior kernel. Without labels nothing can be learned about
    scale, so `bandwidth`, `diffusion_time` and `amplitude` left at None follow rules of thumb:
    4ε² is the mean squared distance between points and their anchors; t makes the eigenfunction in the
    middle of the kept ones count e⁻² of the first; a² is 1.

    Parameters
    ----------
    {shared}

    Attributes
    ----------
    anchors_ : array of shape (s, p)
    eigenvalues_ : array of shape (M,)
    bandwidth_ : float or None
    diffusion_time_, amplitude_ : float
    n_graph_components_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from flgp import HeatKernelFeatures
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(HeatKernelFeatures(random_state=0), RidgeClassifier())
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        n_anchors: int | str = "auto",
        n_neighbors: int = 3,
        n_eigenpairs: int | str = "auto",
        anchors: str | Array = "kmeans",
        anchor_weights: str = "auto",
        n_anchor_sets: int | str = "auto",
        base_kernel: str = "lae",
        bandwidth: float | None = None,
        kernel: str = "heat",
        nu: float = 1.5,
        diffusion_time: float | None = None,
        amplitude: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_anchors=n_anchors,
            n_neighbors=n_neighbors,
            n_eigenpairs=n_eigenpairs,
            anchors=anchors,
            anchor_weights=anchor_weights,
            n_anchor_sets=n_anchor_sets,
            base_kernel=base_kernel,
            bandwidth=bandwidth,
            kernel=kernel,
            nu=nu,
            diffusion_time=diffusion_time,
            amplitude=amplitude,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the graph and its eigenpairs.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : ignored

        Returns
        -------
        self
        """
        with self._unfitted_if_it_fails():
            self._check_parameters()
            graph = self._build_graph(self._validated(X, reset=True))
            epsilon = None
            if not graph.local:
                epsilon = self.bandwidth or float(np.sqrt(graph.mean_sqdist)) / 2
            with stage("spectrum", self.verbose):
                count = self._n_eigenpairs(graph, 0)
                feature_map = fit_feature_map(graph, count, epsilon, n_threads=self._n_threads)
            self.amplitude_ = 1.0 if self.amplitude is None else float(self.amplitude)
            self.diffusion_time_ = (
                _time_of_thumb(feature_map.eigenvalues)
                if self.diffusion_time is None
                else float(self.diffusion_time)
            )
            self._n_features_out = len(feature_map.eigenvalues)
            self._keep_graph(feature_map, None)
        return self

    def transform(self, X: Any) -> Array:
        """D^(1/2) φ(x); rows far from the fitted points fall to zero.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        array of shape (n, M)
        """
        check_is_fitted(self)
        root = np.sqrt(self._prior_weights())

        def scaled(rows: Rows) -> Array:
            return rows.closeness[:, None] * self.feature_map_.features(rows) * root

        return self._map_blocks(self._validated(X, reset=False), scaled)

    def _prior_weights(self) -> Array:
        log_d = self._spectral_kernel().log_density(self.eigenvalues_, self.diffusion_time_)
        return self.amplitude_ * np.exp(log_d)


def _time_of_thumb(eigenvalues: Array) -> float:
    middle = float(eigenvalues[len(eigenvalues) // 2])
    return 2.0 / middle if middle > 1e-12 else 1.0
