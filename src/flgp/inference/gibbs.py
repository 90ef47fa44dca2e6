"""Gibbs sampling by Pólya-Gamma augmentation: exact for logistic kinds of likelihoods.

Where p(y | f)^weight ∝ exp(a ψ) / (1 + exp ψ)^b with ψ = f + shift, a variable ω ~ PG(b, ψ) for each row
makes the weights Gaussian (Polson, Scott & Windle 2013). With κ = a - b/2 and ψ = A v + c,

    ω_i | v ~ PG(b_i, ψ_i),    v | ω ~ N(H⁻¹ Aᵀ(κ - ω c), H⁻¹),    H = I + Aᵀ diag(ω) A.

Nothing is tuned and nothing is rejected; a sweep costs one q×q Cholesky factor. The softmax has this form
in one class at a time, the others given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dtrtrs

from .._typing import Array
from ..likelihoods import Bernoulli, Binomial, Categorical, Likelihood, NegativeBinomial, Observations
from .polya_gamma import polyagamma_package, sample_polya_gamma
from .sampler import Sampler, State, Target


class Augmentation(NamedTuple):
    """The Pólya-Gamma form of the rows' densities, each of shape (m,)."""

    shape: Array  # b
    kappa: Array  # κ
    shift: Array  # ψ - f


class GibbsInfo(NamedTuple):
    """What a sweep drew besides the weights: site precisions τ = ω of the Gaussian they came from."""

    omega: Array  # (m,) or (m, C)


def can_augment(likelihood: Likelihood | Categorical) -> bool:
    """Whether `gibbs_sampler` knows this likelihood."""
    if isinstance(likelihood, Bernoulli):
        return likelihood.link == "logit"
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
            f"{likelihood!r} has no Pólya-Gamma form: the logit Bernoulli, the binomial, the negative "
            "binomial and the softmax have one. Use `slice_sampler` for this one."
        )
    return Augmentation(obs.weight * shape, obs.weight * kappa, shift)


def gibbs_sampler(
    design: Array,
    obs: Observations,
    likelihood: Likelihood | Categorical,
    *,
    offset: Array | float = 0.0,
) -> Sampler:
    """The Gibbs sampler of the whitened weights.

    Parameters
    ----------
    design : ndarray of shape (m, q)
        The whitened design A; compress it to q ≤ m first.
    obs : Observations
        The m labelled rows. Weights multiply log-densities and need not be integers.
    likelihood : Likelihood or Categorical
        Logit Bernoulli, binomial, negative binomial with its dispersion set, or categorical: then v is
        (q, C) and f is (m, C).
    offset : ndarray of shape (m,) or (m, C), or float
        A fixed part of f.

    Returns
    -------
    Sampler
        `init(rng)` starts at a draw of the prior; `step(rng, state)` is one sweep and returns a
        `GibbsInfo`.
    """
    polyagamma_package()  # a missing package is reported before any work is done
    target = Target(np.asfortranarray(design, dtype=float), obs, likelihood, offset)
    if isinstance(likelihood, Categorical):
        return _softmax_sampler(target, likelihood.n_classes)
    shape, kappa, shift = augment(likelihood, obs)
    constant = np.broadcast_to(offset + shift, shape.shape)

    def step(rng: np.random.Generator, state: State) -> tuple[State, GibbsInfo]:
        omega = sample_polya_gamma(shape, state.latent + shift, rng)
        weights = _draw_weights(target.design, omega, kappa - omega * constant, rng)
        return target.state(weights), GibbsInfo(omega)

    return Sampler(target.draw_start, step)


def _softmax_sampler(target: Target, n_classes: int) -> Sampler:
    """Class by class: given the others, P(y = c) is logistic in ψ_c = f_c - log Σ_{k≠c} exp f_k."""
    obs, design = target.obs, target.design
    offset = np.broadcast_to(target.offset, (len(design), n_classes))
    kappa = obs.weight[:, None] * ((obs.y[:, None] == np.arange(n_classes)) - 0.5)

    def step(rng: np.random.Generator, state: State) -> tuple[State, GibbsInfo]:
        weights, latent = state.weights.copy(), state.latent.copy()
        omega = np.empty_like(latent)
        for c in range(n_classes):
            others = _log_sum_exp(np.delete(latent, c, axis=1))
            omega[:, c] = sample_polya_gamma(obs.weight, latent[:, c] - others, rng)
            linear = kappa[:, c] - omega[:, c] * (offset[:, c] - others)
            weights[:, c] = _draw_weights(design, omega[:, c], linear, rng)
            latent[:, c] = design @ weights[:, c] + offset[:, c]
        # The data do not see the sum over the classes: its posterior is its prior, independent of the rest.
        weights -= weights.mean(axis=1, keepdims=True)
        weights += rng.standard_normal((len(weights), 1)) / np.sqrt(n_classes)
        return target.state(weights), GibbsInfo(omega)

    return Sampler(target.draw_start, step)


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


def _log_sum_exp(x: Array) -> Array:
    top = x.max(axis=1)
    return top + np.log(np.exp(x - top[:, None]).sum(axis=1))
