"""Predictions of numbers: mean, spread, intervals and draws of y."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..feature_map import Rows
from ..inference.draws import DrawsField
from ..inference.quantile import predictive_quantile
from ..likelihoods import Gaussian
from ._component import Component, in_any_order
from ._labels import checked_targets
from ._latent import LatentEstimator
from ._residual import LocalResidual
from ._size import row_sizes
from ._validation import check_positive, check_row_values


class RegressionPredictions(RegressorMixin, LocalResidual, LatentEstimator):
    """What a fitted regressor says about y."""

    _n_outputs_: int  # 0 where y had no second axis

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        return_parts: bool = False,
        *,
        exposure: Any = None,
        trials: Any = None,
    ) -> Any:
        """E[y | x], the integral over the posterior of f.

        Parameters
        ----------
        X : array-like of shape (n, p)
        return_std, return_cov : bool
            Also the standard deviation, or the joint covariance, of y: noise included.
        return_parts : bool
            Also what comes from the manifold (h, the mean included) and what from the neighbourhood (u).
        exposure, trials : array-like of shape (n,), optional
            Of the rows, where the likelihood uses them. Default: 1.

        Returns
        -------
        mean : array of shape (n,) or (n, k)
        std : array of the same shape, if `return_std`
        cov : array of shape (n, n) or (n, n, k), if `return_cov`
        parts : PredictedParts, if `return_parts`
            Posterior means, variances and covariance of h and u, arrays of the shape of `mean`.
        """
        check_is_fitted(self)
        if return_std + return_cov + return_parts > 1:
            raise ValueError("Ask for one of return_std, return_cov and return_parts, not both.")
        X = self._validated(X, reset=False)
        size = self._sizes(X, exposure, trials)
        if return_cov:
            return self._point(self.feature_map_.rows(X)), self._covariances(X)
        if return_parts:
            return self._map_blocks(X, self._point, size), self._predicted_parts(X)
        if not return_std:
            return self._map_blocks(X, self._point, size)

        def mean_and_std(rows: Rows, size: Array | None = None) -> tuple[Array, Array]:
            parts = [self._moments(mixture, rows, size) for mixture in self._mixtures_]
            return self._outputs([p[0] for p in parts]), self._outputs([np.sqrt(p[1]) for p in parts])

        return self._map_blocks(X, mean_and_std, size)

    def _sizes(self, X: Any, exposure: Any, trials: Any) -> Array | None:
        return row_sizes(self._mixtures_[0][0].likelihood, X, exposure, trials)

    def _point(self, rows: Rows, size: Array | None = None) -> Array:
        return self._outputs([self._predictive_mean(mixture, rows, size) for mixture in self._mixtures_])

    def _predictive_mean(self, mixture: list[Component], rows: Rows, size: Array | None) -> Array:
        total = np.zeros(len(rows.closeness))
        for part in mixture:
            total += part.weight * part.predictive_mean(rows, size)
        return total

    def _moments(
        self, mixture: list[Component], rows: Rows, size: Array | None = None
    ) -> tuple[Array, Array]:
        """Mean and variance of y, (b,) each."""
        first, second = np.zeros(len(rows.closeness)), np.zeros(len(rows.closeness))
        for part in mixture:
            mean, variance = part.predictive_moments(rows, size)
            first += part.weight * mean
            second += part.weight * (variance + mean**2)
        return first, np.maximum(second - first**2, 0.0)

    def _covariances(self, X: Array) -> Array:
        rows = self.feature_map_.rows(X)
        result = []
        for mixture in self._mixtures_:
            if not all(isinstance(part.likelihood, Gaussian) for part in mixture):
                raise ValueError(
                    "return_cov needs the Gaussian likelihood. Use sample_y for joint draws of y."
                )
            mean = sum(part.weight * part.field.means(rows) for part in mixture)
            joint = np.zeros((len(X), len(X)))
            for part in mixture:
                assert not isinstance(part.field, DrawsField)  # nobody samples a Gaussian
                gap = part.field.means(rows) - mean
                noise = part.likelihood.noise_variance
                joint += part.weight * (part.field.covariances(rows) + np.outer(gap, gap))
                joint[np.diag_indices_from(joint)] += part.weight * noise
            result.append(joint)
        return result[0] if self._n_outputs_ == 0 else np.stack(result, axis=2)

    def _outputs(self, columns: list[Array]) -> Array:
        return columns[0] if self._n_outputs_ == 0 else np.stack(columns, axis=1)

    def predict_interval(
        self, X: Any, coverage: float = 0.95, *, exposure: Any = None, trials: Any = None
    ) -> Array:
        """Central interval that holds y with the given probability.

        Parameters
        ----------
        X : array-like of shape (n, p)
        coverage : float in (0, 1)
        exposure, trials : array-like of shape (n,), optional
            As in `predict`.

        Returns
        -------
        array of shape (n, 2), or (n, 2, k): lower and upper ends
        """
        check_is_fitted(self)
        check_positive("coverage", coverage, optional=False)
        if coverage >= 1:
            raise ValueError(f"coverage={coverage!r} must be below 1.")
        X = self._validated(X, reset=False)
        levels = (0.5 - coverage / 2, 0.5 + coverage / 2)

        def ends(rows: Rows, size: Array | None = None) -> Array:
            parts = [
                np.stack([self._quantile(mixture, rows, level, size) for level in levels], axis=1)
                for mixture in self._mixtures_
            ]
            return parts[0] if self._n_outputs_ == 0 else np.stack(parts, axis=2)

        return self._map_blocks(X, ends, self._sizes(X, exposure, trials))

    def _quantile(
        self, mixture: list[Component], rows: Rows, level: float, size: Array | None = None
    ) -> Array:
        if len(mixture) == 1 and isinstance(mixture[0].likelihood, Gaussian):
            mean, variance = self._moments(mixture, rows)
            return mean + ndtri(level) * np.sqrt(variance)
        latent = [part.latent_nodes(rows) for part in mixture]
        parts = [(part.weight, part.given(size)) for part in mixture]
        return predictive_quantile(parts, latent, level)

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: Any = 0,
        prior: bool = False,
        *,
        exposure: Any = None,
        trials: Any = None,
    ) -> Array:
        """Joint draws of y at any points.

        Parameters
        ----------
        X : array-like of shape (n, p)
        n_samples : int
        random_state : int, RandomState or None
        prior : bool
            From the prior at the learned hyperparameters instead of the posterior.
        exposure, trials : array-like of shape (n,), optional
            As in `predict`.

        Returns
        -------
        array of shape (n, n_samples), or (n, k, n_samples)
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        rows, size = self.feature_map_.rows(X), self._sizes(X, exposure, trials)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        size = None if size is None else size[:, None]
        draws = []
        for mixture in self._mixtures_:
            # Each component has its own noise, or whatever parameters the likelihood has.
            parts = self._draws(mixture, rows, n_samples, rng, prior)
            draws.append(in_any_order([part.given(size).sample(f, rng) for part, f in parts], rng))
        return draws[0] if self._n_outputs_ == 0 else np.stack(draws, axis=1)

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, exposure: Any = None, trials: Any = None
    ) -> float:
        """R² over the labelled rows; exposure and trials as in `predict`."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        targets, _ = checked_targets(y, len(X))
        known = ~np.isnan(targets).any(axis=1)
        if not known.any():
            raise ValueError("y has no labelled row to score.")
        weight = check_row_values("sample_weight", sample_weight, len(X))
        given = {"exposure": exposure, "trials": trials}
        values = {name: check_row_values(name, column, len(X)) for name, column in given.items()}
        own = {name: None if column is None else column[known] for name, column in values.items()}
        prediction = self._map_blocks(X[known], self._point, self._sizes(X[known], **own))
        weight = None if weight is None else weight[known]
        return float(r2_score(targets[known], prediction, sample_weight=weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
