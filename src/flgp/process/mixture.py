"""One latent function, fitted: a mixture of posteriors, and the one place that averages over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from .._stored import stored
from .._typing import Array, IntArray
from ..likelihoods import AnyLikelihood, Categorical, Gaussian, Heteroscedastic, Likelihood, Ordinal
from ..likelihoods.heteroscedastic import NoiseAt
from ..terms import Terms
from ..terms.base import View
from ..terms.local.euclidean import LocalModel
from .class_field import ClassField
from .draws_field import N_QUANTILES, DrawsField
from .field import WeightField
from .local_field import LocalField, local_points, prior_draws_of_local
from .quantile import mixture_quantile, predictive_quantiles

Field = WeightField | ClassField | LocalField | DrawsField

_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(40)
_SHARES = _SHARES / _SHARES.sum()
# Far off the geometry means of exp(f) are huge, and their squares must still be numbers.
_FARTHEST = 1e150
# Logarithms of standard deviations that are drawn: a prior of the noise may be very wide.
_LONGEST_LOG = 300.0


@stored("noise as a function")
@dataclass(frozen=True)
class NoiseFunction:
    """The posterior of g, where the variance of the noise is e^g."""

    field: WeightField
    variances: Array  # (M,) prior variances of its features

    def moments(self, view: View) -> tuple[Array, Array]:
        """E g and Var g, (b,) each."""
        own = replace(view, offset=None)  # which is that of f
        return self.field.means(own), self.field.variances(own)

    def draws(self, view: View, n_draws: int, rng: np.random.Generator, prior_terms: Terms | None) -> Array:
        """Joint draws (b, n_draws) of g; of its prior, if terms are given."""
        own, field = replace(view, offset=None), self.field
        if prior_terms is not None:
            field = WeightField.prior(prior_terms, self.variances, field.constant)
        return field.draws(own, n_draws, rng)


@stored("component of a mixture")
@dataclass(frozen=True)
class Component:
    """A posterior at one value of the hyperparameters."""

    weight: float
    layer: int  # which of the process's terms it is on
    field: Field
    likelihood: AnyLikelihood
    variances: Array  # d (M,), the prior variances of the features
    constant_variance: float = 0.0
    local: LocalModel | None = None  # without noise
    noise: NoiseFunction | None = None  # where the noise is a function, too

    def latent_moments(self, views: Sequence[View]) -> tuple[Array, Array]:
        """E f and Var f, (b,) each."""
        view = views[self.layer]
        if isinstance(self.field, LocalField):  # one kriging system for both
            kriged = self.field.kriged(view)
            return kriged.mean, kriged.variance
        return self.field.means(view), self.field.variances(view)

    def given(self, size: Array | None) -> Likelihood:
        """The likelihood of rows with these exposures or trials; None: 1."""
        assert not isinstance(self.likelihood, Categorical)
        return self.likelihood if size is None else self.likelihood.of_size(size)

    def at_rows(self, views: Sequence[View], size: Array | None = None) -> Likelihood:
        """The same with what is known about the noise in these rows."""
        if self.noise is None:
            return self.given(size)
        assert isinstance(self.likelihood, Heteroscedastic)
        return self.likelihood.at(*self.noise.moments(views[self.layer]))

    def gaussians(self, views: Sequence[View]) -> list[tuple[float, Array, Array]]:
        """The distribution of y as Gaussians, where the noise is a function: share, means, deviations."""
        kind = self.at_rows(views)
        assert isinstance(kind, NoiseAt)
        return kind.gaussians(*self.latent_moments(views))

    def draws_of_y(
        self, f: Array, view: View, rng: np.random.Generator, size: Array | None, prior_terms: Terms | None
    ) -> Array:
        """Labels for joint draws of f (b, n); `prior_terms`: for those of the prior on these terms."""
        if self.noise is None:
            return self.given(None if size is None else size[:, None]).sample(f, rng)
        log_deviation = 0.5 * self.noise.draws(view, f.shape[1], rng, prior_terms)
        return rng.normal(f, np.exp(np.clip(log_deviation, -_LONGEST_LOG, _LONGEST_LOG)))

    def predictive_mean(self, views: Sequence[View], size: Array | None = None) -> Array:
        """E y (b,); `size` (b,) are the exposures or trials of the rows."""
        view = views[self.layer]
        # There E y = E f, and no variance is needed.
        if isinstance(self.likelihood, Gaussian | Heteroscedastic):
            return self.field.means(view)
        if isinstance(self.field, DrawsField):
            return self.field.average(self._mean_of, view, size)
        mean, variance = self.latent_moments(views)
        return self.at_rows(views, size).predictive_mean(mean, variance)

    def predictive_moments(self, views: Sequence[View], size: Array | None = None) -> tuple[Array, Array]:
        """E y and Var y, (b,) each."""
        if isinstance(self.field, DrawsField):
            view = views[self.layer]
            mean = self.field.average(self._mean_of, view, size)
            return mean, self.field.average(self._variance_of, view, size)
        latent, likelihood = self.latent_moments(views), self.at_rows(views, size)
        return likelihood.predictive_mean(*latent), likelihood.predictive_variance(*latent)

    def level_probabilities(self, views: Sequence[View]) -> Array:
        """P(level) (b, K) of an ordinal likelihood."""
        assert isinstance(self.likelihood, Ordinal)
        if isinstance(self.field, DrawsField):
            return self.field.average(self.likelihood.conditional_probabilities, views[self.layer], None)
        return self.likelihood.probabilities(*self.latent_moments(views))

    def _mean_of(self, f: Array, size: Array | None = None) -> Array:
        """E[y | f]."""
        return self.given(size).conditional_mean(f)

    def _variance_of(self, f: Array, size: Array | None = None) -> Array:
        """Var[y | f] and what E[y | f] adds to the variance over the draws f (b, S).

        About the mean: E[y²] - E[y]² would be nothing but rounding for labels with a large offset.
        """
        likelihood = self.given(size)
        means = likelihood.conditional_mean(f)
        away = np.abs(means - means.mean(axis=1, keepdims=True))
        return likelihood.conditional_variance(f) + np.minimum(away, _FARTHEST) ** 2

    def latent_nodes(self, views: Sequence[View]) -> tuple[Array, Array]:
        """Values of f (k, b) and their shares (k,) that stand for its marginals."""
        if isinstance(self.field, DrawsField):
            return self.field.quantiles(views[self.layer]), np.full(N_QUANTILES, 1.0 / N_QUANTILES)
        mean, variance = self.latent_moments(views)
        return mean + np.sqrt(variance) * _NODES[:, None], _SHARES

    def latent_spread(self, views: Sequence[View]) -> tuple[Array, Array]:
        """Gaussians whose equal mixture is the marginal of f: means (k, b) and standard deviations (k, b)."""
        if isinstance(self.field, DrawsField):
            values = self.field.quantiles(views[self.layer])
            # As wide as the gaps between the quantiles, so that their mixture is smooth.
            return values, np.broadcast_to(values.std(axis=0) / N_QUANTILES, values.shape)
        mean, variance = self.latent_moments(views)
        return mean[None], np.sqrt(variance)[None]

    def prior_draws(self, terms: Terms, view: View, n_draws: int, rng: np.random.Generator) -> Array:
        """Joint draws (b, n_draws) of f before any label was seen; the constant at its posterior mean."""
        field = WeightField.prior(terms, self.variances, self.field.constant)
        if self.local is None:
            return field.draws(view, n_draws, rng)
        u = prior_draws_of_local(self.local, local_points(view), n_draws, rng)
        return field.draws(view, n_draws, rng) + u


@stored("latent function")
@dataclass(frozen=True)
class LatentFunction:
    """The posterior of one latent function: components whose weights sum to 1."""

    components: tuple[Component, ...]

    @property
    def weights(self) -> Array:
        """Of the components."""
        return np.array([part.weight for part in self.components])

    @property
    def likelihood(self) -> Likelihood:
        """Of the first component: all are of one kind."""
        return self.components[0].given(None)

    def _mean_of(self, function: Callable[[Component], Array]) -> Array:
        total = self.components[0].weight * function(self.components[0])
        for part in self.components[1:]:
            total = total + part.weight * function(part)
        return total

    def latent_mean(self, views: Sequence[View]) -> Array:
        """E f (b,)."""
        return self._mean_of(lambda part: part.field.means(views[part.layer]))

    def latent_moments(self, views: Sequence[View]) -> tuple[Array, Array]:
        """E f and Var f, (b,) each."""
        moments = [part.latent_moments(views) for part in self.components]
        return _mixed_moments(self.weights, moments)

    def latent_quantiles(self, views: Sequence[View], levels: Sequence[float]) -> Array:
        """Quantiles of f, (b, len(levels))."""
        nodes = [(part.weight, *part.latent_spread(views)) for part in self.components]
        return np.stack([mixture_quantile(nodes, level) for level in levels], axis=1)

    def predictive_mean(self, views: Sequence[View], size: Array | None = None) -> Array:
        """E y (b,)."""
        return self._mean_of(lambda part: part.predictive_mean(views, size))

    def level_probabilities(self, views: Sequence[View]) -> Array:
        """P(level) (b, K) of an ordinal likelihood."""
        return self._mean_of(lambda part: part.level_probabilities(views))

    def predictive_moments(self, views: Sequence[View], size: Array | None = None) -> tuple[Array, Array]:
        """E y and Var y, (b,) each."""
        moments = [part.predictive_moments(views, size) for part in self.components]
        return _mixed_moments(self.weights, moments)

    def predictive_quantiles(
        self, views: Sequence[View], levels: Sequence[float], size: Array | None = None
    ) -> Array:
        """Quantiles of y, (b, len(levels))."""
        if len(self.components) == 1 and isinstance(self.likelihood, Gaussian):
            mean, variance = self.predictive_moments(views)
            return mean[:, None] + ndtri(np.asarray(levels)) * np.sqrt(variance)[:, None]
        if all(part.noise is not None for part in self.components):  # y is a mixture of Gaussians, too
            nodes = [
                (part.weight * share, mean[None], sd[None])
                for part in self.components
                for share, mean, sd in part.gaussians(views)
            ]
            return np.stack([mixture_quantile(nodes, level) for level in levels], axis=1)
        latent = [part.latent_nodes(views) for part in self.components]
        parts = [(part.weight, part.given(None)) for part in self.components]
        ends = predictive_quantiles(parts, latent, levels, size)
        # Where y hardly varies, rounding must not swap them.
        in_order = np.maximum.accumulate(ends[:, np.argsort(levels)], axis=1)
        return in_order[:, np.argsort(np.argsort(levels))]

    def noise_variance(self, views: Sequence[View]) -> Array:
        """The variance (b,) of y given f, averaged over what is not known about it."""
        zero = np.zeros(len(views[0]))
        return self._mean_of(lambda part: part.at_rows(views).conditional_variance(zero))

    def latent_covariance(self, views: Sequence[View]) -> Array:
        """Posterior covariance of f at the points, (b, b)."""
        mean = self.latent_mean(views)
        joint = np.zeros((len(mean), len(mean)))
        for part in self.components:
            view = views[part.layer]
            gap = part.field.means(view) - mean
            joint += part.weight * (part.field.covariances(view) + np.outer(gap, gap))
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
        result = []
        shares = self.shares_of(n_draws, rng) if counts is None else counts
        for part, count in zip(self.components, shares, strict=True):
            view = views[part.layer]
            if prior:
                f = part.prior_draws(layers[part.layer], view, int(count), rng)
            else:
                f = part.field.draws(view, int(count), rng)
            result.append((part, f))
        return result

    def term_moments(self, views: Sequence[View]) -> list[tuple[Array, Array]]:
        """Mean and variance (b,) of the constant and of every term."""
        each = [part.field.term_moments(views[part.layer]) for part in self.components]
        return [_mixed_moments(self.weights, list(moments)) for moments in zip(*each, strict=True)]

    def variations(self, views: Sequence[View]) -> Array:
        """Expected variance over the points of every term but the constant."""
        return self._mean_of(lambda part: np.array(part.field.variations(views[part.layer])))

    def prior_covariance(
        self, layers: Sequence[Terms], views: Sequence[View], others: Sequence[View] | None, only: str | None
    ) -> Array:
        """Prior covariance (b, c) of f, or of the term called `only`, between points."""
        return self._mean_of(
            lambda part: _prior_covariance(
                part,
                layers[part.layer],
                views[part.layer],
                None if others is None else others[part.layer],
                only,
            )
        )


def _mixed_moments(weights: Array, moments: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Mean and variance of a mixture from those of its components, about its mean."""
    if len(moments) == 1:
        return moments[0]
    means, variances = (np.stack(values) for values in zip(*moments, strict=True))
    mean = weights @ means
    return mean, weights @ (variances + np.minimum(np.abs(means - mean), _FARTHEST) ** 2)


def _prior_covariance(
    part: Component, terms: Terms, view: View, other: View | None, only: str | None
) -> Array:
    across = view if other is None else other
    total = np.zeros((len(view), len(across)))
    for i, (term, span) in enumerate(zip(terms.parts, terms.spans(), strict=True)):
        if only not in (None, term.name):
            continue
        d, at = part.variances[span], view.terms[i]
        nodes = term.at_nodes(np.eye(len(d)))
        left = at.rows.combine(nodes)
        right = left if other is None else other.terms[i].rows.combine(nodes)
        total += (left * d) @ right.T
        total += at.gap_covariance(None if other is None else other.terms[i]) * term.gap_variance(d)
    if only in (None, "constant"):
        total += part.constant_variance
    if part.local is not None and only in (None, "local"):
        total += part.local.covariance(cdist(local_points(view), local_points(across)))
    return total


def in_any_order(parts: Sequence[Array], rng: np.random.Generator) -> Array:
    """Draws (b, …) of all components side by side, shuffled: the first few are draws of the mixture too."""
    draws = np.concatenate(parts, axis=1)
    return draws if len(parts) == 1 else draws[:, rng.permutation(draws.shape[1])]
