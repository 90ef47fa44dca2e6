"""Laplace approximation: Newton's method for the mode, in weight space."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..likelihoods import Likelihood, Observations
from .posterior import Design, Evaluation, SitePosterior, gradient_log_d, site_posterior

_MAX_NEWTON = 200
# Newton's decrement: half the squared length of the step, in nats. What is left after the last step is
# its square where W is exact, and only a share of it where W is the expected curvature.
_TOLERANCE, _LINEAR_TOLERANCE = 1e-9, 1e-15
# Central differences of an expected curvature.
_STEP = 1e-5


class LaplaceInference:
    """Mode, curvature and Laplace evidence for a likelihood that acts row by row.

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

        `state` is ∂ log p/∂f (m,) at the mode of an evaluation nearby: there v = Aᵀ ∂ log p/∂f.
        """
        design = Design.of(self.features, d)
        site, v, f = self._mode(design, likelihood, state)
        obs, A = self.obs, design.matrix
        slope = likelihood.derivatives(obs, f)
        gradient = obs.weight * slope.gradient
        log_density = float(obs.weight @ likelihood.log_density(obs, f))
        log_evidence = log_density - 0.5 * float(v @ v) - 0.5 * site.log_det

        factor = site.inverse_factor
        spread = A @ factor  # (m, q): its rows squared are the latent variances
        variance = np.einsum("ij,ij->i", spread, spread)
        # The mode moves with the hyperparameters, and log|H| with the mode.
        pull = -0.5 * variance * obs.weight * self._curvature_slope(likelihood, f, slope.third)
        curvature = obs.weight * self._curvature(likelihood, f)
        response = pull - curvature * (spread @ (spread.T @ pull))  # (I + WK)⁻¹ pull
        along = design.transpose_times(response) * design.transpose_times(gradient)
        own = []
        for name, part in zip(
            likelihood.parameter_names, likelihood.parameter_derivatives(obs, f), strict=True
        ):
            shift = spread @ (spread.T @ (obs.weight * part.gradient))  # ∂f̂/∂log parameter
            bend = obs.weight * self._curvature_in_parameter(likelihood, f, name, part.curvature)
            own.append(obs.weight @ part.log_density - 0.5 * (variance @ bend) + pull @ shift)
        return Evaluation(
            log_evidence,
            gradient_log_d(design, factor, gradient) + along,
            np.array(own),
            design.weights(v, factor),
            gradient,
        )

    def _curvature(self, likelihood: Likelihood, f: Array) -> Array:
        """W ≥ 0: the exact one where the likelihood is log-concave, else the expected one."""
        return likelihood.expected_curvature(self.obs, f)

    def _curvature_slope(self, likelihood: Likelihood, f: Array, third: Array) -> Array:
        """∂W/∂f of the curvature in use."""
        if likelihood.log_concave:
            return -third
        step = _STEP * (1.0 + np.abs(f))
        high, low = self._curvature(likelihood, f + step), self._curvature(likelihood, f - step)
        return (high - low) / (2 * step)

    def _curvature_in_parameter(self, likelihood: Likelihood, f: Array, name: str, exact: Array) -> Array:
        """∂W/∂log parameter of the curvature in use."""
        if likelihood.log_concave:
            return exact
        value = getattr(likelihood, name)
        up, down = (
            self._curvature(likelihood.with_parameters(**{name: value * np.exp(h)}), f)
            for h in (_STEP, -_STEP)
        )
        return (up - down) / (2 * _STEP)

    def _mode(
        self, design: Design, likelihood: Likelihood, start: Array | None
    ) -> tuple[SitePosterior, Array, Array]:
        """Newton's method with step halving from f = offset, or from `start` if that is better."""
        A, obs = design.matrix, self.obs
        v = np.zeros(A.shape[1])
        if start is not None:
            v = A.T @ start
            if not self._objective(A, v, likelihood) > self._objective(A, 0 * v, likelihood):
                v = 0 * v
        value = self._objective(A, v, likelihood)
        tolerance = _TOLERANCE if likelihood.log_concave else _LINEAR_TOLERANCE
        for _ in range(_MAX_NEWTON):
            f = self.offset + A @ v
            W = obs.weight * self._curvature(likelihood, f)
            gradient = obs.weight * likelihood.derivatives(obs, f).gradient
            site = site_posterior(A, W, W * (f - self.offset) + gradient)
            step = site.mean - v
            if 0.5 * float(step @ (A.T @ gradient - v)) < tolerance:
                # So close the objective cannot judge a step any more, but the step itself is right.
                v = v + step
                break
            length = 1.0
            while (new := self._objective(A, v + length * step, likelihood)) < value and length > 1e-12:
                length *= 0.5
            v, value = v + length * step, new
        f = self.offset + A @ v
        W = obs.weight * self._curvature(likelihood, f)
        return site_posterior(A, W, np.zeros(len(A))), v, f

    def _objective(self, A: Array, v: Array, likelihood: Likelihood) -> float:
        f = self.offset + A @ v
        return float(self.obs.weight @ likelihood.log_density(self.obs, f)) - 0.5 * float(v @ v)
