"""What Laplace's approximation leaves out of the evidence and of the posterior.

Laplace replaces each p(y_i | f_i) by a Gaussian site t_i, its expansion at the mode. With q Laplace's
posterior, the exact evidence is Laplace's times E_q[Π g_i], g_i = p_i/t_i. One by one the rows give Σ c_i,
c_i = log E_q[g_i]. What two rows have to do with each other follows from the moments of f_i under g_i q: with
C the covariance of f under q, α the mean's distance from the mode over C_ii, and β the change of the variance
over C_ii²,

    log E_q[Π g_i]  ≈  Σ_i c_i + ½ Σ_{i≠j} α_i C_ij α_j + ¼ Σ_{i≠j} β_i C_ij² β_j.

The first sum is expectation propagation (EP) before its first step (Cseke & Heskes 2011); the pairs are the
next order of the expansion of Opper, Paquet & Winther (2013), as far as EP's own steps take it into account.
Together they are nearly EP's evidence, without its iterations. All integrals have one dimension and fixed
nodes, so that their derivatives are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from .._typing import Array, BoolArray
from .posterior import SitePosterior, site_posterior
from .weighted import WeightedLikelihood

_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(20)
_NODES, _LOG_SHARES = _NODES[:, None], np.log(_SHARES / _SHARES.sum())[:, None]
# Where a log-density is so large that rounding hides its shape, the label says so much that Laplace is exact.
_ROUNDING, _HIDDEN = 16.0 * np.finfo(float).eps, 1e-8
# Sweeps for the posterior. The nodes do not resolve a density whose mean is farther off than this, in
# standard deviations, or whose share of the variance is smaller.
_SWEEPS, _FAR, _NARROWEST = 2, 3.0, 0.05
# Nats that the correction can reach: so many, and so many for each label. Where it would be larger, Laplace's
# approximation is too far off for an expansion about it, and the search must not be drawn there.
_LIMIT, _LIMIT_PER_LABEL = 2.0, 0.2
# A variance below this is 0: there the prior is certain.
_CERTAIN = 1e-300


@dataclass(frozen=True)
class _Tilted:
    """Each row's density g_i q at nodes about f, where q has variances s and the site has a slope there."""

    apart: Array  # (k, m) u: the nodes minus f
    log_g: Array  # (k, m)
    share: Array  # (k, m)
    seen: BoolArray  # (m,) whether there is anything to correct
    s: Array  # (m,)
    log_z: Array  # (m,) c
    first: Array  # (m,) the mean in standard deviations of q from f
    second: Array  # (m,) the mean of the square

    @classmethod
    def of(cls, target: WeightedLikelihood, f: Array, s: Array, slope: Array, tau: Array) -> _Tilted:
        likelihood, obs, weight = target.likelihood, target.obs, target.obs.weight
        certain = s < _CERTAIN
        s = np.where(certain, 1.0, s)
        u, here = np.sqrt(s) * _NODES, weight * likelihood.log_density_in_f(obs, f)
        seen = (_ROUNDING * np.abs(here) < _HIDDEN) & ~certain
        log_g = weight * likelihood.log_density_in_f(obs, f + u) - here - u * (slope - 0.5 * tau * u)
        log_g = np.where(seen, log_g, 0.0)
        log_z = logsumexp(log_g + _LOG_SHARES, axis=0)
        share = np.exp(log_g + _LOG_SHARES - log_z)
        first, second = (np.sum(share * power, axis=0) for power in (_NODES, _NODES**2))
        first, second = np.where(seen, first, 0.0), np.where(seen, second, 1.0)
        return cls(u, log_g, share, seen, s, log_z, first, second)

    def sites(self, slope: Array, tau: Array) -> tuple[Array, Array]:
        """Sites that give q these means and variances, the others unchanged: precisions and slopes at f (m,).

        Without log-concavity a precision could be negative; then it is 0, and the mean alone is right.
        """
        variance = np.maximum(self.second - self.first**2, _NARROWEST)
        new = np.maximum(tau + (1.0 - variance) / (variance * self.s), 0.0)
        return new, slope + self.first * np.sqrt(self.s) * (new - tau + 1.0 / self.s)


