"""Euclidean Gaussian processes: scikit-learn's, with the labels of this package's estimators.

They see the labelled rows only: what the unlabelled ones say about the space is not theirs to use.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, WhiteKernel
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from .._linalg import squared_distances
from .._threads import thread_count, threads
from .._typing import Array
from .._words import check_choice
from ..estimators.validation import check_count, check_positive
from ..likelihoods.logistic import logistic_gaussian_integral
from ..rows.blocks import row_blocks
from ..rows.labels import is_missing_label

_BOUNDS = (1e-4, 1e6)
_BLOCK_ROWS = 8_192


@dataclass(kw_only=True, eq=False, repr=False)
class _Euclidean(BaseEstimator):
    """Squared-exponential kernel a² exp(-d²/2l²)."""

    length_scale: float | str | None = None
    amplitude: float | None = None
    n_restarts: int = 0
    random_state: Any = None

    def _check_parameters(self) -> None:
        if isinstance(self.length_scale, str):
            check_choice("length_scale", self.length_scale, tuple(LENGTH_SCALE_RULES))
        else:
            check_positive("length_scale", self.length_scale)
        check_positive("amplitude", self.amplitude)
        check_count("n_restarts", self.n_restarts, minimum=0)

    def _kernel(self, X: Array) -> Kernel:
        """Starting values: the amplitude 1, the length scale that of the labelled points."""
        if self.amplitude is None:
            constant = ConstantKernel(1.0, _BOUNDS)
        else:
            constant = ConstantKernel(float(self.amplitude), "fixed")
        if self.length_scale is None:
            spread = float(np.sqrt(X.var(axis=0).sum())) or 1.0
            return constant * RBF(spread, (1e-3 * spread, 1e3 * spread))
        if isinstance(self.length_scale, str):
            return constant * RBF(LENGTH_SCALE_RULES[self.length_scale](X), "fixed")
        return constant * RBF(float(self.length_scale), "fixed")

    def _learn(self, model: Any, X: Array, y: Any) -> Any:
        with warnings.catch_warnings():
            # A length scale at its bound is an answer here: the labels say nothing about it.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(X, y)

    def _validated(self, X: Any, reset: bool) -> Array:
        return validate_data(self, X, reset=reset, dtype=np.float64)

    def _blocks(self, X: Any, function: Any) -> Any:
        """`function` of X, block by block, so that memory stays at (block, m)."""
        check_is_fitted(self)
        blocks = row_blocks(self._validated(X, reset=False), _BLOCK_ROWS)
        with threads(thread_count(None)):
            parts = blocks.reduce(lambda block: [function(block)])
        if isinstance(parts[0], tuple):
            return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
        return np.concatenate(parts)


def median_length_scale(X: Array) -> float:
    """The rule of thumb 2l² = median |x - x'|² over pairs of points (m, p); 1 where all are the same."""
    sqdist = pdist(X, "sqeuclidean")
    typical = float(np.median(sqdist)) if len(sqdist) else 0.0
    return float(np.sqrt(typical / 2.0)) if typical > 0 else 1.0


def automatic_length_scale(X: Array) -> float:
    """The rule of R's kernlab: 1/2l² is the mean of 1/q over the 0.1 and 0.9 quantiles q of |x - x'|²."""
    sqdist = pdist(X, "sqeuclidean")
    sqdist = sqdist[sqdist > 0]
    if len(sqdist) == 0:
        return 1.0
    return float(np.mean(1.0 / np.quantile(sqdist, [0.1, 0.9])) * 2.0) ** -0.5


LENGTH_SCALE_RULES = {"median": median_length_scale, "automatic": automatic_length_scale}


