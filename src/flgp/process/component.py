"""A posterior of one latent function at one value of the hyperparameters, and its predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

from .._stored import stored
from .._typing import Array
from ..likelihoods import AnyLikelihood, Categorical, Gaussian, Heteroscedastic, Likelihood, Ordinal
from ..likelihoods.heteroscedastic import NoiseAt
from ..terms import Terms
from ..terms.base import View
from ..terms.local.euclidean import LocalModel
from .class_field import ClassField
from .draws_field import N_QUANTILES, DrawsField
from .field import WeightField
from .local_field import LocalField, local_points, prior_draws_of_local

Field = WeightField | ClassField | LocalField | DrawsField

_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(40)
_SHARES = _SHARES / _SHARES.sum()
# Far off the geometry means of exp(f) are huge, and their squares must still be numbers.
FARTHEST = 1e150
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
    """A posterior at one value of the hyperparameters, with its weight in a mixture.

    Its methods take the view of its own layer; `size` (b,) are the exposures or trials of the rows.
    """

    weight: float
    layer: int  # which of the process's terms it is on
    field: Field
    likelihood: AnyLikelihood
    variances: Array  # d (M,), the prior variances of the features
    constant_variance: float = 0.0
    local: LocalModel | None = None  # without noise
    noise: NoiseFunction | None = None  # where the noise is a function, too

    def latent_moments(self, view: View) -> tuple[Array, Array]:
        """E f and Var f, (b,) each."""
        if isinstance(self.field, LocalField):  # one kriging system for both
            kriged = self.field.kriged(view)
            return kriged.mean, kriged.variance
        return self.field.means(view), self.field.variances(view)

    def given(self, size: Array | None) -> Likelihood:
        """The likelihood of rows with these exposures or trials; None: 1."""
        assert not isinstance(self.likelihood, Categorical)
        return self.likelihood if size is None else self.likelihood.of_size(size)

    def at_rows(self, view: View, size: Array | None = None) -> Likelihood:
        """The same with what is known about the noise in these rows."""
        if self.noise is None:
            return self.given(size)
        assert isinstance(self.likelihood, Heteroscedastic)
        return self.likelihood.at(*self.noise.moments(view))

    def gaussians(self, view: View) -> list[tuple[float, Array, Array]]:
        """The distribution of y as Gaussians, where the noise is a function: share, means, deviations."""
        kind = self.at_rows(view)
        assert isinstance(kind, NoiseAt)
        return kind.gaussians(*self.latent_moments(view))

    def predictive_mean(self, view: View, size: Array | None = None) -> Array:
        """E y (b,)."""
        # There E y = E f, and no variance is needed.
        if isinstance(self.likelihood, Gaussian | Heteroscedastic):
            return self.field.means(view)
        if isinstance(self.field, DrawsField):
            return self.field.average(self._mean_of, view, size)
        mean, variance = self.latent_moments(view)
        return self.at_rows(view, size).predictive_mean(mean, variance)

    def predictive_moments(self, view: View, size: Array | None = None) -> tuple[Array, Array]:
        """E y and Var y, (b,) each."""
        if isinstance(self.field, DrawsField):
            mean = self.field.average(self._mean_of, view, size)
            return mean, self.field.average(self._variance_of, view, size)
        latent, likelihood = self.latent_moments(view), self.at_rows(view, size)
        return likelihood.predictive_mean(*latent), likelihood.predictive_variance(*latent)

    def level_probabilities(self, view: View) -> Array:
        """P(level) (b, K) of an ordinal likelihood."""
        assert isinstance(self.likelihood, Ordinal)
        if isinstance(self.field, DrawsField):
            return self.field.average(self.likelihood.conditional_probabilities, view)
        return self.likelihood.probabilities(*self.latent_moments(view))

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
        return likelihood.conditional_variance(f) + np.minimum(away, FARTHEST) ** 2

    def latent_nodes(self, view: View) -> tuple[Array, Array]:
        """Values of f (k, b) and their shares (k,) that stand for its marginals."""
        if isinstance(self.field, DrawsField):
            return self.field.quantiles(view), np.full(N_QUANTILES, 1.0 / N_QUANTILES)
        mean, variance = self.latent_moments(view)
        return mean + np.sqrt(variance) * _NODES[:, None], _SHARES

    def latent_spread(self, view: View) -> tuple[Array, Array]:
        """Gaussians whose equal mixture is the marginal of f: means (k, b) and standard deviations (k, b)."""
        if isinstance(self.field, DrawsField):
            values = self.field.quantiles(view)
            # As wide as the gaps between the quantiles, so that their mixture is smooth.
            return values, np.broadcast_to(values.std(axis=0) / N_QUANTILES, values.shape)
        mean, variance = self.latent_moments(view)
        return mean[None], np.sqrt(variance)[None]

    def draws(self, view: View, n_draws: int, rng: np.random.Generator, prior_terms: Terms | None) -> Array:
        """Joint draws (b, n_draws) of f; of its prior on `prior_terms`, about the mean of the constant."""
        if prior_terms is None:
            return self.field.draws(view, n_draws, rng)
        field = WeightField.prior(prior_terms, self.variances, self.field.constant)
        if self.local is None:
            return field.draws(view, n_draws, rng)
        u = prior_draws_of_local(self.local, local_points(view), n_draws, rng)
        return field.draws(view, n_draws, rng) + u

    def draws_of_y(
        self, f: Array, view: View, rng: np.random.Generator, size: Array | None, prior_terms: Terms | None
    ) -> Array:
        """Labels for joint draws of f (b, n); `prior_terms`: for those of the prior on these terms."""
        if self.noise is None:
            return self.given(None if size is None else size[:, None]).sample(f, rng)
        log_deviation = 0.5 * self.noise.draws(view, f.shape[1], rng, prior_terms)
        return rng.normal(f, np.exp(np.clip(log_deviation, -_LONGEST_LOG, _LONGEST_LOG)))

    def prior_covariance(self, terms: Terms, view: View, other: View | None, only: str | None) -> Array:
        """Prior covariance (b, c) of f, or of the term called `only`, between points."""
        across = view if other is None else other
        total = np.zeros((len(view), len(across)))
        for i, (term, span) in enumerate(terms.spanned()):
            if only not in (None, term.name):
                continue
            d, at = self.variances[span], view.terms[i]
            nodes = term.at_nodes(np.eye(len(d)))
            left = at.rows.combine(nodes)
            right = left if other is None else other.terms[i].rows.combine(nodes)
            total += (left * d) @ right.T
            total += at.gap_covariance(None if other is None else other.terms[i]) * term.gap_variance(d)
        if only in (None, "constant"):
            total += self.constant_variance
        if self.local is not None and only in (None, "local"):
            total += self.local.covariance(cdist(local_points(view), local_points(across)))
        return total
