"""Laplace approximation: Newton's method for the mode, in weight space; corrected if asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..likelihoods import Likelihood, Observations
from .beyond_laplace import Correction, moment_matched
from .newton import climb
from .posterior import Design, Evaluation, Point, SitePosterior, site_posterior
from .weighted import WeightedLikelihood


@dataclass(frozen=True, eq=False)
class LaplaceInference:
    """Mode, curvature and Laplace evidence for a likelihood that acts row by row."""

    features: Array  # (m, M)
    obs: Observations
    offset: float | Array = 0.0  # the prior mean of f, (m,) or one number
    corrected: bool = False  # whether evidence and posterior make up for what is not Gaussian

    def evaluate(self, at: Point) -> Evaluation:
        """`at.state` is ∂ log p/∂f (m,) at the mode of an evaluation nearby: there v = Aᵀ ∂ log p/∂f."""
        design, likelihood = Design.of(self.features, at.d), at.one_function
        site, v, f = self._mode(design, likelihood, at.state)
        target = WeightedLikelihood(likelihood, self.obs)
        gradient, W = target.gradient_and_curvature(f)
        log_evidence = target.log_density(f) - 0.5 * float(v @ v) - 0.5 * site.log_det

        factor = site.inverse_factor
        spread = design.matrix @ factor  # (m, q): its rows squared are the latent variances
        variance = np.einsum("ij,ij->i", spread, spread)
        posterior, correction = (v, factor), 0.0
        by_d: Array = np.zeros(len(at.d))
        by_mode: Array = np.zeros(len(f))
        by_curvature = -0.5 * variance
        own = np.zeros(len(likelihood.parameter_names))
        if self.corrected:
            beyond = Correction.of(target, f, spread)
            correction = beyond.value
            by_curvature += beyond.by_curvature
            by_mode, (along, inner) = beyond.by_mode, beyond.by_covariance
            # ∂C/∂log d_j = (AH⁻¹)_j (AH⁻¹)_jᵀ
            by_d = 0.5 * design.lifted(factor @ along) ** 2 + design.diagonal(factor, inner)
            own += np.nan if at.one_of_many else beyond.by_parameters()
            if not at.rough:
                better = moment_matched(design.matrix, self.offset, target, f, spread)
                posterior = better.mean, better.inverse_factor
        # The mode moves with the hyperparameters, and log|H| with the mode.
        pull = by_curvature * target.curvature_slope(f) + by_mode
        if likelihood.log_concave:
            moved = spread @ (spread.T @ pull)
            response = pull - W * moved  # (I + WK)⁻¹ pull
        else:  # the mode follows the exact curvature, which the evidence does not use
            exact = target.exact_curvature(f)
            moved = design.matrix @ _solved(design.matrix, exact, design.matrix.T @ pull)
            response = pull - exact * moved
        # ½[(A_iᵀα)² - (AᵀRA)_ii], AᵀRA = I - H⁻¹ in the coordinates of v, and how the mode moves.
        dual = design.transpose_times(gradient)
        by_d += 0.5 * (dual**2 - (design.diagonal(np.eye(len(v))) - design.diagonal(factor)))
        by_d += design.transpose_times(response) * dual
        return Evaluation(
            log_evidence + correction,
            by_d,
            own + target.parameter_gradient(f, by_curvature, moved),
            (design.weights(*posterior),),
            gradient,
            correction=correction,
        )

    def sites(self, d: Array, likelihood: Likelihood) -> Array:
        """Gaussian sites with the slope and curvature of log p at the mode: precisions and shifts (2, m)."""
        f = self._mode(Design.of(self.features, d), likelihood, None)[2]
        target = WeightedLikelihood(likelihood, self.obs)
        gradient, W = target.gradient_and_curvature(f)
        return np.array([W, W * (f - self.offset) + gradient])

    def _mode(
        self, design: Design, likelihood: Likelihood, start: Array | None
    ) -> tuple[SitePosterior, Array, Array]:
        """From f = offset, or from `start` if that is better."""
        A, target = design.matrix, WeightedLikelihood(likelihood, self.obs)
        posterior = _InWeights(A, self.offset, target)
        v: Array = np.zeros(A.shape[1])
        if start is not None and posterior.objective(A.T @ start) > posterior.objective(v):
            v = A.T @ start
        v = climb(posterior, v, likelihood.log_concave)
        f = self.offset + A @ v
        return site_posterior(A, target.curvature(f), np.zeros(len(A))), v, f


def _solved(A: Array, W: Array, right: Array) -> Array:
    """(I + AᵀWA)⁻¹ right, for a W that may be negative in some rows; the matrix is regular at a mode."""
    H = (A.T * W) @ A
    H[np.diag_indices_from(H)] += 1.0
    return np.linalg.lstsq(H, right, rcond=1e-12)[0]


@dataclass(frozen=True)
class _InWeights:
    """log p(y | f = offset + Av) - ½|v|²."""

    A: Array  # (m, q)
    offset: float | Array
    target: WeightedLikelihood

    def objective(self, v: Array) -> float:
        return self.target.log_density(self.offset + self.A @ v) - 0.5 * float(v @ v)

    def step(self, v: Array) -> tuple[Array, float]:
        f = self.offset + self.A @ v
        gradient, W = self.target.gradient_and_curvature(f)
        step = site_posterior(self.A, W, W * (f - self.offset) + gradient).mean - v
        return step, float(step @ (self.A.T @ gradient - v))
