"""The eigenfeatures as a transformer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .._progress import stage
from .._typing import Array
from ..kernels import get_kernel
from ..likelihoods import Gaussian
from ..process.component import Component
from ..process.field import WeightField
from ..process.mixture import LatentFunction
from ..process.process import Process
from ..rows.blocks import map_rows
from ..terms import AMPLITUDE, TIME, Manifold, Terms
from ._docs import documented
from ._model import HeatKernelModel
from .column_scaling import on_one_scale
from .locator import Locator


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class HeatKernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, HeatKernelModel, BaseEstimator):
    """Scaled eigenfeatures D^(1/2) φ(x), to put before any linear model.

    Inner products of the features are the prior kernel. Without labels nothing can be learned about
    scale, so `bandwidth`, `diffusion_time` and `amplitude` left at None follow rules of thumb:
    4ε² is the mean squared distance between points and their anchors; t makes the eigenfunction in the
    middle of the kept ones count e⁻² of the first; a² is 1. `scaling="auto"` means None.

    Parameters
    ----------
    {shared}

    Attributes
    ----------
    {geometry_attributes}
    diffusion_time_, amplitude_ : float

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
        with self._fitting():
            self._check_parameters()
            rows = self._validated(X, reset=True)
            self._roles_ = self._roles(False)
            if self.scaling == "even":
                self._roles_ = on_one_scale(self._roles_, rows)
            geometry = self._fit_geometry(rows)
            with stage("spectrum"):
                basis = geometry.basis(self._count_eigenpairs(geometry, 0), geometry.typical_bandwidth)
            self.amplitude_ = 1.0 if self.amplitude is None else float(self.amplitude)
            given = self.diffusion_time
            self.diffusion_time_ = _time_of_thumb(basis.eigenvalues) if given is None else float(given)
            manifold = Manifold(basis, get_kernel(self.kernel, self.nu))
            d = manifold.variances({TIME: self.diffusion_time_, AMPLITUDE: self.amplitude_})
            terms = Terms((manifold,))
            prior = Component(1.0, 0, WeightField.prior(terms, d, 0.0), Gaussian(), d)
            self._process_ = Process((terms,), (LatentFunction((prior,)),))
            self._n_features_out = len(basis.eigenvalues)
            self._keep_geometry(geometry, basis, None)
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
        X = self._asked(X)
        root = np.sqrt(self._process_.functions[0].components[0].variances)
        locator, basis = Locator.of(self), self.basis_

        def scaled(block: Array) -> Array:
            places = locator(block).places
            return places.closeness[:, None] * basis.features(places) * root

        with self._working():
            return map_rows(X, scaled)


def _time_of_thumb(eigenvalues: Array) -> float:
    middle = float(eigenvalues[len(eigenvalues) // 2])
    return 2.0 / middle if middle > 1e-12 else 1.0
