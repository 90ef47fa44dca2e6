"""The posterior of coupled functions with one prior: what they share is computed once for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._linalg import triangular_product, triangular_squares
from .._stored import stored
from .._typing import Array
from ..inference.posterior import DualPosterior, Posterior, shrunk_factor
from ..terms import Constant, Terms
from ..terms.base import View

# Rows looked at together: their features stay in cache.
_ROWS = 4_096


@stored("prior of coupled functions at nodes")
@dataclass(frozen=True)
class SharedPrior:
    """Ψ(x) = φ(x) D^(1/2) from the nodes of every term, and the labelled rows A = Ψ(X) if they are fewer.

    In the first case e(x) = Ψ(x) and Var f(x) = |e C|², in the second e(x) = Ψ(x) Aᵀ, the prior covariances
    with the labels, and Var f(x) = |Ψ(x)|² - |e C|²; only C differs from function to function.
    """

    features: tuple[Array, ...]  # of each term: (s, its M) D^(1/2) at nodes
    constant: float  # standard deviation of the constant: the last feature, if it is not 0
    gap_variances: tuple[float, ...]  # what a gap in each term's features is a share of
    rows: Array | None = None  # (m, M) A

    @classmethod
    def of(cls, terms: Terms, d: Array, constant: Constant, rows: Array | None) -> SharedPrior:
        """For prior variances d (M,), the last of them the constant's if it is learned."""
        root = np.sqrt(d)
        nodes = [np.ascontiguousarray(part.at_nodes(np.diag(root[span]))) for part, span in terms.spanned()]
        gaps = [float(part.gap_variance(d[span])) for part, span in terms.spanned()]
        return cls(tuple(nodes), float(root[-1]) if constant.learned else 0.0, tuple(gaps), rows)

    @property
    def n_features(self) -> int:
        """M, of all terms and the constant."""
        return sum(nodes.shape[1] for nodes in self.features) + (self.constant != 0.0)

    def by_term(self, view: View) -> list[Array]:
        """Ψ (b, M) of each term, and of the constant."""
        parts = [at.rows.combine(nodes) for nodes, at in zip(self.features, view.terms, strict=True)]
        return [*parts, np.full((len(view), 1), self.constant)] if self.constant else parts

    def at(self, view: View) -> Array:
        """Ψ (b, M)."""
        return np.concatenate([np.empty((len(view), 0)), *self.by_term(view)], axis=1)

    def seen(self, psi: Array, columns: slice = slice(None)) -> Array:
        """What the posterior acts on, e, from some columns of Ψ."""
        return psi if self.rows is None else psi @ self.rows[:, columns].T

    def columns(self, term: int) -> slice:
        """Where the features of a term are among those of all."""
        first = sum(nodes.shape[1] for nodes in self.features[:term])
        return slice(first, first + self.features[term].shape[1])

    def with_labels(self, view: View) -> tuple[Array, Array]:
        """Prior covariances with the labels, e (b, m), and the prior variance (b,), gaps included."""
        assert self.rows is not None
        seen, total = np.zeros((len(view), len(self.rows))), view.gaps(self.gap_variances, whole=True)
        if self.constant:
            seen += self.constant * self.rows[:, -1]
            total += self.constant**2
        for i, (at, nodes) in enumerate(zip(view.terms, self.features, strict=True)):
            if not self._in_use[i]:
                continue
            if at.whitener is not None:  # the features and their gap are all of its variance: counted above
                seen += at.rows.combine(self._at_labels[i])
                continue
            psi = at.rows.combine(nodes)
            seen += self.seen(psi, self.columns(i))
            total += np.einsum("bk,bk->b", psi, psi)
        return seen, total

    @cached_property
    def _at_labels(self) -> list[Array]:
        """Prior covariances of the nodes of each term with the labels, (s, m)."""
        return [self.seen(nodes, self.columns(i)) for i, nodes in enumerate(self.features)]

    @cached_property
    def _in_use(self) -> list[bool]:
        """Whether the prior variance of each term is more than 0."""
        return [bool(nodes.any()) for nodes in self.features]


@stored("posterior of a coupled function")
@dataclass(frozen=True)
class ClassField:
    """One of several functions with a common prior, with the interface of `WeightField`."""

    prior: SharedPrior
    means_at_nodes: tuple[Array, ...]  # of each term: (s,)
    constant: float  # E c
    factor: Array  # (K, K) C, see `SharedPrior`

    def means(self, view: View) -> Array:
        total = self.constant + view.shift()
        for mean, at in zip(self.means_at_nodes, view.terms, strict=True):
            total += at.rows.combine(mean)
        return total

    def variances(self, view: View) -> Array:
        parts = [np.empty(0), *(self._within(self.prior.at(part)) for part in _pieces(view))]
        return np.concatenate(parts) + view.gaps(self.prior.gap_variances)

    def spread(self, view: View) -> Array:
        """ΨC (b, M): its rows' inner products are the covariances of f, but for gaps."""
        return self.prior.at(view) @ self._of_all_weights

    def covariances(self, view: View) -> Array:
        spread = self.spread(view)
        return spread @ spread.T + view.gap_covariance(self.prior.gap_variances)

    def draws(self, view: View, n_draws: int, rng: np.random.Generator) -> Array:
        weights = rng.standard_normal((self._of_all_weights.shape[1], n_draws))
        f = self.means(view)[:, None] + self.prior.at(view) @ (self._of_all_weights @ weights)
        return f + view.gap_draws(self.prior.gap_variances, n_draws, rng)

    def term_moments(self, view: View) -> list[tuple[Array, Array]]:
        constant = np.array([[self.prior.constant]]) if self.prior.constant else np.empty((1, 0))
        sure = self._within(constant, slice(self.prior.n_features - constant.shape[1], None))
        result = [(np.full(len(view), self.constant), np.full(len(view), float(sure[0])))]
        for i, (at, mean) in enumerate(zip(view.terms, self.means_at_nodes, strict=True)):
            variance = self._within(at.rows.combine(self.prior.features[i]), self.prior.columns(i))
            result.append((at.rows.combine(mean), variance + at.gap * self.prior.gap_variances[i]))
        return result

    def variations(self, view: View) -> list[float]:
        return class_variations([self], view)[0].tolist()

    def _within(self, psi: Array, columns: slice = slice(None)) -> Array:
        """Variance (b,) that the features carry, or those in some `columns` of them."""
        seen = self.prior.seen(psi, columns)
        factor = self.factor if self.prior.rows is not None else self.factor[columns]
        spread = triangular_product(seen, factor) if len(factor) == len(self.factor) else seen @ factor
        square = np.einsum("bk,bk->b", spread, spread)
        if self.prior.rows is None:
            return square
        return np.maximum(np.einsum("bk,bk->b", psi, psi) - square, 0.0)

    @cached_property
    def _of_all_weights(self) -> Array:
        """(M, M): a factor of the covariance of D^(-1/2) β."""
        if self.prior.rows is None:
            return self.factor
        return shrunk_factor(self.factor.T @ self.prior.rows)


