"""Estimators with latent functions: the fit, and posterior quantities of f."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.utils import check_random_state

from .._progress import stage
from .._threads import blas_for
from .._typing import Array, IntArray, RowLike
from ..blocks import map_rows
from ..feature_map import FeatureMap, Rows
from ..graph import NeighborBlock, NeighborGraph
from ..inference.draws import ChainSettings
from ..inference.hyper import AMPLITUDE, TIME
from ..inference.integration import Layer, hyperparameter_posterior, integrate_layers
from ..inference.learning import Head, Kept, Learned, Settings, Task, learn
from ..inference.priors import TIME_PRIORS, Prior
from ..intrinsic_dimension import estimate_intrinsic_dimension
from ..likelihoods import Gaussian
from ..residual.field import JointField
from ..sources import is_distributed
from ._base import labeled_rows, scalar_or_array
from ._component import (
    Component,
    gaussian_component,
    integrated_components,
    sampled_component,
    weighted_points,
)
from ._function import FunctionQueries
from ._labels import Labels
from ._validation import check_choice, check_count, check_positive

INFERENCES = ("auto", "laplace", "ep", "gibbs")
HYPERPARAMETERS = ("optimize", "integrate", "fixed")
# Rows that an unknown intrinsic dimension is estimated from.
_DIMENSION_ROWS = 20_000
# Coordinates of labelled points that a model keeps for `update`, about 400 MB.
_KEPT_NUMBERS = 50_000_000


class LatentEstimator(FunctionQueries):
    """Fits one or several latent functions on one graph."""

    inference: str
    hyperparameters: str = "optimize"
    time_prior: str | Prior = "graph"
    intrinsic_dimension: float | None = None
    n_chains: int = 4
    n_draws: int = 500
    n_warmup: int = 250
    log_marginal_likelihood_value_: float
    optimizer_result_: OptimizeResult | list[OptimizeResult]

    # -- fitting ---------------------------------------------------------------------------------------

    def _fit_labels(self, rows: RowLike, labels: Labels) -> None:
        """The one fit: graph, bandwidth, hyperparameters, posterior of every task."""
        tasks = self._tasks(labels)
        self._check_all_given(tasks)
        graph = self._build_graph(rows)
        settings = self._settings(
            n_eigenpairs=self._n_eigenpairs(graph, len(labels)),
            bandwidth=self.bandwidth,
            dimension=self._dimension(rows),
            **self._eigenfeatures(),
        )
        labels = replace(labels, local=self._keeps_neighbors(rows) and not is_distributed(rows))
        learned, nearest = self._learn(graph, labels, tasks, settings)
        self._keep_graph(learned.feature_map, nearest)
        if labels.local:
            with stage(f"transduction for {graph.n_rows:,} points", self.verbose):
                self.transduction_ = self._transduce(learned.feature_map, rows)

    def _settings(self, **own: Any) -> Settings:
        """What a fit and an update have in common."""
        given = {TIME: self.diffusion_time, AMPLITUDE: self.amplitude}
        return Settings(
            kernel=self._spectral_kernel(),
            fixed={name: float(value) for name, value in given.items() if value is not None},
            inference="auto" if self.inference == "gibbs" else self.inference,
            n_threads=self._n_threads,
            time_prior=self.time_prior,
            **own,
        )

    def _learn(
        self, graph: NeighborGraph, labels: Labels, tasks: Sequence[Task], settings: Settings
    ) -> tuple[Learned, IntArray]:
        """Everything that follows from labels on a graph; also the nearest anchor of each label."""
        neighbors = graph.find(labels.points)
        with stage(f"spectrum and evidence for {len(labels):,} labels", self.verbose):
            learned = learn(graph, neighbors, tasks, settings)
            with blas_for(settings.n_eigenpairs, self._n_threads):
                heads = self._refined(learned, neighbors, labels)
        self._heads_ = heads
        layers: list[Layer] = []
        with blas_for(settings.n_eigenpairs, self._n_threads):
            if self.hyperparameters == "integrate":
                with stage("integration over the hyperparameters", self.verbose):
                    layers = integrate_layers(learned, heads, graph, neighbors, tasks, settings)
                tables = [hyperparameter_posterior(layers, i) for i in range(len(heads))]
                self.hyperparameter_posterior_ = tables[0] if len(tables) == 1 else tables
            self._mixtures_ = self._posteriors(learned.feature_map, heads, layers)
        self.bandwidth_trace_ = learned.bandwidth_trace
        self.diffusion_time_ = scalar_or_array([head.fit.values[TIME] for head in heads])
        self.amplitude_ = scalar_or_array([head.fit.values[AMPLITUDE] for head in heads])
        self.log_marginal_likelihood_value_ = float(sum(head.fit.evaluation.log_evidence for head in heads))
        reports = [head.fit.report for head in heads]
        self.optimizer_result_ = reports[0] if len(reports) == 1 else reports
        self._labels_ = labels if labels.points.size <= _KEPT_NUMBERS else None
        return learned, neighbors.index[:, 0]

    def _tasks(self, labels: Labels, kept: Mapping[Any, Kept] | None = None) -> list[Task]:
        """The latent functions to learn, and what the labels say about each; `kept` as `_kept` gives it."""
        raise NotImplementedError  # each estimator has its own

    def _head_names(self) -> Sequence[Any]:
        """A name for each latent function that lasts while labels are added."""
        raise NotImplementedError  # each estimator has its own

    def _kept(self) -> dict[Any, Kept]:
        """The hyperparameters of each latent function, by its name."""
        pairs = zip(self._head_names(), self._heads_, strict=True)
        return {name: Kept(head.fit.values, head.fit.likelihood) for name, head in pairs}

    def _eigenfeatures(self) -> dict[str, Any]:
        """Settings that say where the eigenfeatures come from; a baseline has its own."""
        return {}

    def _refined(self, learned: Learned, neighbors: NeighborBlock, labels: Labels) -> list[Head]:
        """The heads, after whatever a subclass adds to the model."""
        return learned.heads

    def _posteriors(
        self, feature_map: FeatureMap, heads: Sequence[Head], layers: Sequence[Layer]
    ) -> list[list[Component]]:
        """The posterior of each latent function, at the best hyperparameters or over `layers` of them."""
        if self.inference == "gibbs" and not all(isinstance(h.task.likelihood, Gaussian) for h in heads):
            with stage("Markov chains", self.verbose):
                return self._sampled(feature_map, heads, layers)
        if layers:
            return [integrated_components(layers, i, feature_map) for i in range(len(heads))]
        return [[gaussian_component(feature_map, head)] for head in heads]

    def _sampled(
        self, feature_map: FeatureMap, heads: Sequence[Head], layers: Sequence[Layer]
    ) -> list[list[Component]]:
        """Chains for every latent function; a bandwidth that was searched stays at its best value."""
        seed = int(check_random_state(self.random_state).randint(2**31))
        mixtures, chains = [], []
        for i, head in enumerate(heads):
            points = weighted_points(feature_map, head, i, layers)
            component, runs = sampled_component(feature_map, points, self._chain_settings(), seed + i)
            mixtures.append([component])
            chains.append(runs[0] if len(runs) == 1 else runs)
        self.chains_ = chains[0] if len(chains) == 1 else chains
        return mixtures

    def _chain_settings(self) -> ChainSettings:
        return ChainSettings(int(self.n_chains), int(self.n_draws), int(self.n_warmup))

    def _dimension(self, rows: RowLike) -> float | None:
        """The intrinsic dimension, where the prior of t asks for it."""
        if self.time_prior != "paper" or self.intrinsic_dimension is not None:
            return self.intrinsic_dimension
        n = rows.shape[0]
        chosen = np.unique(np.linspace(0, n - 1, min(n, _DIMENSION_ROWS)).astype(int))
        self.intrinsic_dimension_ = estimate_intrinsic_dimension(labeled_rows(rows, chosen))
        return self.intrinsic_dimension_

    def _check_all_given(self, tasks: Sequence[Task]) -> None:
        """Refuse hyperparameters="fixed" while something is left to learn."""
        if self.hyperparameters != "fixed":
            return
        given = {TIME: self.diffusion_time, AMPLITUDE: self.amplitude}
        missing = [name for name, value in given.items() if value is None]
        if self.base_kernel == "se" and self.bandwidth is None:
            missing.append("bandwidth")
        missing += tasks[0].likelihood.free_parameters
        if missing:
            raise ValueError(
                f"hyperparameters='fixed', but {', '.join(missing)} has no value. Set it (the "
                "likelihood's own parameters in an instance of the likelihood), or use 'optimize'."
            )

    def _transduce(self, feature_map: FeatureMap, X: RowLike) -> Array:
        """Predictions of the fitted rows, from the neighbours that are still at hand."""
        if any(isinstance(part.field, JointField) for mixture in self._mixtures_ for part in mixture):
            # A residual needs the points themselves.
            return map_rows(X, lambda block: self._point(feature_map.rows(block)), self._n_threads)
        parts = feature_map.graph.blocks.map(lambda block: [self._point(feature_map.rows_of(block))])
        return np.concatenate(parts.reduce(lambda part: part))

    def _point(self, rows: Rows) -> Array:
        """The prediction that `predict` returns."""
        raise NotImplementedError  # each estimator has its own

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("inference", self.inference, INFERENCES)
        check_choice("hyperparameters", self.hyperparameters, HYPERPARAMETERS)
        if isinstance(self.time_prior, str):
            check_choice("time_prior", self.time_prior, TIME_PRIORS)
        elif not callable(self.time_prior):
            rules = ", ".join(map(repr, TIME_PRIORS))
            raise ValueError(f"time_prior={self.time_prior!r} is not known. Use one of {rules}, or a Prior.")
        check_positive("intrinsic_dimension", self.intrinsic_dimension)
        check_count("n_chains", self.n_chains)
        check_count("n_draws", self.n_draws, minimum=4)
        check_count("n_warmup", self.n_warmup, minimum=0)
