"""The posterior of f as draws of a Markov chain, at any point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from .._stored import stored
from .._typing import Array, IntArray
from ..inference.chains import Chains, make_sampler, run_chains
from ..inference.expectation_propagation import ExpectationPropagation
from ..inference.heteroscedastic import HeteroscedasticInference
from ..inference.laplace import LaplaceInference
from ..inference.posterior import Design
from ..inference.sampler import WeightDensity
from ..terms import Constant, Terms
from ..terms.base import View
from .evidence import Evidence
from .search import Optimum

# Values of f held at once while averages over all draws are taken.
_BLOCK_VALUES = 2_000_000
# Quantiles of the draws that stand for the marginal of f where an integral over it is repeated often.
N_QUANTILES = 50


@stored("draws of f")
@dataclass(frozen=True)
class DrawsField:
    """f(x) = c + Σ_k z_k(x)·B_k β_k + gaps for S draws of the weights.

    Averages are over all draws, O(rS) for each point. Gaps get prior noise, the same for every row, so that a
    prediction does not depend on its batch.
    """

    at_nodes: tuple[Array, ...]  # of each term (s, S): B β
    constants: Array  # (S,) c
    gap_variances: tuple[float, ...]

    @classmethod
    def of(cls, terms: Terms, draws: Array, d: Array, constant: Constant) -> DrawsField:
        """The field of weights (S, M), the last of them the constant's if it is learned."""
        constants = np.full(len(draws), float(constant.mean))
        if constant.learned:
            constants = constants + draws[:, terms.n_features]
        pairs = terms.spanned()
        values = tuple(np.ascontiguousarray(term.at_nodes(draws[:, span].T)) for term, span in pairs)
        return cls(values, constants, tuple(term.gap_variance(d[span]) for term, span in pairs))

    @property
    def constant(self) -> float:
        return float(self.constants.mean())

    def values(self, view: View) -> Array:
        """The draws of f at the points, (b, S)."""
        f = self._without_gaps(view)
        rng = np.random.default_rng(1)
        for at, variance in zip(view.terms, self.gap_variances, strict=True):
            f += np.sqrt(at.gap * variance)[:, None] * rng.standard_normal(f.shape[1])
        return f

    def _without_gaps(self, view: View) -> Array:
        f = np.broadcast_to(self.constants, (len(view), len(self.constants))) + view.shift()[:, None]
        for at, values in zip(view.terms, self.at_nodes, strict=True):
            f += at.rows.combine(values)
        return f

    def average(self, function: Callable[..., Array], view: View, beside: Array | None = None) -> Array:
        """E function(f) (b,); `function` also gets the values (b, 1) of `beside` (b,), if there is one."""
        means, start = [], 0
        for part in self._batches(view):
            f = self.values(part)
            own = () if beside is None else (beside[start : start + len(f), None],)
            means.append(function(f, *own).mean(axis=1))
            start += len(f)
        return np.concatenate(means)

    def means(self, view: View) -> Array:
        return self.average(lambda f: f, view)

    def variances(self, view: View) -> Array:
        return np.concatenate([self.values(part).var(axis=1) for part in self._batches(view)])

    def covariances(self, view: View) -> Array:
        values = self.values(view)
        values = values - values.mean(axis=1, keepdims=True)
        return values @ values.T / values.shape[1]

    def quantiles(self, view: View) -> Array:
        """Values (N_QUANTILES, b) with equal shares of the draws between them.

        Draws themselves, nothing between two of them: where few draws are far out, exp(f) of a value between
        is no part of their mean, which could then be beyond all intervals.
        """
        levels = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
        count = len(self.constants)
        chosen = np.ceil(levels * count).astype(np.intp) - 1
        batches = [np.sort(self.values(part), axis=1)[:, chosen].T for part in self._batches(view)]
        return np.concatenate(batches, axis=1)

    def draws(self, view: View, n_draws: int, rng: np.random.Generator) -> Array:
        """Joint draws (b, n_draws): those of the chains, none twice unless more are asked for."""
        chosen = _in_turn(len(self.constants), n_draws, rng)
        picked = DrawsField(
            tuple(values[:, chosen] for values in self.at_nodes), self.constants[chosen], self.gap_variances
        )
        return picked._without_gaps(view) + view.gap_draws(self.gap_variances, n_draws, rng)

    def term_moments(self, view: View) -> list[tuple[Array, Array]]:
        b = len(view)
        result = [(np.full(b, self.constant), np.full(b, float(self.constants.var())))]
        for at, values, variance in zip(view.terms, self.at_nodes, self.gap_variances, strict=True):
            f = at.rows.combine(values)
            result.append((f.mean(axis=1), f.var(axis=1) + at.gap * variance))
        return result

    def variations(self, view: View) -> list[float]:
        result = []
        for at, values, variance in zip(view.terms, self.at_nodes, self.gap_variances, strict=True):
            within = float(np.mean(np.var(at.rows.combine(values), axis=0)))
            result.append(within + float(np.mean(at.gap)) * variance)
        return result

    def _batches(self, view: View) -> Iterator[View]:
        size = max(_BLOCK_VALUES // len(self.constants), 1)
        for start in range(0, len(view), size):
            yield view.take(slice(start, start + size))


@dataclass(frozen=True)
class ChainSettings:
    """How long the chains run, and where their random numbers come from."""

    n_chains: int
    n_draws: int
    n_warmup: int
    seed: int

    def further(self, step: int) -> ChainSettings:
        """The same with other random numbers."""
        return replace(self, seed=self.seed + step)


def sample_function(evidence: Evidence, at: Optimum, settings: ChainSettings) -> tuple[Chains, Array]:
    """Chains at given hyperparameters, and their draws of the feature weights β, (S, M)."""
    inference, d = evidence.inference, evidence.variances(at.values)
    assert isinstance(inference, ExpectationPropagation | LaplaceInference | HeteroscedasticInference)
    design = Design.of(inference.features, d)
    target = evidence.target
    sampler = make_sampler(WeightDensity(design.matrix, target.obs, at.likelihood, target.prior_mean))
    chains = run_chains(sampler, **asdict(settings))
    w = chains.merged
    if design.basis is not None:
        # Directions that no label sees keep their prior.
        free = np.random.default_rng([settings.seed, 1]).standard_normal((*w.shape[:-1], len(d)))
        w = w @ design.basis.T + free - (free @ design.basis) @ design.basis.T
    return chains, w * design.root


def mixed_draws(parts: Sequence[Array], weights: Array, seed: int) -> Array:
    """Draws (S, ...) of a mixture of posteriors, each given by draws (S_k, ...) and weighed by `weights`.

    Systematic sampling takes each as often as its weight says, up to one.
    """
    if len(parts) == 1:
        return parts[0]
    count, cumulative = max(len(part) for part in parts), np.cumsum(weights)
    rng = np.random.default_rng([seed, 2])
    ticks = (np.arange(count) + rng.random()) / count * cumulative[-1]
    component = np.minimum(np.searchsorted(cumulative, ticks, side="right"), len(parts) - 1)
    counts = np.bincount(component, minlength=len(parts)).tolist()
    return np.concatenate([part[_in_turn(len(part), n, rng)] for part, n in zip(parts, counts, strict=True)])


def _in_turn(size: int, count: int, rng: np.random.Generator) -> IntArray:
    """`count` random numbers below `size`; none comes again before all others have come."""
    rounds = [rng.permutation(size) for _ in range(-(-count // size))]
    return np.concatenate([np.empty(0, dtype=np.intp), *rounds])[:count]