def class_fields(
    terms: Terms,
    posteriors: Sequence[Posterior],
    d: Array,
    constants: Sequence[Constant],
) -> list[ClassField]:
    """Fields of coupled functions, from the posteriors of their weights with prior variances d (M,).

    Constants may differ in their means.
    """
    rows = posteriors[0].rows if isinstance(posteriors[0], DualPosterior) else None
    prior = SharedPrior.of(terms, d, constants[0], rows)
    means = np.stack([posterior.mean for posterior in posteriors], axis=1)
    at_nodes = [part.at_nodes(means[span]) for part, span in terms.spanned()]
    result: list[ClassField] = []
    for c, (posterior, constant) in enumerate(zip(posteriors, constants, strict=True)):
        if isinstance(posterior, DualPosterior):
            factor = posterior.inner.T
        else:  # a feature whose variance is 0 does not count, whatever its weight
            root = np.sqrt(d)[:, None]
            factor = np.divide(posterior.factor, root, out=np.zeros_like(posterior.factor), where=root > 0)
        nodes = [np.ascontiguousarray(values[:, c]) for values in at_nodes]
        mean = constant.mean + (float(posterior.mean[-1]) if constant.learned else 0.0)
        # Least squares is as sure of every class: then one factor serves all.
        same = bool(result) and np.array_equal(result[0].factor, factor)
        factor = result[0].factor if same else np.ascontiguousarray(factor)
        result.append(ClassField(prior, tuple(nodes), mean, factor))
    return result


def class_moments(fields: Sequence[ClassField], view: View) -> tuple[Array, Array]:
    """E f and Var f of coupled functions, (b, C) each: what their common prior says is computed once."""
    prior = fields[0].prior
    variance = np.empty((len(view), len(fields)))
    factors, which = _different([field.factor for field in fields])
    start = 0
    for part in _pieces(view):
        if prior.rows is None:
            variances = triangular_squares(prior.at(part), factors) + part.gaps(prior.gap_variances)[:, None]
        else:
            seen, before = prior.with_labels(part)
            variances = np.maximum(before[:, None] - triangular_squares(seen, factors), 0.0)
        variance[start : start + len(part)] = variances[:, which]
        start += len(part)
    return _means(fields, view), variance


def _means(fields: Sequence[ClassField], view: View) -> Array:
    """E f (b, C) of coupled functions."""
    total = np.array([field.constant for field in fields]) + view.shift()[:, None]
    for i, at in enumerate(view.terms):
        total += at.rows.combine(np.stack([field.means_at_nodes[i] for field in fields], axis=1))
    return total


def class_variations(fields: Sequence[ClassField], view: View) -> Array:
    """Expected variance over the points of every term of coupled functions, (C, terms), as `variations`."""
    prior = fields[0].prior
    result = np.empty((len(fields), len(view.terms)))
    factors, which = _different([field.factor for field in fields])
    for i, at in enumerate(view.terms):
        psi, columns = at.rows.combine(prior.features[i]), prior.columns(i)
        psi = np.concatenate([psi, psi.mean(axis=0, keepdims=True)])
        square = np.einsum("bk,bk->b", psi, psi)[:, None]
        if prior.rows is None:
            within = np.stack([np.sum((psi @ factor[columns]) ** 2, axis=1) for factor in factors], axis=1)
        else:
            within = np.maximum(square - triangular_squares(prior.seen(psi, columns), factors), 0.0)
        varying = np.maximum(within[:-1].mean(axis=0) - within[-1], 0.0)
        means = at.rows.combine(np.stack([field.means_at_nodes[i] for field in fields], axis=1))
        gap = float(np.mean(at.gap)) * prior.gap_variances[i]
        result[:, i] = means.var(axis=0) + varying[which] + gap
    return result


def _different(arrays: Sequence[Array]) -> tuple[list[Array], list[int]]:
    """The distinct objects among several, and the position of each one's among them."""
    first: dict[int, Array] = {id(array): array for array in arrays}
    order = {key: position for position, key in enumerate(first)}
    return list(first.values()), [order[id(array)] for array in arrays]


def _pieces(view: View) -> Iterator[View]:
    for start in range(0, len(view), _ROWS):
        yield view.take(slice(start, start + _ROWS))
