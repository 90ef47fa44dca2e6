"""What a sampler of the whitened weights is: a density, a state, and two pure functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..likelihoods import Categorical, Likelihood, Observations


class State(NamedTuple):
    """Where a chain is."""

    weights: Array  # v, shape (q,) or (q, C)
    latent: Array  # f = A v + offset at the labelled rows, shape (m,) or (m, C)
    log_density: float  # log p(y | f) - |v|²/2: the posterior density up to its constant


class Sampler(NamedTuple):
    """A Markov chain with the posterior of the weights as its invariant distribution."""

    init: Callable[[np.random.Generator], State]
    step: Callable[[np.random.Generator, State], State]


@dataclass(frozen=True)
class WeightDensity:
    """The posterior p(v | y) ∝ p(y | A v + offset) N(v; 0, I), hyperparameters fixed."""

    design: Array  # (m, q) the whitened design A
    obs: Observations  # weights multiply the rows' log-densities
    likelihood: Likelihood | Categorical  # with all its parameters set; Categorical: v is (q, C), f is (m, C)
    offset: Array | float = 0.0  # a fixed part of f, (m,) or (m, C)

    def __post_init__(self) -> None:
        object.__setattr__(self, "design", np.asfortranarray(self.design, dtype=float))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of v: (q,) or (q, C)."""
        q = self.design.shape[1]
        return (q, self.likelihood.n_classes) if isinstance(self.likelihood, Categorical) else (q,)

    def log_likelihood(self, latent: Array) -> float:
        """Σ_i weight_i log p(y_i | f_i); -inf where f is so extreme that it cannot be computed."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value = float(self.obs.weight @ self.likelihood.log_density(self.obs, latent))
        return value if np.isfinite(value) else -np.inf

    def state(self, weights: Array) -> State:
        """The state of a chain at given weights."""
        latent = self.design @ weights + self.offset
        return State(weights, latent, self.log_likelihood(latent) - 0.5 * float(np.sum(weights**2)))

    def draw_start(self, rng: np.random.Generator) -> State:
        """A start for a chain: a draw of the prior, wider than the posterior as R-hat wants it.

        It is halved until the data have a density there, since exp(f) of a wide prior may overflow.
        """
        weights = rng.standard_normal(self.shape)
        state = self.state(weights)
        for _ in range(60):
            if np.isfinite(state.log_density):
                return state
            weights = weights / 2
            state = self.state(weights)
        raise ValueError("The likelihood has no finite density at the prior mean: check y and the offset.")


def cycle(first: Sampler, second: Sampler) -> Sampler:
    """One step of each in turn, starting as the first does, for the same density.

    Kinds of samplers are slow in different places, their cycle in none.
    """
    return Sampler(first.init, lambda rng, state: second.step(rng, first.step(rng, state)))