@dataclass(kw_only=True, eq=False, repr=False)
class EGPRegressor(RegressorMixin, _Euclidean):
    """Gaussian process regression with a squared-exponential kernel of Euclidean distance.

    Parameters
    ----------
    length_scale : float, "median", "automatic", optional
        l. None: learned by evidence. A number keeps it; "median" keeps the rule of thumb
        `2l² = median |x - x'|²`, "automatic" that of R's kernlab, which is shorter.
    amplitude : float, optional
        a², in units of the variance of y. None: learned.
    noise_variance : float, optional
        σ², in units of the variance of y. None: learned. The paper's EGP is
        `EGPRegressor(length_scale="automatic", amplitude=1.0, noise_variance=1.0)`, kernlab's defaults.
    n_restarts : int
        Further starting points of the search.
    random_state : int, RandomState or None
        Seed of the restarts.

    Attributes
    ----------
    model_ : GaussianProcessRegressor
    transduction_ : array of shape (n,)
        Predictions for the fitted rows.
    """

    noise_variance: float | None = None
    n_restarts: int = 2

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the rows whose y (n,) is not NaN."""
        self._check_parameters()
        check_positive("noise_variance", self.noise_variance)
        X = self._validated(X, reset=True)
        y = np.asarray(y, dtype=float)
        if y.shape != (len(X),):
            raise ValueError(
                f"y has shape {y.shape} but X has {len(X)} rows. y needs one target per row of X."
            )
        known = ~np.isnan(y)
        if not known.any():
            raise ValueError("y has no labelled row: every value is NaN. Label at least one row.")
        if self.noise_variance is None:
            noise = WhiteKernel(0.1, (1e-8, 1e2))
        else:
            noise = WhiteKernel(float(self.noise_variance), "fixed")
        model = GaussianProcessRegressor(
            self._kernel(X[known]) + noise,
            normalize_y=True,
            n_restarts_optimizer=self.n_restarts,
            random_state=self.random_state,
        )
        self.model_ = self._learn(model, X[known], y[known])
        self.transduction_ = self.predict(X)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """E[y | x] (n,); with `return_std` also the standard deviation of y, noise included."""
        return self._blocks(X, lambda block: self.model_.predict(block, return_std=return_std))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² over the labelled rows."""
        y = np.asarray(y, dtype=float)
        known = ~np.isnan(y)
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(r2_score(y[known], self.predict(np.asarray(X)[known]), sample_weight=weight))


@dataclass(kw_only=True, eq=False, repr=False)
class EGPClassifier(ClassifierMixin, _Euclidean):
    """Gaussian process classification with a squared-exponential kernel of Euclidean distance.

    Laplace's approximation; more than two classes are modelled one against the rest.

    Parameters
    ----------
    length_scale : float, "median", "automatic", optional
    amplitude : float, optional
        l and a². None: learned by evidence; otherwise as for `EGPRegressor`.
    unlabeled : int or str, default -1
        The label that means "unlabelled".
    n_restarts : int
        Further starting points of the search.
    random_state : int, RandomState or None
        Seed of the restarts.

    Attributes
    ----------
    model_ : GaussianProcessClassifier, or None where all labels are of one class
    classes_ : array of shape (C,)
    transduction_ : array of shape (n,)
        Predictions for the fitted rows.
    """

    unlabeled: Any = -1

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the rows whose y (n,) is a class."""
        self._check_parameters()
        X = self._validated(X, reset=True)
        y = np.asarray(y)
        if y.shape != (len(X),):
            raise ValueError(
                f"y has shape {y.shape} but X has {len(X)} rows. y needs one label per row of X."
            )
        known = ~is_missing_label(y, self.unlabeled)
        if not known.any():
            raise ValueError(f"y has no labelled row: all are {self.unlabeled!r}. Label at least one row.")
        self.classes_ = np.unique(y[known])
        self.model_ = None
        if len(self.classes_) > 1:
            model = GaussianProcessClassifier(
                self._kernel(X[known]), n_restarts_optimizer=self.n_restarts, random_state=self.random_state
            )
            self.model_ = self._learn(model, X[known], y[known])
        self.transduction_ = self.predict(X)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities (n, C)."""
        check_is_fitted(self)
        if self.model_ is None:
            return np.ones((len(self._validated(X, reset=False)), 1))
        return self._blocks(X, self._probabilities)

    def _probabilities(self, X: Array) -> Array:
        """What scikit-learn's `predict_proba` gives, several times as fast: one set of distances for all."""
        assert self.model_ is not None
        inner = self.model_.base_estimator_
        processes = inner.estimators_ if self.model_.n_classes_ > 2 else [inner]
        points = processes[0].X_train_
        sqdist = squared_distances(X, points, float(np.sqrt(points.var(axis=0).sum())))
        columns = np.stack([_probability(process, sqdist) for process in processes], axis=1)
        if len(processes) == 1:
            return np.hstack([1.0 - columns, columns])
        return columns / columns.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Array:
        """The most probable class (n,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy over the labelled rows."""
        y = np.asarray(y)
        known = ~is_missing_label(y, self.unlabeled)
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(accuracy_score(y[known], self.predict(np.asarray(X)[known]), sample_weight=weight))


def _probability(process: Any, sqdist: Array) -> Array:
    """P(class) of scikit-learn's binary process at rows with squared distances (b, m) to its labels."""
    amplitude, length = process.kernel_.k1.constant_value, process.kernel_.k2.length_scale
    K = amplitude * np.exp(sqdist / (-2.0 * length**2))
    mean = K @ (process.y_train_ - process.pi_)
    half = dtrsm(1.0, process.L_, K.T * process.W_sr_[:, None], lower=1)
    variance = np.maximum(amplitude - np.einsum("ij,ij->j", half, half), 0.0)
    return logistic_gaussian_integral(mean, variance)
