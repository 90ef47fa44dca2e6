"""Predictions of classes: probabilities, labels and draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..feature_map import Rows
from ._latent import LatentEstimator
from ._residual import LocalResidual


class ClassPredictions(ClassifierMixin, LocalResidual, LatentEstimator):
    """What a fitted classifier says about the class."""

    classes_: Array
    _joint_: Any  # the field of coupled classes, or None

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, integrated over the posterior; rows sum to 1.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        array of shape (n, C)
        """
        check_is_fitted(self)
        return self._map_blocks(self._validated(X, reset=False), self._probabilities)

    def _probabilities(self, rows: Rows) -> Array:
        count = len(self.classes_)
        if count == 1:
            return np.ones((len(rows.closeness), 1))
        if self._joint_ is not None:
            return self._joint_.probabilities(rows)
        columns = []
        for mixture in self._mixtures_:
            column = np.zeros(len(rows.closeness))
            for part in mixture:
                column += part.weight * part.predictive_mean(rows)
            columns.append(column)
        if count == 2:
            return np.stack([1.0 - columns[0], columns[0]], axis=1)
        return exactly_one(np.stack(columns, axis=1))

    def predict(self, X: Any) -> Array:
        """The most probable class.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        return self._map_blocks(self._validated(X, reset=False), self._point)

    def _point(self, rows: Rows) -> Array:
        if len(self.classes_) <= 2 and len(self._mixtures_[0]) == 1:
            # The link is symmetric: p > 1/2 where the latent mean is positive, and no variance is needed.
            positive = self._mixtures_[0][0].field.means(rows) > 0
            return self.classes_[positive.astype(int) * (len(self.classes_) - 1)]
        return self.classes_[self._probabilities(rows).argmax(axis=1)]

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0, prior: bool = False) -> Array:
        """Joint draws of the class labels at any points, shape (n, n_samples).

        Parameters
        ----------
        X : array-like of shape (n, p)
        n_samples : int
        random_state : int, RandomState or None
        prior : bool
            From the prior at the learned hyperparameters instead of the posterior.
        """
        check_is_fitted(self)
        f = self.sample_f(X, n_samples, random_state, prior)
        if self._joint_ is not None:
            return self._sample_coupled(f, random_state)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31) + 1)
        uniform = rng.random((f.shape[0], n_samples))
        if len(self.classes_) == 1:
            return np.full(uniform.shape, self.classes_[0])
        likelihood = self._mixtures_[0][0].likelihood
        p = likelihood.conditional_mean(f)
        if p.ndim == 2:
            return self.classes_[(uniform < p).astype(int)]
        p = exactly_one(p)
        return self.classes_[(uniform[:, None, :] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)]

    def _sample_coupled(self, f: Array, random_state: Any) -> Array:
        """Classes for joint draws f (n, C, n_samples): the largest of f plus Gumbel noise."""
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31) + 1)
        return self.classes_[np.argmax(f + rng.gumbel(size=f.shape), axis=1)]


def exactly_one(p: Array) -> Array:
    """Class probabilities from independent "is it class c?" probabilities p (b, C).

    Exactly one of the C answers is yes: P(c) ∝ p_c Π_{k≠c} (1 - p_k) ∝ p_c / (1 - p_c). Conditioning on that
    is what the independent model implies, and is better calibrated than dividing p by its sum.
    """
    tiny = np.finfo(float).tiny
    log_odds = np.log(np.maximum(p, tiny)) - np.log(np.maximum(1.0 - p, np.finfo(float).epsneg))
    return softmax(log_odds, axis=1)
