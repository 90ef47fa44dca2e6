"""Laplace approximation of y ~ p(y | f), f = c + Φβ + u: the joint mode of weights and latent u.

With v = D^(-1/2)β ~ N(0, I), A = ΦD^(1/2) and u ~ N(0, Q⁻¹) at the distinct labelled points,
Q = (I-B)ᵀF⁻¹(I-B) a nearest-neighbour (Vecchia) factorisation, and P the matrix that gives each label its
point, the posterior precision of (v, u) is

    [ I + AᵀWA   AᵀWP ]
    [ PᵀWA          R ],   R = Q + PᵀWP sparse.

Given v, u is N(const - Gv, R⁻¹), G = R⁻¹PᵀWA; the precision of v alone is S = I + ÃᵀWÃ + GᵀQG, Ã = A - PG.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg, sparse

from .._linalg import log_determinant, safe_cholesky
from .._typing import Array, IntArray
from ..likelihoods import Likelihood, Observations
from ..terms.local.dissection import Front
from ..terms.local.euclidean import LocalModel
from ..terms.local.multifrontal import Assembled, SparseCholesky, assemble, factorize, selected_inverse
from ..terms.local.neighborhoods import Neighborhoods
from ..terms.local.vecchia import VecchiaFactor, vecchia_factor
from .joint import pair_products
from .newton import climb
from .posterior import Evaluation, WeightPosterior
from .weighted import WeightedLikelihood

# Features that the labels tell less about are left at their prior: S - I is at most AᵀWA.
_NEGLIGIBLE = 1e-13
# How much curvatures may differ, relative, from those that a step is taken with.
_NEAR = 0.2


@dataclass(frozen=True)
class LatentData:
    """What an evidence search does not change.

    Labels at the same place share one value of u: a latent function has no noise that would tell them apart.
    """

    features: Array  # (m, M) Φ, the intercept's column of ones included
    obs: Observations
    offset: float | Array  # c, the prior mean of f
    places: IntArray  # (m,) distinct point of each label
    near: Neighborhoods  # of the s distinct points
    fronts: list[Front]  # how their precision is factorised


@dataclass(frozen=True)
class LatentPosterior(WeightPosterior):
    """β ~ N(mean, C Cᵀ) and u | β ~ N(local_mean - GD^(-1/2)(β - mean), R⁻¹) at the s distinct points."""

    local_mean: Array  # (s,) û
    local_spread: Array  # (s, M) GD^(-1/2)C
    cholesky: SparseCholesky  # of R


def evaluate_latent(
    data: LatentData,
    d: Array,
    likelihood: Likelihood,
    local: LocalModel,
    start: Array | None = None,
) -> Evaluation:
    """Laplace evidence, its exact gradient and the posterior (a `LatentPosterior`) at prior variances d (M,).

    `local` is u, without noise. The `state` of the result, and `start`, are f (m,) at the mode.
    """
    root = np.sqrt(d)
    prior, slopes = vecchia_factor(data.near, local, np.ones(len(data.near.neighbors)))
    target = WeightedLikelihood(likelihood, data.obs)
    joint = _Joint(data, prior, data.features * root, target)
    x = climb(joint, joint.start(start), exact=False)
    f, (v, u) = joint.latent(x), joint.parts(x)
    at_mode = joint.precision(target.curvature(f))
    log_evidence = joint.objective(x) - 0.5 * (prior.log_determinant + at_mode.log_determinant)

    diagonal, products = selected_inverse(at_mode.cholesky, data.fronts, prior)
    spread = at_mode.without_local @ at_mode.inverse_root  # ÃC, (m, M)
    local_spread = at_mode.gain @ at_mode.inverse_root  # GC, (s, M)
    variance = np.einsum("ij,ij->i", spread, spread) + diagonal[data.places]
    # The mode moves with the hyperparameters, and the log-determinant with the mode.
    pull = -0.5 * variance * target.curvature_slope(f)
    pull_v, pull_u = at_mode.solve(*joint.transpose_times(pull))
    moved = joint.A @ pull_v + pull_u[data.places]  # covariance of f, times pull
    by_coefficient, by_variance = _in_factor(data, prior, u, pull_u, local_spread, products)
    log_length, log_variance, _, *log_shape = slopes.chain(prior, by_coefficient, by_variance)
    own_variance = np.einsum("ij,ij->i", at_mode.inverse_root, at_mode.inverse_root)
    return Evaluation(
        log_evidence,
        0.5 * (v**2 + own_variance - 1.0) + pull_v * v,
        target.parameter_gradient(f, -0.5 * variance, moved),
        (LatentPosterior(root * v, root[:, None] * at_mode.inverse_root, u, local_spread, at_mode.cholesky),),
        f,
        gradient_local=np.array([log_length, log_variance, *log_shape]),
    )


def _in_factor(
    data: LatentData,
    prior: VecchiaFactor,
    u: Array,
    pull: Array,
    spread: Array,
    products: Array,
) -> tuple[Array, Array]:
    """Derivatives of the log evidence in B (s, k) and F (s,).

    With a_i a row of I - B, Q = Σ a_i a_iᵀ/F_i. The evidence depends on Q by -½ûᵀQû + ½log|Q|, by -½ times
    the log-determinant of the posterior precision, whose derivative is the covariance of u, and by the mode:
    the last is -pullᵀ ∂Q û. `products` are R⁻¹a_i at i and N(i), the part of that covariance given v.
    """
    F, neighbors = prior.variances, data.near.neighbors
    conditional = prior.matrix
    at_u, at_pull, at_spread = (np.sqrt(F) * (conditional @ x).T for x in (u, pull, spread))  # (I - B)x
    own = products[:, 0] + np.einsum("ji,ij->i", at_spread, spread)
    others = products[:, 1:] + pair_products(np.ascontiguousarray(at_spread.T), spread, data.near)
    remaining = own - np.einsum("ij,ij->i", prior.coefficients, others)  # a_i' Cov(u) a_i
    by_variance = 0.5 * (at_u**2 + 2.0 * at_u * at_pull + remaining - F) / F**2
    by_coefficient = at_u[:, None] * (u + pull)[neighbors] + at_pull[:, None] * u[neighbors] + others
    return by_coefficient / F[:, None], by_variance


@dataclass
class _Joint:
    """log p(y | f) - ½|v|² - ½uᵀQu as a function of x = (v, u)."""

    data: LatentData
    prior: VecchiaFactor
    A: Array  # (m, M)
    target: WeightedLikelihood
    last: tuple[Array, _Precision] | None = None  # of a step: curvatures and the precision

    @cached_property
    def whiten(self) -> sparse.csr_array:
        """U with Q = UᵀU."""
        return self.prior.matrix

    @cached_property
    def assembled(self) -> list[Assembled]:
        """Q in the fronts of its factorisation."""
        return assemble(self.data.fronts, self.prior)

    def parts(self, x: Array) -> tuple[Array, Array]:
        """The weights v and the local part u."""
        return x[: self.A.shape[1]], x[self.A.shape[1] :]

    def latent(self, x: Array) -> Array:
        """Values of f at the labels, (m,)."""
        v, u = self.parts(x)
        return self.data.offset + self.A @ v + u[self.data.places]

    def transpose_times(self, x: Array) -> tuple[Array, Array]:
        """Aᵀx and Pᵀx for x (m,)."""
        return self.A.T @ x, self.at_points(x)

    def at_points(self, x: Array) -> Array:
        """Pᵀx: values of the labels (m,) added up at the distinct points (s,)."""
        total = np.bincount(self.data.places, x, len(self.data.near.neighbors))
        return total.astype(np.float64, copy=False)

    def precision(self, W: Array) -> _Precision:
        """The posterior precision for curvatures W (m,)."""
        return _Precision.of(self, W)

    def start(self, f: Array | None) -> Array:
        """One step from f, if that is better than x = 0."""
        zero = np.zeros(self.A.shape[1] + len(self.data.near.neighbors))
        if f is None:
            return zero
        x = self._newton_point(f, *self.target.gradient_and_curvature(f))
        return x if self.objective(x) > self.objective(zero) else zero

    def objective(self, x: Array) -> float:
        v, u = self.parts(x)
        white = self.whiten @ u
        return self.target.log_density(self.latent(x)) - 0.5 * float(v @ v) - 0.5 * float(white @ white)

    def step(self, x: Array) -> tuple[Array, float]:
        f = self.latent(x)
        gradient, W = self.target.gradient_and_curvature(f)
        v, u = self.parts(x)
        toward_v, toward_u = self.transpose_times(gradient)
        slope = toward_v - v, toward_u - self.whiten.T @ (self.whiten @ u)
        step = self._newton_point(f, gradient, W) - x
        return step, float(step @ np.concatenate(slope))

    def _newton_point(self, f: Array, gradient: Array, W: Array) -> Array:
        """Where a whole step from f ends, from ∂ log p/∂f and the curvatures there.

        The factor of the last step costs nothing. Where no curvature differs from what it was by more than
        a share ρ, each step with it leaves at most a share ρ of the way.
        """
        if self.last is None or np.any(np.abs(W - self.last[0]) > _NEAR * self.last[0]):
            self.last = W, self.precision(W)
        held, precision = self.last
        return np.concatenate(
            precision.solve(*self.transpose_times(held * (f - self.data.offset) + gradient))
        )


@dataclass(frozen=True)
class _Precision:
    """The posterior precision of (v, u), factorised."""

    cholesky: SparseCholesky  # of R
    gain: Array  # (s, M) G
    without_local: Array  # (m, M) Ã
    root: Array  # (M, M) lower L with S = L Lᵀ

    @classmethod
    def of(cls, joint: _Joint, W: Array) -> _Precision:
        A, places = joint.A, joint.data.places
        cholesky = factorize(joint.data.fronts, joint.assembled, joint.at_points(W))
        gather = sparse.csr_array((W, (places, np.arange(len(W)))), shape=(cholesky.size, len(W)))
        keep = W @ A**2 > _NEGLIGIBLE
        gain = np.zeros((cholesky.size, A.shape[1]))
        gain[:, keep] = cholesky.solve(gather @ A[:, keep])
        rest = A - gain[places]
        kept, white = rest[:, keep], joint.whiten @ gain[:, keep]
        S = np.eye(A.shape[1])
        # Sums of squares: I + AᵀWA - AᵀWPG would cancel where the labels tell much.
        S[np.ix_(keep, keep)] += (kept.T * W) @ kept + white.T @ white
        return cls(cholesky, gain, rest, safe_cholesky(S))

    @property
    def log_determinant(self) -> float:
        """log|R| + log|S|."""
        return self.cholesky.log_determinant + log_determinant(self.root)

    @cached_property
    def inverse_root(self) -> Array:
        """C = L⁻ᵀ, (M, M): S⁻¹ = C Cᵀ."""
        identity = np.eye(len(self.root))
        return linalg.solve_triangular(self.root, identity, lower=True, trans="T", check_finite=False)

    def solve(self, right_v: Array, right_u: Array) -> tuple[Array, Array]:
        """The solution (v, u) for a right-hand side."""
        v = linalg.cho_solve((self.root, True), right_v - self.gain.T @ right_u, check_finite=False)
        return v, self.cholesky.solve(right_u[:, None])[:, 0] - self.gain @ v
