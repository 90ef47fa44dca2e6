"""One latent function, fitted: a mixture of posteriors, and the one place that averages over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from .._stored import stored
from .._typing import Array, IntArray
from ..likelihoods import Gaussian, Likelihood
from ..terms import Terms
from ..terms.base import View
from .component import FARTHEST, Component
from .quantile import mixture_quantile, predictive_quantiles


@stored("latent function")
@dataclass(frozen=True)
class LatentFunction:
    """The posterior of one latent function: components whose weights sum to 1.

    Its methods take the views of all layers; `size` (b,) are the exposures or trials of the rows.
    """

    components: tuple[Component, ...]

    @property
    def weights(self) -> Array:
        """Of the components."""
        return np.array([part.weight for part in self.components])

    @property
    def likelihood(self) -> Likelihood:
        """Of the first component: all are of one kind."""
        return self.components[0].given(None)

    def _seen(self, views: Sequence[View]) -> list[tuple[Component, View]]:
        """Every component, with the view of its layer."""
        return [(part, views[part.layer]) for part in self.components]

    def _mean_of(self, function: Callable[[Component, View], Array], views: Sequence[View]) -> Array:
        (first, view), *others = self._seen(views)
        total = first.weight * function(first, view)
        for part, at in others:
            total = total + part.weight * function(part, at)
        return total

    def latent_moments(self, views: Sequence[View]) -> tuple[Array, Array]:
        """E f and Var f, (b,) each."""
        return _mixed_moments(self.weights, [part.latent_moments(at) for part, at in self._seen(views)])

    def latent_quantiles(self, views: Sequence[View], levels: Sequence[float]) -> Array:
        """Quantiles of f, (b, len(levels))."""
        nodes = [(part.weight, *part.latent_spread(at)) for part, at in self._seen(views)]
        return np.stack([mixture_quantile(nodes, level) for level in levels], axis=1)

    def predictive_mean(self, views: Sequence[View], size: Array | None = None) -> Array:
        """E y (b,)."""
        return self._mean_of(lambda part, at: part.predictive_mean(at, size), views)

    def level_probabilities(self, views: Sequence[View]) -> Array:
        """P(level) (b, K) of an ordinal likelihood."""
        return self._mean_of(lambda part, at: part.level_probabilities(at), views)

    def predictive_moments(self, views: Sequence[View], size: Array | None = None) -> tuple[Array, Array]:
        """E y and Var y, (b,) each."""
        moments = [part.predictive_moments(at, size) for part, at in self._seen(views)]
        return _mixed_moments(self.weights, moments)

    def predictive_quantiles(
        self, views: Sequence[View], levels: Sequence[float], size: Array | None = None
    ) -> Array:
        """Quantiles of y, (b, len(levels))."""
        seen = self._seen(views)
        if len(seen) == 1 and isinstance(self.likelihood, Gaussian):
            mean, variance = self.predictive_moments(views)
            return mean[:, None] + ndtri(np.asarray(levels)) * np.sqrt(variance)[:, None]
        if all(part.noise is not None for part in self.components):  # y is a mixture of Gaussians, too
            nodes = [
                (part.weight * share, mean[None], sd[None])
                for part, at in seen
                for share, mean, sd in part.gaussians(at)
            ]
            return np.stack([mixture_quantile(nodes, level) for level in levels], axis=1)
        latent = [part.latent_nodes(at) for part, at in seen]
        parts = [(part.weight, part.given(None)) for part, _ in seen]
        ends = predictive_quantiles(parts, latent, levels, size)
        # Where y hardly varies, rounding must not swap them.
        in_order = np.maximum.accumulate(ends[:, np.argsort(levels)], axis=1)
        return in_order[:, np.argsort(np.argsort(levels))]

    def noise_variance(self, views: Sequence[View]) -> Array:
        """The variance (b,) of y given f, averaged over what is not known about it."""
        zero = np.zeros(len(views[0]))
        return self._mean_of(lambda part, at: part.at_rows(at).conditional_variance(zero), views)

    def latent_covariance(self, views: Sequence[View]) -> Array:
        """Posterior covariance of f at the points, (b, b)."""
        mean = self._mean_of(lambda part, at: part.field.means(at), views)
        joint = np.zeros((len(mean), len(mean)))
        for part, at in self._seen(views):
            gap = part.field.means(at) - mean
            joint += part.weight * (part.field.covariances(at) + np.outer(gap, gap))
        return joint

    def shares_of(self, n_draws: int, rng: np.random.Generator) -> IntArray:
        """How many of the draws fall on each component."""
        return rng.multinomial(n_draws, self.weights / self.weights.sum())

    def draws(
        self,
        layers: Sequence[Terms],
        views: Sequence[View],
        n_draws: int,
        rng: np.random.Generator,
        prior: bool = False,
        counts: IntArray | None = None,
    ) -> list[tuple[Component, Array]]:
        """Joint draws of f, n_draws in all: every component with its own, (b, its share)."""
        shares = self.shares_of(n_draws, rng) if counts is None else counts
        pairs = zip(self._seen(views), shares.tolist(), strict=True)
        return [
            (part, part.draws(at, count, rng, layers[part.layer] if prior else None))
            for (part, at), count in pairs
        ]

    def term_moments(self, views: Sequence[View]) -> list[tuple[Array, Array]]:
        """Mean and variance (b,) of the constant and of every term."""
        each = [part.field.term_moments(at) for part, at in self._seen(views)]
        return [_mixed_moments(self.weights, list(moments)) for moments in zip(*each, strict=True)]

    def variations(self, views: Sequence[View]) -> Array:
        """Expected variance over the points of every term but the constant."""
        return self._mean_of(lambda part, at: np.array(part.field.variations(at)), views)

    def prior_covariance(
        self, layers: Sequence[Terms], views: Sequence[View], others: Sequence[View] | None, only: str | None
    ) -> Array:
        """Prior covariance (b, c) of f, or of the term called `only`, between points."""

        def own(part: Component, at: View) -> Array:
            other = None if others is None else others[part.layer]
            return part.prior_covariance(layers[part.layer], at, other, only)

        return self._mean_of(own, views)


def _mixed_moments(weights: Array, moments: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Mean and variance of a mixture from those of its components, about its mean."""
    if len(moments) == 1:
        return moments[0]
    means, variances = (np.stack(values) for values in zip(*moments, strict=True))
    mean = weights @ means
    return mean, weights @ (variances + np.minimum(np.abs(means - mean), FARTHEST) ** 2)
