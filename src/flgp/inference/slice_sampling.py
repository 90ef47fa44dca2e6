"""Elliptical slice sampling: for any likelihood, without a gradient and without tuning.

A move proposes points on the ellipse through the current weights and a fresh draw of a Gaussian, and
shrinks towards the current point until one is accepted (Murray, Adams & MacKay 2010). The Gaussian is the
prior and, where an approximate posterior is known, that one too (Nishihara, Murray & Adams 2014): the
density is then the approximation times a ratio that is nearly constant, and draws are nearly independent.
On the prior's ellipses alone, a chain of a hundred weights with informative data hardly moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Array
from .posterior import Posterior
from .sampler import Sampler, State, WeightDensity

# A bracket this narrow holds nothing but the current point.
_NARROW = 1e-10
# Moves on the approximation's ellipses for each one on the prior's, which shrinks its bracket longer.
_MOVES = 4


class Reference(NamedTuple):
    """The Gaussian N(mean, C Cᵀ) whose ellipses a move follows, with what is computed once."""

    mean: Array  # (q,)
    factor: Array  # (q, q) C
    inverse: Array  # C⁻¹
    latent_mean: Array  # (m,) f at the mean

    @classmethod
    def of(cls, posterior: Posterior, density: WeightDensity) -> Reference:
        """Reference from an approximate posterior of v."""
        mean, factor = posterior.mean, posterior.factor
        return cls(mean, factor, np.linalg.inv(factor), density.design @ mean + density.offset)


def slice_sampler(density: WeightDensity, approximation: Posterior | None = None) -> Sampler:
    """The elliptical slice sampler of the whitened weights of one latent function.

    With an approximate posterior of v a step is four moves on its ellipses and one on the prior's, which
    keeps the chain moving where the approximation's tails are too light. Chains then start at its draws: in
    its tails, where a wide prior begins, a chain could stay for long.
    """
    close = None if approximation is None else Reference.of(approximation, density)
    references = [None] if close is None else [close] * _MOVES + [None]

    def init(rng: np.random.Generator) -> State:
        if close is not None:
            z = rng.standard_normal(len(close.factor))
            state = density.state(close.mean + close.factor @ z)
            if np.isfinite(state.log_density):
                return state
        return density.draw_start(rng)

    def step(rng: np.random.Generator, state: State) -> State:
        for reference in references:
            state = slice_move(rng, state, density, reference)
        return state

    return Sampler(init, step)


def slice_move(
    rng: np.random.Generator, state: State, density: WeightDensity, reference: Reference | None = None
) -> State:
    """One elliptical slice move on an ellipse of `reference` (None: of the prior)."""
    # 1. The ellipse: u(θ) = u cos θ + z sin θ in coordinates where the Gaussian is N(0, I), hence
    #    v(θ) = mean + x cos θ + y sin θ; f is linear in v, so it has one too.
    z = rng.standard_normal(density.shape)
    mean: Array | float
    latent_mean: Array | float
    if reference is None:
        mean, latent_mean = 0.0, density.offset
        u = x = state.weights
        y = z
    else:
        mean, latent_mean = reference.mean, reference.latent_mean
        x = state.weights - mean
        u = reference.inverse @ x
        y = reference.factor @ z
    f_x, f_y = state.latent - latent_mean, density.design @ y

    # 2. The height of the slice under the density over the Gaussian.
    height = state.log_density + 0.5 * float(np.sum(u**2)) + np.log1p(-rng.random())

    # 3. Shrink the bracket of angles until a point lies in the slice.
    angle = rng.uniform(0.0, 2 * np.pi)
    low, high = angle - 2 * np.pi, angle
    while high - low > _NARROW:
        cosine, sine = np.cos(angle), np.sin(angle)
        weights = mean + x * cosine + y * sine
        latent = latent_mean + f_x * cosine + f_y * sine
        log_density = density.log_likelihood(latent) - 0.5 * float(np.sum(weights**2))
        if log_density + 0.5 * float(np.sum((u * cosine + z * sine) ** 2)) > height:
            return State(weights, latent, log_density)
        low, high = (angle, high) if angle < 0 else (low, angle)
        angle = rng.uniform(low, high)
    return state