def moment_matched(
    A: Array, offset: float | Array, target: WeightedLikelihood, f: Array, S: Array
) -> SitePosterior:
    """The posterior after sweeps of EP from Laplace's sites at the mode f (m,), for the covariance SSᵀ there.

    Two of them bring means to 0.02 and standard deviations to 1 % of EP's fixed point, where the prior is not
    so wide that labels saturate. They end where a label contradicts all others.
    """
    slope, tau = target.gradient_and_curvature(f)
    posterior = site_posterior(A, tau, tau * (f - offset) + slope)
    for _ in range(_SWEEPS):
        tilted = _Tilted.of(target, f, np.einsum("ij,ij->i", S, S), slope, tau)
        if np.abs(tilted.first).max() > _FAR:
            break
        tau, slope = tilted.sites(slope, tau)
        posterior = site_posterior(A, tau, tau * (f - offset) + slope)
        moved = offset + A @ posterior.mean
        f, slope, S = moved, slope + tau * (f - moved), A @ posterior.inverse_factor
    return posterior


@dataclass(frozen=True)
class Correction:
    """The correction of the log evidence and its derivatives.

    The mode, W and the covariance of f count as separate variables.
    """

    target: WeightedLikelihood
    mode: Array  # (m,) f
    apart: Array  # (k, m) nodes minus the mode
    influence: Array  # (k, m) derivative of the correction in log g at the nodes
    value: float
    by_mode: Array  # (m,)
    by_curvature: Array  # (m,) through W alone and through the covariance
    by_covariance: tuple[Array, Array]  # x (q,) and N (q, q): S(½xxᵀ + N)Sᵀ, where the covariance is SSᵀ

    @classmethod
    def of(cls, target: WeightedLikelihood, f: Array, S: Array) -> Correction:
        """At the mode f (m,), for the covariance SSᵀ with S (m, q)."""
        likelihood, obs = target.likelihood, target.obs
        slope, W = target.gradient_and_curvature(f)
        tilted = _Tilted.of(target, f, np.einsum("ij,ij->i", S, S), slope, W)
        u, s, first, second, seen = tilted.apart, tilted.s, tilted.first, tilted.second, tilted.seen
        # The derivative of log g in u, and that in a mode that takes the nodes with it.
        rise = obs.weight * likelihood.slope_and_curvature(obs, f + u)[0] - slope
        steep, carried = (
            np.where(seen, rise + curvature * u, 0.0) for curvature in (W, target.exact_curvature(f))
        )
        sd = np.sqrt(s)
        alpha, beta = first / sd, (second - 1.0) / s
        x, N = S.T @ alpha, S.T @ (beta[:, None] * S)
        along, across = S @ x, np.einsum("ij,ij->i", S @ N, S)  # Cα and (C∘C)β
        # Derivatives in α and β, without the pairs of a row with itself.
        by_alpha, by_beta = along - first * sd, 0.5 * (across - (second - 1.0) * s)
        limit = _LIMIT + _LIMIT_PER_LABEL * len(f)
        bounded = np.tanh((tilted.log_z.sum() + 0.5 * (alpha @ by_alpha + beta @ by_beta)) / limit)

        influence = by_alpha * (_NODES - first) / sd + by_beta * (_NODES**2 - second) / s
        influence = np.where(seen, tilted.share * (1.0 + influence), 0.0)
        by_variance = np.sum(influence * steep * _NODES, axis=0) / (2.0 * sd)
        by_variance -= (
            by_alpha * alpha / (2.0 * s) + by_beta * beta / s + 0.5 * (first**2 + (second - 1.0) ** 2) / s
        )
        inner = 0.5 * N @ N + S.T @ (by_variance[:, None] * S)
        # ∂C/∂W_k = -(column k of C)(the same)ᵀ
        by_curvature = 0.5 * np.sum(influence * u**2, axis=0)
        by_curvature -= 0.5 * along**2 + np.einsum("ij,ij->i", S @ inner, S)
        by_mode, k = np.sum(influence * carried, axis=0), 1.0 - bounded**2
        by_covariance = np.sqrt(k) * x, k * inner
        return cls(target, f, u, k * influence, limit * bounded, k * by_mode, k * by_curvature, by_covariance)

    def by_parameters(self) -> list[float]:
        """In the logarithms of the likelihood's parameters, at fixed mode, covariance and W."""
        likelihood, obs = self.target.likelihood, self.target.obs
        at_nodes = likelihood.parameter_derivatives(obs, self.mode + self.apart)
        at_mode = likelihood.parameter_derivatives(obs, self.mode)
        weight = self.influence * obs.weight
        return [
            float(np.sum(weight * (far.log_density - near.log_density - near.gradient * self.apart)))
            for far, near in zip(at_nodes, at_mode, strict=True)
        ]
