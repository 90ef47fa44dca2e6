"""Outputs that inform each other: Gaussian noise, one covariance between outputs for all features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._linalg import log_determinant, safe_cholesky, triangular_inverse
from .._typing import Array
from ..likelihoods import Observations
from .posterior import WeightPosterior


@dataclass(frozen=True)
class LinkedEvaluation:
    """The joint evidence of all outputs, its derivatives, and the posteriors.

    The factors of the outputs' posteriors have the same columns: F_c F_c'ᵀ is the covariance between the
    weights of two outputs.
    """

    log_evidence: float
    gradient_log_d: Array  # (M,)
    gradient_covariance: Array  # (C, C) in the entries of B
    gradient_log_noise: Array  # (C,)
    posteriors: list[WeightPosterior]


class LinkedGaussian:
    """Exact posterior of weights β_c of C outputs with Cov(β_ci, β_c'i) = B_cc' d_i.

    The intrinsic coregionalisation model. Outputs may be labelled at different rows: only ΦᵀV⁻¹Φ, ΦᵀV⁻¹y and
    yᵀV⁻¹y of each are kept, so an evaluation costs (C·M)³ whatever the number of labels. `features` (m_c, M)
    are those of the labelled rows of each output, and `offsets` are subtracted from y.
    """

    def __init__(
        self, features: Sequence[Array], obs: Sequence[Observations], offsets: Sequence[float]
    ) -> None:
        self._counts = np.array([len(part.y) for part in obs])
        self._grams, self._projections, squares, constant = [], [], [], 0.0
        for phi, part, offset in zip(features, obs, offsets, strict=True):
            scale = 1.0 / np.sqrt(part.noise_scale)
            rows, y = phi * scale[:, None], (part.y - offset) * scale
            self._grams.append(rows.T @ rows)
            self._projections.append(rows.T @ y)
            squares.append(float(y @ y))
            constant += float(np.log(scale).sum()) - 0.5 * len(y) * np.log(2 * np.pi)
        self._squares, self._constant = np.array(squares), constant

    def evaluate(self, d: Array, covariance: Array, noise: Array) -> LinkedEvaluation:
        """For prior variances d (M,), covariances B (C, C) between outputs and noise variances (C,)."""
        C, M, root = len(noise), len(d), np.sqrt(d)
        # β_c = D^½ Σ_q mix_cq w_q with w ~ N(0, I): H = I + Σ_c (mix_cᵀ mix_c) ⊗ D^½ Φ_cᵀΦ_c D^½ / σ_c².
        mix = safe_cholesky(covariance)
        H, h = np.eye(C * M), np.zeros(C * M)
        for c in range(C):
            gram = self._grams[c] * (root[:, None] * root / noise[c])
            own = root * self._projections[c] / noise[c]
            for q in range(c + 1):  # mix is lower triangular
                at = slice(q * M, (q + 1) * M)
                h[at] += mix[c, q] * own
                for p in range(q + 1):
                    H[at, p * M : (p + 1) * M] += mix[c, q] * mix[c, p] * gram
        L = safe_cholesky(np.tril(H) + np.tril(H, -1).T)
        inverse = triangular_inverse(L)
        w = inverse.T @ (inverse @ h)
        log_evidence = (
            self._constant
            - 0.5 * float(self._counts @ np.log(noise) + (self._squares / noise).sum() - w @ h)
            - 0.5 * log_determinant(L)
        )
        # Second moments of w, less those of the prior: E[w_qi w_pi] - δ_qp.
        blocks = inverse.reshape(C * M, C, M)
        moments = np.einsum("kqi,kpi->qpi", blocks, blocks, optimize=True)
        moments += np.einsum("qi,pi->qpi", w.reshape(C, M), w.reshape(C, M))
        moments -= np.eye(C)[:, :, None]
        unmix = np.linalg.inv(mix)
        factors = np.einsum("cq,kqi->cik", mix, blocks, optimize=True) * root[:, None]
        means = (mix @ w.reshape(C, M)) * root
        by_noise = np.empty(C)
        for c in range(C):
            gram, mean = self._grams[c], means[c]
            missed = self._squares[c] - 2.0 * mean @ self._projections[c] + mean @ gram @ mean
            uncertain = float(np.einsum("ik,ik->", gram @ factors[c], factors[c]))
            by_noise[c] = 0.5 * ((missed + uncertain) / noise[c] - self._counts[c])
        return LinkedEvaluation(
            log_evidence,
            0.5 * np.einsum("qqi->i", moments),
            0.5 * unmix.T @ moments.sum(axis=2) @ unmix,
            by_noise,
            [WeightPosterior(means[c], np.ascontiguousarray(factors[c])) for c in range(C)],
        )
