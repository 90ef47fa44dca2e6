"""What may be asked about the latent functions of a fitted estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._threads import blas_for
from .._typing import Array
from ..feature_map import Rows
from ..inference.learning import Head
from ..inference.quantile import mixture_quantile
from ._base import HeatKernelEstimator
from ._component import Component, in_any_order


class FunctionQueries(HeatKernelEstimator):
    """Posterior moments, intervals and draws of f, and its evidence."""

    _heads_: list[Head]
    _mixtures_: list[list[Component]]

    def _latent(self, mixture: list[Component], rows: Rows) -> tuple[Array, Array]:
        """Mean and variance (b,) of f under a mixture."""
        moments = [part.latent_moments(rows) for part in mixture]
        if len(mixture) == 1:
            return moments[0]
        means, variances = (np.stack(values) for values in zip(*moments, strict=True))
        weights = np.array([part.weight for part in mixture])
        mean = weights @ means
        return mean, weights @ (variances + (means - mean) ** 2)

    def latent_mean_and_variance(self, X: Any) -> tuple[Array, Array]:
        """Posterior mean and variance of the latent function(s) f.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        mean, variance : arrays of shape (n,), or (n, k) for k latent functions
        """
        check_is_fitted(self)

        def both(rows: Rows) -> tuple[Array, Array]:
            parts = [self._latent(mixture, rows) for mixture in self._mixtures_]
            return self._columns([mean for mean, _ in parts]), self._columns([var for _, var in parts])

        return self._map_blocks(self._validated(X, reset=False), both)

    def latent_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Central interval that holds the latent function f with the given posterior probability.

        Parameters
        ----------
        X : array-like of shape (n, p)
        coverage : float in (0, 1)

        Returns
        -------
        array of shape (n, 2), or (n, 2, k) for k latent functions: lower and upper ends
        """
        check_is_fitted(self)
        if not 0 < coverage < 1:
            raise ValueError(f"coverage={coverage!r} must be between 0 and 1.")
        levels = (0.5 - coverage / 2, 0.5 + coverage / 2)

        def ends(rows: Rows) -> Array:
            parts = []
            for mixture in self._mixtures_:
                nodes = [(part.weight, *part.latent_spread(rows)) for part in mixture]
                parts.append(np.stack([mixture_quantile(nodes, level) for level in levels], axis=1))
            return parts[0] if len(parts) == 1 else np.stack(parts, axis=2)

        return self._map_blocks(self._validated(X, reset=False), ends)

    def sample_f(self, X: Any, n_samples: int = 1, random_state: Any = 0, prior: bool = False) -> Array:
        """Joint draws of the latent function(s) at any points, O(M) each.

        Parameters
        ----------
        X : array-like of shape (n, p)
        n_samples : int
        random_state : int, RandomState or None
        prior : bool
            Draws of the prior, at the learned hyperparameters, instead of the posterior.

        Returns
        -------
        array of shape (n, n_samples), or (n, k, n_samples) for k latent functions
        """
        check_is_fitted(self)
        rows = self.feature_map_.rows(self._validated(X, reset=False))
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        draws = [self._draws(mixture, rows, n_samples, rng, prior) for mixture in self._mixtures_]
        return self._columns([in_any_order([f for _, f in parts], rng) for parts in draws])

    def _draws(
        self, mixture: list[Component], rows: Rows, n_samples: int, rng: np.random.Generator, prior: bool
    ) -> list[tuple[Component, Array]]:
        """Draws of one latent function, n_samples in all: each component with its own, (b, its share)."""
        weights = np.array([part.weight for part in mixture])
        counts = rng.multinomial(n_samples, weights / weights.sum())
        parts = []
        for part, count in zip(mixture, counts, strict=True):
            field: Any = part.field
            if prior:
                field = field.prior(self.feature_map_.spectrum.lift, part.prior_weights)
            parts.append((part, field.draws(rows, int(count), rng)))
        return parts

    @staticmethod
    def _columns(values: Sequence[Array]) -> Array:
        """One array as it is; several side by side along a second axis."""
        return values[0] if len(values) == 1 else np.stack(values, axis=1)

    def _prior_weights(self) -> Array:
        kernels = [part.weight * part.prior_weights for mixture in self._mixtures_ for part in mixture]
        return np.sum(kernels, axis=0) / len(self._mixtures_)

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """Log p(y | theta), summed over the latent functions.

        Parameters
        ----------
        theta : array of shape (k,), or (heads·k,), optional
            Logarithms of the learned hyperparameters, in the order of `optimizer_result_.names`, the
            same for all latent functions or one after the other. Default: the learned values.
        eval_gradient : bool
            Also return the gradient in theta.

        Returns
        -------
        value : float
        gradient : array of theta's shape, if `eval_gradient`
        """
        check_is_fitted(self)
        heads: list[Head] = self._heads_
        size = len(heads[0].fit.theta)
        if theta is None:
            thetas = [head.fit.theta for head in heads]
            shared = False
        else:
            theta = np.asarray(theta, dtype=float).ravel()
            if len(theta) not in (size, size * len(heads)):
                names = ", ".join(heads[0].evidence.space.free)
                raise ValueError(f"theta has {len(theta)} entries. Give the logarithms of: {names}.")
            shared = len(theta) == size
            thetas = [theta] * len(heads) if shared else np.split(theta, len(heads))
        with blas_for(len(heads[0].evidence.eigenvalues), self._n_threads):
            results = [head.evidence.evaluate(part) for head, part in zip(heads, thetas, strict=True)]
        value = float(sum(evaluation.log_evidence for evaluation, _ in results))
        if not eval_gradient:
            return value
        gradients = [gradient for _, gradient in results]
        return value, np.sum(gradients, axis=0) if shared else np.concatenate(gradients)
