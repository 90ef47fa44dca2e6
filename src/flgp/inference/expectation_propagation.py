"""Expectation propagation in weight space: calibrated where Laplace is too wide."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..likelihoods import Likelihood, Observations
from .posterior import Design, Evaluation, gradient_log_d, site_posterior

_MAX_SWEEPS = 300
_TOLERANCE, _ROUGH_TOLERANCE = 1e-6, 3e-3
_MEMORY, _DAMPING = 6, 0.6
# Cavity precisions are kept at least this share of the marginal precision.
_SMALLEST_CAVITY = 1e-8


class _AndersonMixer:
    """Anderson acceleration of a fixed-point iteration.

    Labels that lie close together would all correct the same error at once, so that the plain parallel
    update overshoots; combining the last few steps finds the common correction in a handful of sweeps.
    """

    def __init__(self) -> None:
        self._points: list[Array] = []
        self._gaps: list[Array] = []
        self._best = np.inf

    def __call__(self, point: Array, gap: Array, change: float) -> Array:
        """The next point (2, m) after `point`, where the plain update would add `gap`."""
        if change > 10.0 * self._best:  # the combination led astray: begin again, cautiously
            self._points, self._gaps = self._points[-1:], self._gaps[-1:]
        self._best = min(self._best, change)
        self._points = [*self._points[-_MEMORY:], point]
        self._gaps = [*self._gaps[-_MEMORY:], gap]
        if len(self._points) == 1:
            return point + _DAMPING * gap
        steps = np.stack([p - point for p in self._points[:-1]])
        changes = np.stack([g - gap for g in self._gaps[:-1]])
        flat = changes.reshape(len(changes), -1)
        gram = flat @ flat.T
        gram[np.diag_indices_from(gram)] *= 1.0 + 1e-10
        share = np.linalg.lstsq(gram, -flat @ gap.ravel(), rcond=1e-12)[0]
        return point + np.tensordot(share, steps, 1) + _DAMPING * (gap + np.tensordot(share, changes, 1))


class ExpectationPropagation:
    """Parallel EP: all sites are updated from one factorisation, at Newton's cost a sweep.

    At a fixed point the evidence is stationary in the sites, so its derivatives in the hyperparameters
    need no implicit terms.

    Parameters
    ----------
    features : array of shape (m, M)
    obs : Observations
    offset : float
        The prior mean of f.
    """

    def __init__(self, features: Array, obs: Observations, offset: float | Array = 0.0) -> None:
        self.features, self.obs, self.offset = features, obs, offset

    def evaluate(
        self, d: Array, likelihood: Likelihood, state: Array | None = None, rough: bool = False
    ) -> Evaluation:
        """Evidence, derivatives and posterior for prior variances d (M,).

        `state` holds the site precisions and shifts (2, m) of an evaluation nearby. A `rough` evaluation
        stops earlier: its evidence, stationary in the sites, is still good to about 1e-5.
        """
        tolerance = _ROUGH_TOLERANCE if rough else _TOLERANCE
        design = Design.of(self.features, d)
        A, m = design.matrix, len(self.features)
        prior_variance = np.einsum("ij,ij->i", A, A)
        tau, nu = np.zeros((2, m)) if state is None else state
        mixer = _AndersonMixer()
        for _ in range(_MAX_SWEEPS):
            site = site_posterior(A, tau, nu)
            factor = site.inverse_factor
            spread = A @ factor
            variance = np.maximum(np.einsum("ij,ij->i", spread, spread), 1e-12 * prior_variance + 1e-300)
            cavity_precision = np.maximum(1.0 / variance - tau, _SMALLEST_CAVITY / variance)
            cavity_variance = 1.0 / cavity_precision
            cavity_mean = cavity_variance * (site.latent_mean / variance - nu)
            tilted = likelihood.tilted(self.obs, self.offset + cavity_mean, cavity_variance)
            curvature = np.maximum(tilted.curvature, 0.0)
            shrink = np.maximum(1.0 - cavity_variance * curvature, 1e-10)
            gap_tau = curvature / shrink - tau
            gap_nu = (tilted.gradient + cavity_mean * curvature) / shrink - nu
            # In standard deviations of the latent mean, so that flat sites do not count.
            change = np.max(
                np.abs(gap_tau) * variance + np.abs(gap_nu - gap_tau * site.latent_mean) * np.sqrt(variance)
            )
            if change < tolerance:
                break
            tau, nu = mixer(np.stack([tau, nu]), np.stack([gap_tau, gap_nu]), change)
            tau = np.maximum(tau, 0.0)

        scaled = 1.0 + tau * cavity_variance
        exponent = nu**2 * cavity_variance + 2 * nu * cavity_mean - tau * cavity_mean**2
        log_evidence = (
            -0.5 * site.log_det
            + 0.5 * float(nu @ site.latent_mean)
            + float(np.sum(tilted.log_normalizer + 0.5 * np.log(scaled) - 0.5 * exponent / scaled))
        )
        own = likelihood.tilted_parameter_gradient(self.obs, self.offset + cavity_mean, cavity_variance)
        return Evaluation(
            log_evidence,
            gradient_log_d(design, factor, nu - tau * site.latent_mean),
            np.array([np.sum(part) for part in own]),
            design.weights(site.mean, factor),
            np.stack([tau, nu]),
        )
