"""Laplace approximation for classes coupled by the softmax: C latent functions at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import log_softmax, softmax

from .._linalg import safe_cholesky
from .._typing import Array
from ..likelihoods import AnyLikelihood, Observations
from ..terms.local.euclidean import LocalModel
from .posterior import Design, Evaluation, WeightPosterior

_MAX_NEWTON = 100
_TOLERANCE = 1e-9
# Fixed joint draws that the C-dimensional predictive integral averages over (half of them mirrored).
N_DRAWS = 256


@dataclass(frozen=True)
class SoftmaxPosterior:
    """Marginal posteriors of each class's weights, and joint draws of all of them."""

    marginals: list[WeightPosterior]
    draws: Array  # (S, C, M)


class SoftmaxLaplace:
    """Mode and Laplace evidence of the softmax model; H is (Cq)×(Cq).

    Parameters
    ----------
    features : array of shape (m, M)
    obs : Observations
        y holds the codes 0 … C-1.
    n_classes : int
    """

    def __init__(self, features: Array, obs: Observations, n_classes: int) -> None:
        self.features, self.obs, self.n_classes = features, obs, n_classes
        self._onehot = np.eye(n_classes)[obs.y.astype(int)]

    def evaluate(
        self,
        d: Array,
        likelihood: AnyLikelihood,
        state: Array | None = None,
        rough: bool = False,
        local: LocalModel | None = None,
    ) -> Evaluation:
        """Evidence, derivatives and posterior for prior variances d (M,), the same for every class.

        `state` is ∂ log p/∂f (m, C) at the mode of an evaluation nearby.
        """
        design = Design.of(self.features, d)
        A, weight = design.matrix, self.obs.weight
        v = self._mode(A, state)
        f = A @ v.T
        p = softmax(f, axis=1)
        residual = weight[:, None] * (self._onehot - p)
        L = safe_cholesky(self._hessian(A, p))
        log_det = 2.0 * float(np.log(np.diag(L)).sum())
        value = float(weight @ (self._onehot * log_softmax(f, axis=1)).sum(axis=1))
        log_evidence = value - 0.5 * float((v**2).sum()) - 0.5 * log_det

        C, q = v.shape
        inverse = linalg.solve_triangular(L, np.eye(C * q), lower=True, check_finite=False).T  # L⁻ᵀ
        factor = inverse.reshape(C, q, C * q)
        spread = np.einsum("iq,cqk->cik", A, factor, optimize=True)  # (C, m, Cq)
        covariance = np.einsum("aik,bik->iab", spread, spread, optimize=True)
        pull = self._pull(p, covariance)
        moved = np.einsum("cik,k->ic", spread, np.einsum("cik,ic->k", spread, pull))
        response = pull - weight[:, None] * p * (moved - (p * moved).sum(axis=1, keepdims=True))
        gradient = np.zeros(len(d))
        for c in range(C):
            along = design.transpose_times(residual[:, c])
            kept = design.column_sums_of_squares(factor[c])
            full = 1.0 if design.basis is None else np.einsum("ij,ij->i", design.basis, design.basis)
            gradient += 0.5 * (along**2 - (full - kept)) + design.transpose_times(response[:, c]) * along
        posterior = self._posterior(design, v, factor)
        return Evaluation(log_evidence, gradient, np.empty(0), posterior, residual)

    def _mode(self, A: Array, start: Array | None) -> Array:
        """Newton's method with step halving, from zero or from `start` if that is better."""
        C, q = self.n_classes, A.shape[1]
        v = np.zeros((C, q))
        value = self._objective(A, v)
        if start is not None and self._objective(A, start.T @ A) > value:
            v = start.T @ A
            value = self._objective(A, v)
        for _ in range(_MAX_NEWTON):
            p = softmax(A @ v.T, axis=1)
            slope = (self.obs.weight[:, None] * (self._onehot - p)).T @ A - v
            L = safe_cholesky(self._hessian(A, p))
            step = linalg.cho_solve((L, True), slope.ravel(), check_finite=False).reshape(C, q)
            if 0.5 * float((step * slope).sum()) < _TOLERANCE:
                # So close the objective cannot judge a step any more, but the step itself is right.
                return v + step
            length = 1.0
            while (new := self._objective(A, v + length * step)) < value and length > 1e-12:
                length *= 0.5
            v, value = v + length * step, new
        return v

    def _objective(self, A: Array, v: Array) -> float:
        terms = (self._onehot * log_softmax(A @ v.T, axis=1)).sum(axis=1)
        return float(self.obs.weight @ terms) - 0.5 * float((v**2).sum())

    def _hessian(self, A: Array, p: Array) -> Array:
        """I + Ãᵀ W Ã with W = diag(π) - ππᵀ for every row, classes outermost."""
        C, q = self.n_classes, A.shape[1]
        blocks = np.empty((C, q, C, q))
        for a in range(C):
            for b in range(a + 1):
                w = self.obs.weight * (p[:, a] * ((a == b) - p[:, b]))
                block = (A.T * w) @ A
                blocks[a, :, b, :] = block
                blocks[b, :, a, :] = block.T
        H = blocks.reshape(C * q, C * q)
        H[np.diag_indices_from(H)] += 1.0
        return H

    def _pull(self, p: Array, covariance: Array) -> Array:
        """∂(-½ log|H|)/∂f (m, C): how the curvature changes as the mode moves."""
        diagonal = np.einsum("icc->ic", covariance)
        mixed = np.einsum("iab,ib->ia", covariance, p)
        bracket = (
            diagonal
            - (p * diagonal).sum(axis=1, keepdims=True)
            - 2 * mixed
            + 2 * (p * mixed).sum(axis=1, keepdims=True)
        )
        return -0.5 * self.obs.weight[:, None] * p * bracket

    def _posterior(self, design: Design, v: Array, factor: Array) -> SoftmaxPosterior:
        C, q, k = factor.shape
        marginals = []
        for c in range(C):
            square = linalg.qr(factor[c].T, mode="r", check_finite=False)[0][:q].T
            marginals.append(design.weights(v[c], square))
        rng = np.random.default_rng(0)
        half = rng.standard_normal((N_DRAWS // 2, k))
        deviation = np.einsum("cqk,sk->scq", factor, np.concatenate([half, -half]), optimize=True)
        w = v + deviation
        if design.basis is not None:
            Q = design.basis
            free = rng.standard_normal((N_DRAWS // 2, C, len(Q)))
            free = np.concatenate([free, -free])
            w = w @ Q.T + free - (free @ Q) @ Q.T
        return SoftmaxPosterior(marginals, w * design.root)
