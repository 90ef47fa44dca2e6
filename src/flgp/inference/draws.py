"""The posterior of f as draws of a Markov chain, at any point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..feature_map import Rows
from .chains import Chains, make_sampler, mixture_draws, run_chains
from .latent import LatentField
from .learning import Head
from .posterior import Design, WeightPosterior

# Values of f held at once while averages over all draws are taken.
_BLOCK_VALUES = 2_000_000
# Quantiles of the draws that stand for the marginal of f where an integral over it is repeated often.
N_QUANTILES = 50
# Joint draws of all classes that a softmax is averaged over.
N_JOINT = 512


@dataclass(frozen=True)
class DrawsField:
    """f(x) = c + g(x) z(x)·B β + (1 - g(x)²)^(1/2) ξ(x) for S draws of (c, β).

    Averages are over all draws, O(rS) for each point. Off the cloud the draws get prior noise, the same for
    every row, so that a prediction does not depend on its batch.
    """

    at_anchors: Array  # (s, S) B β
    constants: Array  # (S,) c
    prior_variance: float  # what ξ has

    def values(self, rows: Rows) -> Array:
        """The draws of f at the rows, (b, S)."""
        g = rows.closeness[:, None]
        f = self.constants + g * rows.combine(self.at_anchors)
        if (rows.closeness < 1.0).any():
            noise = np.random.default_rng(1).standard_normal(f.shape[1])
            f += np.sqrt((1.0 - g**2) * self.prior_variance) * noise
        return f

    def average(self, function: Callable[..., Array], rows: Rows, beside: Array | None = None) -> Array:
        """E function(f) (b,); `function` also gets the values (b, 1) of `beside` (b,), if there is one."""
        means, start = [], 0
        for part in self._parts(rows):
            f = self.values(part)
            own = () if beside is None else (beside[start : start + len(f), None],)
            means.append(function(f, *own).mean(axis=1))
            start += len(f)
        return np.concatenate(means)

    def means(self, rows: Rows) -> Array:
        """E f (b,)."""
        return self.average(lambda f: f, rows)

    def variances(self, rows: Rows) -> Array:
        """Var f (b,)."""
        return np.concatenate([self.values(part).var(axis=1) for part in self._parts(rows)])

    def quantiles(self, rows: Rows) -> Array:
        """Values (N_QUANTILES, b) with equal shares of the draws between them."""
        levels = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
        return np.concatenate(
            [np.quantile(self.values(part), levels, axis=1) for part in self._parts(rows)], axis=1
        )

    def draws(self, rows: Rows, n_draws: int, rng: np.random.Generator) -> Array:
        """Joint draws (b, n_draws): those of the chains, none twice unless more are asked for."""
        count = len(self.constants)
        rounds = [rng.permutation(count) for _ in range(-(-n_draws // count))]
        chosen = np.concatenate(rounds)[:n_draws] if rounds else np.empty(0, dtype=int)
        picked = DrawsField(self.at_anchors[:, chosen], self.constants[chosen], 0.0)
        g = rows.closeness[:, None]
        noise = rng.standard_normal((len(g), n_draws)) * np.sqrt((1.0 - g**2) * self.prior_variance)
        return picked.values(rows) + noise

    def prior(self, lift: Array, d: Array) -> LatentField:
        """The prior; the constant at its posterior mean."""
        nothing = WeightPosterior(np.zeros(len(d)), np.diag(np.sqrt(d)))
        return LatentField.of(lift, nothing, d, float(self.constants.mean()), intercept=False)

    def _parts(self, rows: Rows) -> Iterator[Rows]:
        size = max(_BLOCK_VALUES // len(self.constants), 1)
        for start in range(0, len(rows.closeness), size):
            part = slice(start, start + size)
            yield Rows(rows.index[part], rows.z[part], rows.closeness[part])


@dataclass(frozen=True)
class ChainSettings:
    """How long the chains run."""

    n_chains: int = 4
    n_draws: int = 500
    n_warmup: int = 250


def sample_head(head: Head, settings: ChainSettings, seed: int) -> tuple[Chains, Array]:
    """Chains at a head's hyperparameters, and their draws of the feature weights β, (S, M) or (S, C, M)."""
    inference, d = head.evidence.inference, head.evidence.weights(head.fit.values)
    # Only the exact Gaussian inference is without features, and nobody samples that.
    design = Design.of(inference.features, d)  # type: ignore[attr-defined]
    sampler = make_sampler(design.matrix, head.task.obs, head.fit.likelihood, offset=head.task.offset)
    chains = run_chains(
        sampler,
        seed=seed,
        n_chains=settings.n_chains,
        n_draws=settings.n_draws,
        n_warmup=settings.n_warmup,
    )
    w = chains.merged if chains.merged.ndim == 2 else chains.merged.transpose(0, 2, 1)
    if design.basis is not None:
        # Directions that no label sees keep their prior.
        free = np.random.default_rng([seed, 1]).standard_normal((*w.shape[:-1], len(d)))
        w = w @ design.basis.T + free - (free @ design.basis) @ design.basis.T
    return chains, w * design.root


def draws_field(lift: Array, draws: Array, head: Head) -> DrawsField:
    """The field of weights (S, M), the last of them the intercept if there is one."""
    M = lift.shape[1]
    d = head.evidence.weights(head.fit.values)[:M]
    constants = np.full(len(draws), float(head.task.offset))
    if head.task.intercept_variance is not None:
        constants = constants + draws[:, M]
    return DrawsField(lift @ draws[:, :M].T, constants, float(d.sum()))


def mixed_draws(parts: Sequence[Array], weights: Array, seed: int) -> Array:
    """Draws (S, ...) of a mixture of posteriors, each given by draws (S_k, ...) and weighed by `weights`."""
    if len(parts) == 1:
        return parts[0]
    count = max(len(part) for part in parts)
    rng = np.random.default_rng([seed, 2])
    component, index = mixture_draws([len(part) for part in parts], weights, count, rng)
    return np.stack([parts[k][i] for k, i in zip(component, index, strict=True)])


def thinned(draws: Array) -> Array:
    """At most `N_JOINT` of the draws, evenly spaced and an even number."""
    count = min(len(draws), N_JOINT) // 2 * 2
    return draws[np.linspace(0, len(draws) - 1, count).astype(int)]
