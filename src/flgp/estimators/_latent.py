"""Estimators with latent functions: the fit, and posterior quantities of f."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._progress import stage
from .._typing import Array, IntArray, RowLike
from ..blocks import map_rows
from ..feature_map import FeatureMap, Rows
from ..graph import NeighborBlock
from ..inference.hyper import AMPLITUDE, TIME
from ..inference.latent import LatentField
from ..inference.learning import Head, Learned, Settings, Task, learn
from ..residual.field import JointField
from ..residual.learning import JointInference
from ..sources import is_distributed
from ._base import HeatKernelEstimator, labeled_rows, scalar_or_array
from ._residual import joint_field
from ._validation import check_choice

INFERENCES = ("auto", "laplace", "ep")


@dataclass(frozen=True)
class Component:
    """One posterior of one latent function; several with weights make a mixture."""

    weight: float
    field: LatentField | JointField
    likelihood: Any  # Likelihood, or Categorical
    prior_weights: Array  # d (M,)


def gaussian_component(feature_map: FeatureMap, head: Head) -> Component:
    """The posterior of a head with one latent function."""
    fit, task = head.fit, head.task
    d = head.evidence.weights(fit.values)
    field = LatentField.of(
        feature_map.spectrum.lift,
        fit.evaluation.posterior,
        d,
        task.offset,
        task.intercept_variance is not None,
    )
    inference = head.evidence.inference
    whole = joint_field(field, head, inference) if isinstance(inference, JointInference) else field
    return Component(1.0, whole, fit.likelihood, d[: len(feature_map.eigenvalues)])


class LatentEstimator(HeatKernelEstimator):
    """Fits one or several latent functions on one graph."""

    inference: str
    log_marginal_likelihood_value_: float
    optimizer_result_: OptimizeResult | list[OptimizeResult]

    # -- fitting ---------------------------------------------------------------------------------------

    def _fit_tasks(self, rows: RowLike, labeled: IntArray, tasks: Sequence[Task], fixed: dict) -> None:
        """The one fit: graph, bandwidth, hyperparameters, posterior of every task."""
        graph = self._build_graph(rows)
        neighbors = graph.find(labeled_rows(rows, labeled))
        given = {TIME: self.diffusion_time, AMPLITUDE: self.amplitude, **fixed}
        settings = Settings(
            n_eigenpairs=self._n_eigenpairs(len(graph.anchors), len(labeled)),
            kernel=self._spectral_kernel(),
            bandwidth=self.bandwidth,
            fixed={name: float(value) for name, value in given.items() if value is not None},
            inference=self.inference,
            n_threads=self._n_threads,
            **self._eigenfeatures(),
        )
        with stage(f"spectrum and evidence for {len(labeled):,} labels", self.verbose):
            learned = learn(graph, neighbors, tasks, settings)
            heads = self._refined(learned, neighbors, rows, labeled)
        self._heads_ = heads
        self._mixtures_ = self._posteriors(learned.feature_map, heads)
        self.bandwidth_trace_ = learned.bandwidth_trace
        self.diffusion_time_ = scalar_or_array([head.fit.values[TIME] for head in heads])
        self.amplitude_ = scalar_or_array([head.fit.values[AMPLITUDE] for head in heads])
        self.log_marginal_likelihood_value_ = float(sum(head.fit.evaluation.log_evidence for head in heads))
        reports = [head.fit.report for head in heads]
        self.optimizer_result_ = reports[0] if len(reports) == 1 else reports
        self._keep_graph(learned.feature_map, neighbors.index[:, 0])
        if self._keeps_neighbors(rows) and not is_distributed(rows):
            with stage(f"transduction for {graph.n_rows:,} points", self.verbose):
                self.transduction_ = self._transduce(learned.feature_map, rows)

    def _eigenfeatures(self) -> dict[str, Any]:
        """Settings that say where the eigenfeatures come from; a baseline has its own."""
        return {}

    def _refined(
        self, learned: Learned, neighbors: NeighborBlock, rows: RowLike, labeled: IntArray
    ) -> list[Head]:
        """The heads, after whatever a subclass adds to the model."""
        return learned.heads

    def _posteriors(self, feature_map: FeatureMap, heads: Sequence[Head]) -> list[list[Component]]:
        """The posterior of each latent function: one component, at the best hyperparameters."""
        return [[gaussian_component(feature_map, head)] for head in heads]

    def _transduce(self, feature_map: FeatureMap, X: RowLike) -> Array:
        """Predictions of the fitted rows, from the neighbours that are still at hand."""
        if any(isinstance(part.field, JointField) for mixture in self._mixtures_ for part in mixture):
            # A residual needs the points themselves.
            return map_rows(X, lambda block: self._point(feature_map.rows(block)), self._n_threads)
        parts = feature_map.graph.blocks.map(lambda block: [self._point(feature_map.rows_of(block))])
        return np.concatenate(parts.reduce(lambda part: part))

    def _point(self, rows: Rows) -> Array:
        """The prediction that `predict` returns."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("inference", self.inference, INFERENCES)

    # -- posterior of f --------------------------------------------------------------------------------

    def _latent(self, mixture: list[Component], rows: Rows) -> tuple[Array, Array]:
        """Mean and variance (b,) of f under a mixture."""
        means = np.stack([part.field.means(rows) for part in mixture])
        variances = np.stack([part.field.variances(rows) for part in mixture])
        if len(mixture) == 1:
            return means[0], variances[0]
        weights = np.array([part.weight for part in mixture])
        mean = weights @ means
        return mean, weights @ (variances + (means - mean) ** 2)

    def latent_mean_and_variance(self, X: Any) -> tuple[Array, Array]:
        """Posterior mean and variance of the latent function(s) f.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        mean, variance : arrays of shape (n,), or (n, k) for k latent functions
        """
        check_is_fitted(self)

        def both(rows: Rows) -> tuple[Array, Array]:
            parts = [self._latent(mixture, rows) for mixture in self._mixtures_]
            return tuple(self._columns([part[i] for part in parts]) for i in (0, 1))  # type: ignore[return-value]

        return self._map_blocks(self._validated(X, reset=False), both)

    def sample_f(self, X: Any, n_samples: int = 1, random_state: Any = 0, prior: bool = False) -> Array:
        """Joint draws of the latent function(s) at any points, O(M) each.

        Parameters
        ----------
        X : array-like of shape (n, p)
        n_samples : int
        random_state : int, RandomState or None
        prior : bool
            Draws of the prior, at the learned hyperparameters, instead of the posterior.

        Returns
        -------
        array of shape (n, n_samples), or (n, k, n_samples) for k latent functions
        """
        check_is_fitted(self)
        rows = self.feature_map_.rows(self._validated(X, reset=False))
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        draws = [self._draw(i, rows, n_samples, rng, prior) for i in range(len(self._mixtures_))]
        return self._columns(draws)

    def _draw(
        self, output: int, rows: Rows, n_samples: int, rng: np.random.Generator, prior: bool = False
    ) -> Array:
        """Draws of one latent function, (b, n_samples)."""
        mixture = self._mixtures_[output]
        weights = np.array([part.weight for part in mixture])
        counts = rng.multinomial(n_samples, weights / weights.sum())
        parts = []
        for part, count in zip(mixture, counts, strict=True):
            field: Any = part.field
            if prior:
                field = field.prior(self.feature_map_.spectrum.lift, part.prior_weights)
            parts.append(field.draws(rows, int(count), rng))
        return np.concatenate(parts, axis=1)

    @staticmethod
    def _columns(values: Sequence[Array]) -> Array:
        """One array as it is; several side by side along a second axis."""
        return values[0] if len(values) == 1 else np.stack(values, axis=1)

    def _prior_weights(self) -> Array:
        kernels = [part.weight * part.prior_weights for mixture in self._mixtures_ for part in mixture]
        return np.sum(kernels, axis=0) / len(self._mixtures_)

    # -- evidence --------------------------------------------------------------------------------------

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """Log p(y | theta), summed over the latent functions.

        Parameters
        ----------
        theta : array of shape (k,), or (heads·k,), optional
            Logarithms of the learned hyperparameters, in the order of `optimizer_result_.names`, the
            same for all latent functions or one after the other. Default: the learned values.
        eval_gradient : bool
            Also return the gradient in theta.

        Returns
        -------
        value : float
        gradient : array of theta's shape, if `eval_gradient`
        """
        check_is_fitted(self)
        heads: list[Head] = self._heads_
        size = len(heads[0].fit.theta)
        if theta is None:
            thetas = [head.fit.theta for head in heads]
            shared = False
        else:
            theta = np.asarray(theta, dtype=float).ravel()
            if len(theta) not in (size, size * len(heads)):
                names = ", ".join(heads[0].evidence.space.free)
                raise ValueError(f"theta has {len(theta)} entries. Give the logarithms of: {names}.")
            shared = len(theta) == size
            thetas = [theta] * len(heads) if shared else np.split(theta, len(heads))
        results = [head.evidence.evaluate(part) for head, part in zip(heads, thetas, strict=True)]
        value = float(sum(evaluation.log_evidence for evaluation, _ in results))
        if not eval_gradient:
            return value
        gradients = [gradient for _, gradient in results]
        return value, np.sum(gradients, axis=0) if shared else np.concatenate(gradients)
