"""Coregionalisation: a covariance between outputs, learned with the hyperparameters they share.

B = G^½ R G^½ with gains G near those of the shared fit and correlations R = those of W Wᵀ + I, W (C, rank).
W = 0 makes the outputs independent; the prior of W says that they are until the labels tell otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import OptimizeResult

from .._typing import Array
from ..inference.linked import LinkedEvaluation, LinkedGaussian
from ..inference.posterior import Evaluation
from ..inference.shared import SharedInference
from ..likelihoods import Gaussian
from ..terms import AMPLITUDE
from .ascent import ascend
from .evidence import NOISE, Evidence
from .search import Optimum
from .sharing import in_units

# Standard deviations of the logarithms of gains and noises about the shared ones, and of the loadings W.
_SPREAD, _LOADING = 1.0, 2.0
_LARGEST = 30.0
_STEPS = 60


@dataclass(frozen=True)
class Linked:
    """All outputs at the best hyperparameters."""

    best: list[Optimum]  # of each output; the factors of their posteriors have common columns
    correlation: Array  # (C, C) prior correlation between outputs
    log_posterior: float


def learn_linked(
    shared: Evidence, evidences: Sequence[Evidence], features: Sequence[Array], start: Optimum, rank: int
) -> Linked:
    """The best gains, noises, correlations and shared hyperparameters, from the best of independent outputs.

    `shared` is the evidence of these, `start` where it is largest; `features` (m_c, M) are those of the
    labelled rows of each output, a constant's column of ones included, and `rank` is that of W.
    """
    search = _Search(shared, evidences, features, start, rank)
    found = search.climb(search.start(start))
    return search.at(found, start)


@dataclass(frozen=True)
class _Point:
    """Hyperparameters apart: shared ones, logarithms of noises and gains, loadings."""

    theta: Array  # (k,)
    noise: Array  # (C,)
    gain: Array  # (C,)
    loadings: Array  # (C, rank)

    @property
    def vector(self) -> Array:
        return np.concatenate([self.theta, self.noise, self.gain, self.loadings.ravel()])


class _Search:
    """The joint log posterior of all hyperparameters."""

    def __init__(
        self,
        shared: Evidence,
        evidences: Sequence[Evidence],
        features: Sequence[Array],
        start: Optimum,
        rank: int,
    ) -> None:
        assert isinstance(shared.inference, SharedInference)
        targets = [evidence.target for evidence in evidences]
        self.shared, self.evidences, self.rank = shared, evidences, rank
        self.ratios = shared.inference.ratios
        offsets = [target.constant.mean for target in targets]
        self.inference = LinkedGaussian(features, [target.obs for target in targets], offsets)
        free = shared.space.free
        size = len(self.ratios)
        self.bounds = [
            *map(tuple, shared.space.log_bounds().tolist()),
            *[(-5.0, 5.0) if NOISE in free else (0.0, 0.0)] * size,
            *[(-5.0, 5.0) if AMPLITUDE in free else (0.0, 0.0)] * size,
            *[(-_LARGEST, _LARGEST)] * (size * rank),
        ]

    def start(self, found: Optimum) -> Array:
        """The shared hyperparameters, and loadings like the correlations of the weights found there."""
        size = len(self.ratios)
        means = np.stack([part.posterior.mean for part in found.evaluation.outputs])
        spread = np.sqrt(self.shared.variances(found.values))
        white = means[:, spread > 0] / spread[spread > 0]
        lengths = np.linalg.norm(white, axis=1, keepdims=True)
        white = white / np.where(lengths > 0, lengths, 1.0)
        strength, directions = np.linalg.eigh(white @ white.T)
        # W = 0 is stationary, so it must not be the start.
        lengths = np.sqrt(np.maximum(strength[::-1][: self.rank] - 1.0, 0.05))
        loadings = directions[:, ::-1][:, : self.rank] * lengths
        return _Point(found.theta, np.zeros(size), np.zeros(size), loadings).vector

    def climb(self, start: Array) -> OptimizeResult:
        """L-BFGS within the bounds."""
        return ascend(lambda x: self.evaluate(x)[:2], start, self.bounds, maxiter=_STEPS, gtol=1e-3)

    def evaluate(self, x: Array) -> tuple[float, Array, LinkedEvaluation]:
        """Log posterior, its gradient, and the joint posterior there."""
        point, space = self.point(x), self.shared.space
        values = space.values(point.theta)
        d, noise = self.shared.variances(values), self.noise(point)
        covariance, correlation, sizes = self.covariance(point)
        result = self.inference.evaluate(d, covariance, noise)
        prior, slope = space.log_prior(point.theta)
        loose = np.concatenate([point.noise, point.gain])
        prior -= 0.5 * float(loose @ loose) / _SPREAD**2
        prior -= 0.5 * float((point.loadings**2).sum()) / _LOADING**2
        by_name = self.shared.terms.gradient(values, result.gradient_log_d[: self.shared.terms.n_features])
        by_name[NOISE] = float(result.gradient_log_noise.sum())
        # R_ij = A_ij / √(A_ii A_jj), A = W Wᵀ + I
        by_correlation = result.gradient_covariance * self.gains(point)
        by_entry = by_correlation * correlation  # in the logarithms of |B_ij|
        by_product = by_correlation / np.sqrt(np.outer(sizes, sizes)) - np.diag(by_entry.sum(axis=1) / sizes)
        gradient = _Point(
            np.array([by_name[name] for name in space.free]) + slope,
            result.gradient_log_noise - point.noise / _SPREAD**2,
            by_entry.sum(axis=1) - point.gain / _SPREAD**2,
            2.0 * by_product @ point.loadings - point.loadings / _LOADING**2,
        )
        return result.log_evidence + prior, gradient.vector, result

    def point(self, x: Array) -> _Point:
        """The parts of a vector."""
        k, size = len(self.shared.space.free), len(self.ratios)
        theta, noise, gain, loadings = np.split(x, np.cumsum([k, size, size]))
        return _Point(theta, noise, gain, loadings.reshape(size, self.rank))

    def noise(self, point: _Point) -> Array:
        """Noise variances (C,)."""
        common = self.shared.space.values(point.theta)[NOISE]
        return common * self.ratios * np.exp(point.noise)

    def gains(self, point: _Point) -> Array:
        """√(g_c g_c') (C, C)."""
        root = np.sqrt(self.ratios * np.exp(point.gain))
        return np.outer(root, root)

    def covariance(self, point: _Point) -> tuple[Array, Array, Array]:
        """B and R (C, C), and the diagonal (C,) of W Wᵀ + I."""
        product = point.loadings @ point.loadings.T + np.eye(len(self.ratios))
        sizes = np.diag(product).copy()
        correlation = product / np.sqrt(np.outer(sizes, sizes))
        return self.gains(point) * correlation, correlation, sizes

    def at(self, found: OptimizeResult, start: Optimum) -> Linked:
        """Every output where the search ended."""
        value, gradient, result = self.evaluate(found.x)
        point = self.point(found.x)
        names, k = self.shared.space.free, len(self.shared.space.free)
        report = OptimizeResult(
            names=names,
            theta=point.theta,
            gradient=gradient[:k],
            bounds=dict(zip(names, self.bounds[:k], strict=True)),
            at_bound={name: False for name in names},
            n_evaluations=start.report.n_evaluations + int(found.nfev),
            success=bool(found.success),
            message=str(found.message),
        )
        best = []
        for c, evidence in enumerate(self.evidences):
            gain, noise = float(self.gains(point)[c, c]), float(self.ratios[c] * np.exp(point.noise[c]))
            values = in_units(self.shared.space.values(point.theta), self.shared.terms, gain, noise)
            evaluation = Evaluation(
                result.log_evidence / len(self.evidences),  # joint: no output has its own
                result.gradient_log_d,
                result.gradient_log_noise[c : c + 1],
                (result.posteriors[c],),
            )
            best.append(
                replace(
                    start,
                    theta=evidence.space.theta(values),
                    values=values,
                    evaluation=evaluation,
                    likelihood=Gaussian(values[NOISE]),
                    log_posterior=value / len(self.evidences),
                    report=report,
                    rivals=[],
                )
            )
        return Linked(best, self.covariance(point)[1], value)
