"""Gaussian posteriors of the feature weights, and the algebra that all approximations share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dtrsm

from .._linalg import cholesky_of_one_plus, log_determinant, triangular_inverse
from .._typing import Array
from ..likelihoods import AnyLikelihood, Categorical, Gaussian, Likelihood
from ..terms.local.euclidean import LocalModel


@dataclass(frozen=True)
class WeightPosterior:
    """β ~ N(mean, C Cᵀ) for f(x) = φ(x) β."""

    mean: Array  # (M,), or (M, C) for several functions that share everything but their labels
    factor: Array  # (M, M) C


@dataclass(frozen=True)
class DualPosterior:
    """A `WeightPosterior` from m < M rows, whose C costs M³ and waits until asked for.

    With w = D^(-1/2) β and f = A w at the rows, the posterior covariance of w is I - Aᵀ Gᵀ G A.
    """

    mean: Array  # (M,) or (M, C)
    root: Array  # (M,) d^(1/2)
    rows: Array  # (m, M) A
    scale: Array  # (m,) τ^(1/2)
    cholesky: Array  # (m, m) lower L of I + τ^(1/2) A Aᵀ τ^(1/2)

    @property
    def inner(self) -> Array:
        """G = L⁻¹ τ^(1/2) (m, m), lower triangular."""
        return triangular_inverse(self.cholesky) * self.scale

    @property
    def half(self) -> Array:
        """G A (m, M)."""
        return dtrsm(1.0, self.cholesky, np.asfortranarray(self.scale[:, None] * self.rows), lower=1)

    @cached_property
    def factor(self) -> Array:
        """C (M, M)."""
        return self.root[:, None] * shrunk_factor(self.half)


Posterior = WeightPosterior | DualPosterior


def shrunk_factor(half: Array) -> Array:
    """C (M, M) with C Cᵀ = I - halfᵀ half, for `half` (m, M) with singular values below 1."""
    _, singular, right = linalg.svd(half, full_matrices=False, check_finite=False)
    # I - Σ s_i² v_i v_iᵀ = (I - Σ (1 - √(1 - s_i²)) v_i v_iᵀ)²
    shrink = 1.0 - np.sqrt(np.clip(1.0 - singular**2, 0.0, 1.0))
    return np.eye(half.shape[1]) - (right.T * shrink) @ right


@dataclass(frozen=True)
class LeftOut:
    """What all other labels say about each labelled row."""

    log_density: Array  # (m,) log p(y_i | all other labels)
    mean: Array  # (m,) or (m, C) of f
    variance: Array  # of the same shape


@dataclass(frozen=True)
class AtLabels:
    """What all labels say about f at each labelled row."""

    mean: Array  # (m,) or (m, C)
    variance: Array  # of the same shape


@dataclass(frozen=True)
class Point:
    """Hyperparameters at which the evidence is asked for."""

    d: Array  # (M,) prior variances of the features' weights
    likelihood: AnyLikelihood  # with its parameters
    local: LocalModel | None = None  # without noise
    state: Array | None = None  # of an evaluation nearby, to start from
    rough: bool = False  # an inner iteration may stop earlier
    # One of many points of a quadrature: last digits and slopes in the likelihood's parameters do not matter.
    one_of_many: bool = False

    @property
    def noise(self) -> float:
        """σ² of Gaussian labels."""
        assert isinstance(self.likelihood, Gaussian)
        assert self.likelihood.noise_variance is not None
        return self.likelihood.noise_variance

    @property
    def noisy_local(self) -> LocalModel:
        """The local term with the noise of Gaussian labels."""
        assert self.local is not None
        return replace(self.local, noise_variance=self.noise)

    @property
    def one_function(self) -> Likelihood:
        """A likelihood that depends on one latent function."""
        assert not isinstance(self.likelihood, Categorical)
        return self.likelihood


@dataclass(frozen=True)
class Evaluation:
    """One evidence evaluation: its value, its derivatives, and the posterior behind it.

    `state` is whatever the next evaluation nearby may start from.
    """

    log_evidence: float
    gradient_log_d: Array  # (M,) ∂ log Z / ∂ log d_i
    gradient_parameters: Array  # (k,) in the logarithms of the likelihood's parameters
    posteriors: tuple[Posterior, ...]  # of the weights of each latent function
    state: Array | None = None
    left_out: LeftOut | None = None  # where it is known
    at_labels: AtLabels | None = None  # where it is known
    gradient_local: Array = field(default_factory=lambda: np.empty(0))  # in the logarithms of a local term's
    correction: float = 0.0  # how much of `log_evidence` Laplace's approximation alone leaves out
    outputs: tuple[Evaluation, ...] = ()  # of each output, where several share their hyperparameters

    @property
    def posterior(self) -> Posterior:
        """Of the only latent function."""
        (only,) = self.posteriors
        return only


class Inference(Protocol):
    """What the search needs of an approximation: Gaussian, Laplace, EP, with or without a local term."""

    def evaluate(self, at: Point) -> Evaluation:
        """Evidence, derivatives and posterior."""
        ...


@dataclass(frozen=True)
class Design:
    """A = Φ D^(1/2) (m, q) with f = A v, v ~ N(0, I).

    With fewer rows than features the columns are replaced by an orthonormal basis Q of the row space,
    A = L Qᵀ: f depends on the weights only through the m numbers Qᵀw, whose prior is N(0, I) too.
    """

    matrix: Array  # (m, q)
    root: Array  # (M,) d^(1/2)
    basis: Array | None  # (M, q) Q, or None for the identity

    @classmethod
    def of(cls, features: Array, d: Array) -> Design:
        """Design of labelled features Φ (m, M) with prior variances d (M,)."""
        root = np.sqrt(d)
        A = features * root
        if A.shape[0] >= A.shape[1]:
            return cls(A, root, None)
        Q, R = linalg.qr(A.T, mode="economic", check_finite=False)
        return cls(np.ascontiguousarray(R.T), root, Q)

    def weights(self, mean: Array, factor: Array) -> WeightPosterior:
        """Posterior of β = D^(1/2) w from v ~ N(mean, factor factorᵀ), `factor` (q, q).

        In the compressed case the directions outside Q keep their prior.
        """
        if self.basis is None:
            return WeightPosterior(self.root * mean, self.root[:, None] * factor)
        Q = self.basis
        outside = np.eye(len(self.root)) - Q @ Q.T
        # The second term needs q columns only: together a factor with M + q columns, cut back to M by QR.
        stacked = np.concatenate([outside, Q @ factor], axis=1)
        square = linalg.qr(stacked.T, mode="r", check_finite=False)[0][: len(self.root)].T
        return WeightPosterior(self.root * (Q @ mean), self.root[:, None] * square)

    def diagonal(self, factor: Array, inner: Array | None = None) -> Array:
        """That of Q F Fᵀ Qᵀ, (M,), for a factor F (q, k); of Q F N Fᵀ Qᵀ with an `inner` N (k, k)."""
        lifted = self.lifted(factor)
        return np.einsum("ij,ij->i", lifted if inner is None else lifted @ inner, lifted)

    def transpose_times(self, vector: Array) -> Array:
        """D^(1/2) Φᵀ vector (M,) for a vector over the rows (m,)."""
        return self.lifted(self.matrix.T @ vector)

    def lifted(self, inner: Array) -> Array:
        """Q times vectors or a matrix with q rows."""
        return inner if self.basis is None else self.basis @ inner


@dataclass(frozen=True)
class SitePosterior:
    """v ~ N(H⁻¹Aᵀν, H⁻¹) with H = I + Aᵀ diag(τ) A: the form of every approximation here."""

    mean: Array  # (q,)
    cholesky: Array  # (q, q) lower L, H = L Lᵀ
    log_det: float  # log|H|

    @property
    def inverse_factor(self) -> Array:
        """L⁻ᵀ (q, q): the posterior covariance of v is L⁻ᵀ L⁻¹."""
        identity = np.eye(len(self.cholesky))
        return linalg.solve_triangular(self.cholesky, identity, lower=True, trans="T", check_finite=False)


def site_posterior(A: Array, tau: Array, nu: Array) -> SitePosterior:
    """Posterior of v for site precisions τ ≥ 0 (m,) and shifts ν (m,)."""
    L = cholesky_of_one_plus((A.T * tau) @ A)
    mean = linalg.cho_solve((L, True), A.T @ nu, check_finite=False)
    return SitePosterior(mean, L, log_determinant(L))
