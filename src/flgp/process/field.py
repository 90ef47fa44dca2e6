"""The posterior of f at any point, from quantities at the nodes of its terms only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._stored import stored
from .._typing import Array
from ..inference.posterior import Posterior, WeightPosterior
from ..terms import Constant, Terms
from ..terms.base import View

# Up to this many nodes the s×s covariance is kept, and a variance costs r² instead of r·M.
_DENSE_NODES = 1024


@stored("posterior of a term at its nodes")
@dataclass(frozen=True)
class TermValues:
    """One term's share of the posterior of the weights."""

    mean: Array  # (s,) q = B β̄
    factor: Array  # (s, K) U = B C, with C Cᵀ the covariance of all weights
    gap_variance: float  # what a gap in the term's features is a share of
    cross: Array  # (s,) covariance with the constant
    covariance: Array | None = None  # (s, s) U Uᵀ where s is small

    @cached_property
    def deviations(self) -> Array:
        """Standard deviations at the nodes, (s,)."""
        return np.sqrt(np.einsum("sk,sk->s", self.factor, self.factor))


@stored("Gaussian posterior of f")
@dataclass(frozen=True)
class WeightField:
    """f(x) = c + Σ_k z_k(x)·B_k β_k + gaps, with jointly Gaussian weights.

    Mean in O(r) and variance in O(r²) (or O(rK)) for each point.
    """

    parts: tuple[TermValues, ...]
    constant: float  # E c
    constant_factor: Array  # (K,) row of the joint factor that belongs to c

    @classmethod
    def of(cls, terms: Terms, posterior: Posterior, d: Array, constant: Constant) -> WeightField:
        """Field of weights β with prior variances d, the last of them the constant's if it is learned."""
        M = terms.n_features
        factor = posterior.factor
        own = np.ascontiguousarray(factor[M]) if constant.learned else np.zeros(factor.shape[1])
        parts = []
        for term, span in terms.spanned():
            U = np.ascontiguousarray(term.at_nodes(factor[span]))  # never a view of all weights
            dense = U @ U.T if len(U) <= _DENSE_NODES and len(terms.parts) == 1 else None
            gap = term.gap_variance(d[span])
            parts.append(TermValues(term.at_nodes(posterior.mean[span]), U, gap, U @ own, dense))
        mean = constant.mean + (float(posterior.mean[M]) if constant.learned else 0.0)
        return cls(tuple(parts), mean, own)

    @classmethod
    def prior(cls, terms: Terms, d: Array, constant: float) -> WeightField:
        """Before any label was seen; the constant at a given value."""
        nothing = WeightPosterior(np.zeros(len(d)), np.diag(np.sqrt(d)))
        return cls.of(terms, nothing, d, Constant(constant))

    def means(self, view: View) -> Array:
        """E f (b,)."""
        total = self.constant + view.shift()
        for part, at in zip(self.parts, view.terms, strict=True):
            total += at.rows.combine(part.mean)
        return total

    def mean_limits(self, view: View) -> tuple[Array, Array]:
        """Numbers (b,) that E f lies between, far cheaper where a term has correlations with many points."""
        total, below, above = self.constant + view.shift(), 0.0, 0.0
        for part, at in zip(self.parts, view.terms, strict=True):
            if at.whitener is None:
                total += at.rows.combine(part.mean)
            else:  # correlations are between 0 and 1
                below += float(np.minimum(part.mean, 0.0).sum())
                above += float(np.maximum(part.mean, 0.0).sum())
        return total + below, total + above

    def variances(self, view: View) -> Array:
        """Var f (b,)."""
        dense = self.parts[0].covariance if self.parts else None
        if dense is None or view.terms[0].rows.width > len(self.constant_factor):
            spread = self.spread(view)
            return np.einsum("bk,bk->b", spread, spread) + view.gaps(self.gap_variances)
        part, at = self.parts[0], view.terms[0]
        constant = float(self.constant_factor @ self.constant_factor)
        within = at.rows.quadratic(dense) + 2 * at.rows.combine(part.cross) + constant
        return np.maximum(within, 0.0) + view.gaps(self.gap_variances)

    def variance_limits(self, view: View) -> Array:
        """No less than Var f (b,), and far cheaper: standard deviations at the nodes, added up."""
        deviation: Array = np.full(len(view), np.linalg.norm(self.constant_factor))
        rest = np.zeros(len(view))
        for part, at in zip(self.parts, view.terms, strict=True):
            if at.whitener is not None:  # the features and their gap are all of its variance
                deviation += np.sqrt(part.gap_variance)
                continue
            deviation += at.rows.limit(part.deviations)
            if at.known_gap is not None:
                rest += at.known_gap * part.gap_variance
        return deviation**2 + rest

    def spread(self, view: View) -> Array:
        """φC (b, K): its rows' inner products are the covariances of f, but for gaps."""
        total = np.broadcast_to(self.constant_factor, (len(view), len(self.constant_factor))).copy()
        for part, at in zip(self.parts, view.terms, strict=True):
            total += at.rows.combine(part.factor)
        return total

    @property
    def gap_variances(self) -> list[float]:
        """What a gap in the features of each term is a share of."""
        return [part.gap_variance for part in self.parts]

    def covariances(self, view: View) -> Array:
        """Joint covariance of f at the points, (b, b)."""
        spread = self.spread(view)
        return spread @ spread.T + view.gap_covariance(self.gap_variances)

    def draws(
        self, view: View, n_draws: int, rng: np.random.Generator, weights: Array | None = None
    ) -> Array:
        """Joint draws of f at the points, (b, n_draws); `weights` (K, n_draws) may be given."""
        if weights is None:
            weights = rng.standard_normal((len(self.constant_factor), n_draws))
        total = self.constant + self.constant_factor @ weights + view.shift()[:, None]
        for part, at in zip(self.parts, view.terms, strict=True):
            total += at.rows.combine(part.mean[:, None] + part.factor @ weights)
        return total + view.gap_draws(self.gap_variances, n_draws, rng)

    def term_moments(self, view: View) -> list[tuple[Array, Array]]:
        """Mean and variance (b,) of the constant, then of every term."""
        constant = np.full(len(view), self.constant)
        result = [(constant, np.full(len(view), float(self.constant_factor @ self.constant_factor)))]
        for part, at in zip(self.parts, view.terms, strict=True):
            spread = at.rows.combine(part.factor)
            variance = np.einsum("bk,bk->b", spread, spread) + at.gap * part.gap_variance
            result.append((at.rows.combine(part.mean), variance))
        return result

    def variations(self, view: View) -> list[float]:
        """Expected variance over the points of every term: a shift of all points does not count."""
        result = []
        for part, at in zip(self.parts, view.terms, strict=True):
            spread = at.rows.combine(part.factor)
            within = float(np.mean(np.einsum("bk,bk->b", spread, spread)) - np.sum(spread.mean(axis=0) ** 2))
            gap = float(np.mean(at.gap)) * part.gap_variance
            result.append(float(np.var(at.rows.combine(part.mean))) + max(within, 0.0) + gap)
        return result
