"""Gibbs sampling by Pólya-Gamma augmentation: exact for logistic kinds of likelihoods.

Where p(y | f)^weight ∝ exp(a ψ) / (1 + exp ψ)^b with ψ = f + shift, a variable ω ~ PG(b, ψ) for each row
makes the weights Gaussian (Polson, Scott & Windle 2013). With κ = a - b/2 and ψ = A v + c,

    ω_i | v ~ PG(b_i, ψ_i),    v | ω ~ N(H⁻¹ Aᵀ(κ - ω c), H⁻¹),    H = I + Aᵀ diag(ω) A.

Nothing is tuned and nothing is rejected; a sweep costs one q×q Cholesky factor. The multinomial probit has
an augmentation of its own: the noisy utilities of which the label names the largest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dtrtrs
from scipy.special import log_ndtr, ndtri_exp

from .._typing import Array
from ..likelihoods import Bernoulli, Binomial, Categorical, Likelihood, NegativeBinomial, Observations
from .polya_gamma import polyagamma_package, sample_polya_gamma
from .sampler import Sampler, State, WeightDensity

# Rounds of the utilities, given f: they cost little compared with the weights.
_UTILITY_SWEEPS = 5


class Augmentation(NamedTuple):
    """The Pólya-Gamma form of the rows' densities, each of shape (m,)."""

    shape: Array  # b
    kappa: Array  # κ
    shift: Array  # ψ - f


def can_augment(likelihood: Likelihood | Categorical) -> bool:
    """Whether `gibbs_sampler` knows this likelihood."""
    if isinstance(likelihood, Bernoulli):
        return likelihood.link == "logit" and likelihood.log_concave
    return isinstance(likelihood, Binomial | NegativeBinomial | Categorical)


def augment(likelihood: Likelihood | Categorical, obs: Observations) -> Augmentation:
    """Write weight·log p(y | f) in Pólya-Gamma form, for one latent function.

    Bernoulli and binomial: b = trials, κ = y - trials/2, ψ = f. Negative binomial with mean
    μ = exposure·exp(f) and r = 1/dispersion: y successes of probability μ/(μ + r) before r failures, so
    b = y + r, κ = (y - r)/2, ψ = f + log(exposure·dispersion).
    """
    if isinstance(likelihood, NegativeBinomial):
        if likelihood.dispersion is None:
            raise ValueError("Gibbs sampling holds the dispersion fixed: set it in the likelihood.")
        failures = 1.0 / likelihood.dispersion
        shape, kappa = obs.y + failures, (obs.y - failures) / 2
        shift = np.log(obs.exposure * likelihood.dispersion)
    elif isinstance(likelihood, Bernoulli | Binomial) and can_augment(likelihood):
        trials = obs.trials if isinstance(likelihood, Binomial) else np.ones_like(obs.y)
        shape, kappa, shift = trials, obs.y - trials / 2, np.zeros_like(obs.y)
    else:
        raise ValueError(
            f"{likelihood!r} has no Pólya-Gamma form: the logit Bernoulli, the binomial and the negative "
            "binomial have one. Use `slice_sampler` for this one."
        )
    return Augmentation(obs.weight * shape, obs.weight * kappa, shift)


def gibbs_sampler(density: WeightDensity) -> Sampler:
    """The Gibbs sampler of the whitened weights; its chains start at draws of the prior."""
    obs, likelihood, offset = density.obs, density.likelihood, density.offset
    if isinstance(likelihood, Categorical):
        return _probit_sampler(density, likelihood.n_classes)
    polyagamma_package()  # a missing package is reported before any work is done
    shape, kappa, shift = augment(likelihood, obs)
    constant = np.broadcast_to(offset + shift, shape.shape)

    def step(rng: np.random.Generator, state: State) -> State:
        omega = sample_polya_gamma(shape, state.latent + shift, rng)
        weights = _draw_weights(density.design, omega, kappa - omega * constant, rng)
        return density.state(weights)

    return Sampler(density.draw_start, step)


def _probit_sampler(density: WeightDensity, n_classes: int) -> Sampler:
    """Albert and Chib: the utilities u = f + ε given which of them is the largest, then the weights given u.

    The precision of the weights, I + AᵀA, is the same in every sweep. Rows need unit weights.
    """
    obs, design = density.obs, density.design
    if np.any(obs.weight != 1.0):
        raise ValueError("The sampler of the multinomial probit counts every label once: leave weights out.")
    offset = np.broadcast_to(density.offset, (len(design), n_classes))
    rows, y = np.arange(len(design)), obs.y.astype(int)
    root = np.linalg.cholesky(np.eye(design.shape[1]) + design.T @ design)

    def step(rng: np.random.Generator, state: State) -> State:
        f, u = state.latent, state.latent.copy()
        u[rows, y] = -np.inf
        # The others first, below the labelled one's last value, which is what the weights' draw left of it.
        top = np.maximum(f[rows, y], f.max(axis=1)) + np.abs(rng.standard_normal(len(f)))
        for _ in range(_UTILITY_SWEEPS):
            u = f + truncated_normal(-np.inf, top[:, None] - f, rng)
            u[rows, y] = -np.inf
            low = u.max(axis=1)
            top = f[rows, y] + truncated_normal(low - f[rows, y], np.inf, rng)
        u[rows, y] = top
        mean = dtrtrs(root, design.T @ (u - offset), lower=1)[0]
        noise = rng.standard_normal(mean.shape)
        return density.state(dtrtrs(root, mean + noise, lower=1, trans=1)[0])

    return Sampler(density.draw_start, step)


def truncated_normal(low: Array | float, high: Array | float, rng: np.random.Generator) -> Array:
    """Draws of N(0, 1) between bounds, of which one is infinite."""
    low, high = np.broadcast_arrays(low, high)
    sign = np.where(np.isfinite(low), -1.0, 1.0)  # by symmetry, always from below
    bound = np.where(sign > 0, high, -low)
    log_share = log_ndtr(bound) + np.log1p(-rng.random(bound.shape))
    return sign * ndtri_exp(log_share)


def _draw_weights(design: Array, tau: Array, nu: Array, rng: np.random.Generator) -> Array:
    """A draw of v ~ N(H⁻¹ Aᵀν, H⁻¹), H = I + Aᵀ diag(τ) A = L Lᵀ: v = L⁻ᵀ (L⁻¹ Aᵀν + z)."""
    # LAPACK itself, since SciPy's checks cost more than the algebra of small problems.
    half = design * np.sqrt(tau)[:, None]
    precision = dsyrk(1.0, half, trans=1, lower=1)  # the upper half is not filled
    precision.ravel(order="K")[:: len(precision) + 1] += 1.0
    root, failed = dpotrf(precision, lower=1, overwrite_a=1, clean=0)
    if failed:
        raise np.linalg.LinAlgError("The precision of the weights is not finite: check the design and y.")
    whitened = dtrtrs(root, design.T @ nu, lower=1)[0] + rng.standard_normal(len(root))
    return dtrtrs(root, whitened, lower=1, trans=1)[0]
