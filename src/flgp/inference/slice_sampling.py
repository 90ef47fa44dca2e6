"""Elliptical slice sampling: for any likelihood, without a gradient and without tuning.

A move proposes points on the ellipse through the current weights and a fresh draw of a Gaussian, and
shrinks towards the current point until one is accepted (Murray, Adams & MacKay 2010). The Gaussian is the
prior and, where an approximate posterior is known, that one too (Nishihara, Murray & Adams 2014): the
target is then the approximation times a ratio that is nearly constant, and draws are nearly independent.
On the prior's ellipses alone, a chain of a hundred weights with informative data hardly moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..likelihoods import Categorical, Likelihood, Observations
from .posterior import WeightPosterior
from .sampler import Sampler, State, Target

# A bracket this narrow holds nothing but the current point.
_NARROW = 1e-10
# Moves on the approximation's ellipses for each one on the prior's, which shrinks its bracket longer.
_MOVES = 4


class SliceInfo(NamedTuple):
    """How hard one step was."""

    n_evaluations: int  # likelihood evaluations, over all moves of the step
    stuck: bool  # a bracket closed on the current point: it was kept


class Reference(NamedTuple):
    """The Gaussian N(mean, C Cᵀ) whose ellipses a move follows, with what is computed once."""

    mean: Array  # (q,) or (q, C)
    factor: Array  # C, square, for the raveled weights
    inverse: Array  # C⁻¹
    latent_mean: Array  # f at the mean, (m,) or (m, C)

    @classmethod
    def of(cls, posterior: WeightPosterior, target: Target) -> Reference:
        """Reference from an approximate posterior of the raveled weights v."""
        mean = np.reshape(posterior.mean, target.shape)
        inverse = np.linalg.inv(posterior.factor)
        return cls(mean, posterior.factor, inverse, target.design @ mean + target.offset)


def slice_sampler(
    design: Array,
    obs: Observations,
    likelihood: Likelihood | Categorical,
    *,
    offset: Array | float = 0.0,
    approximation: WeightPosterior | None = None,
) -> Sampler:
    """The elliptical slice sampler of the whitened weights.

    Parameters
    ----------
    design : ndarray of shape (m, q)
        The whitened design A.
    obs : Observations
        The m labelled rows.
    likelihood : Likelihood or Categorical
        Any, its parameters set. With Categorical v is (q, C) and f is (m, C).
    offset : ndarray of shape (m,) or (m, C), or float
        A fixed part of f.
    approximation : WeightPosterior, optional
        An approximate posterior of v (raveled in C order). A step is then four moves on its ellipses and
        one on the prior's, which keeps the chain moving where the approximation's tails are too light.

    Returns
    -------
    Sampler
        `init(rng)` starts at a draw of the approximation if there is one (in its tails, where a wide prior
        begins, a chain could stay for long), else of the prior; `step(rng, state)` returns a `SliceInfo`.
    """
    target = Target(np.asfortranarray(design, dtype=float), obs, likelihood, offset)
    close = None if approximation is None else Reference.of(approximation, target)
    references = [None] if close is None else [close] * _MOVES + [None]

    def init(rng: np.random.Generator) -> State:
        if close is not None:
            z = rng.standard_normal(len(close.factor))
            state = target.state(close.mean + (close.factor @ z).reshape(target.shape))
            if np.isfinite(state.log_density):
                return state
        return target.draw_start(rng)

    def step(rng: np.random.Generator, state: State) -> tuple[State, SliceInfo]:
        evaluations, stuck = 0, False
        for reference in references:
            state, info = slice_move(rng, state, target, reference)
            evaluations += info.n_evaluations
            stuck = stuck or info.stuck
        return state, SliceInfo(evaluations, stuck)

    return Sampler(init, step)


def slice_move(
    rng: np.random.Generator, state: State, target: Target, reference: Reference | None = None
) -> tuple[State, SliceInfo]:
    """One elliptical slice move on an ellipse of `reference` (None: of the prior)."""
    # 1. The ellipse: u(θ) = u cos θ + z sin θ in coordinates where the Gaussian is N(0, I), hence
    #    v(θ) = mean + x cos θ + y sin θ; f is linear in v, so it has one too.
    z = rng.standard_normal(target.shape)
    mean: Array | float
    latent_mean: Array | float
    if reference is None:
        mean, latent_mean = 0.0, target.offset
        u = x = state.weights
        y = z
    else:
        mean, latent_mean = reference.mean, reference.latent_mean
        x = state.weights - mean
        u = (reference.inverse @ x.ravel()).reshape(target.shape)
        y = (reference.factor @ z.ravel()).reshape(target.shape)
    f_x, f_y = state.latent - latent_mean, target.design @ y

    # 2. The height of the slice under target(v) / Gaussian(v).
    height = state.log_density + 0.5 * float(np.sum(u**2)) + np.log1p(-rng.random())

    # 3. Shrink the bracket of angles until a point lies in the slice.
    angle = rng.uniform(0.0, 2 * np.pi)
    low, high = angle - 2 * np.pi, angle
    evaluations = 0
    while high - low > _NARROW:
        cosine, sine = np.cos(angle), np.sin(angle)
        weights = mean + x * cosine + y * sine
        latent = latent_mean + f_x * cosine + f_y * sine
        log_density = target.log_likelihood(latent) - 0.5 * float(np.sum(weights**2))
        evaluations += 1
        if log_density + 0.5 * float(np.sum((u * cosine + z * sine) ** 2)) > height:
            return State(weights, latent, log_density), SliceInfo(evaluations, False)
        low, high = (angle, high) if angle < 0 else (low, angle)
        angle = rng.uniform(low, high)
    return state, SliceInfo(evaluations, True)
