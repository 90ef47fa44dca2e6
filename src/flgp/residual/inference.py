"""Evidence and posterior with residual, in the form the hyperparameter search asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array, IntArray
from ..inference.learning import Head
from ..inference.posterior import Evaluation
from ..likelihoods import Gaussian, Observations
from .columns import Columns
from .dissection import dissect, stored_entries
from .joint import JointData, evaluate
from .laplace import LatentData, evaluate_latent
from .likelihood import LocalGaussian, LocalLikelihood
from .neighborhoods import coarse_to_fine, previous_neighborhoods

# Numbers in a factor of the latent precision (1 GB); computing it needs two or three times as many.
_MAX_ENTRIES = 125_000_000


@dataclass(frozen=True)
class ResidualOptions:
    """What a user chooses about the residual."""

    kernel: str  # "auto" or the name of one
    n_neighbors: int  # k
    required: bool  # False: only if the evidence asks for it
    columns: Columns  # where u lives
    n_threads: int = 1


@dataclass(frozen=True)
class JointInference:
    """Gaussian labels: closed form, the Vecchia factorisation being that of u + noise."""

    data: JointData
    points: Array  # (m, q) labelled points where u lives
    columns: Columns  # how any point gets there
    n_neighbors: int
    n_threads: int

    @classmethod
    def of(cls, head: Head, features: Array, X: Array, options: ResidualOptions) -> JointInference:
        """From labelled rows X (m, p) with features Φ (m, M), without the column of the intercept."""
        points, obs = options.columns.of(X), head.task.obs
        near = previous_neighborhoods(points, options.n_neighbors, coarse_order(points))
        data = JointData(_with_intercept(head, features), obs.y - head.task.offset, obs.noise_scale, near)
        return cls(data, points, options.columns, options.n_neighbors, options.n_threads)

    def take(self, rows: IntArray) -> JointInference:
        """The same for some of the labelled rows."""
        points, data = self.points[rows], self.data
        near = previous_neighborhoods(points, self.n_neighbors, coarse_order(points))
        part = JointData(data.features[rows], data.y[rows], data.noise_scale[rows], near)
        return replace(self, data=part, points=points)

    def evaluate(
        self, d: Array, likelihood: LocalGaussian, state: Array | None = None, rough: bool = False
    ) -> Evaluation:
        """Evidence, derivatives and posterior for prior variances d (M,)."""
        return evaluate(self.data, d, likelihood.local, self.n_threads)


@dataclass(frozen=True)
class JointLaplace:
    """Any other likelihood: Laplace's method, the Vecchia factorisation being that of the latent u."""

    data: LatentData
    points: Array  # (m, q) labelled points where u lives
    sites: Array  # (s, q) the distinct ones
    columns: Columns  # how any point gets there
    n_neighbors: int
    n_threads: int

    @classmethod
    def of(cls, head: Head, features: Array, X: Array, options: ResidualOptions) -> JointLaplace:
        """From labelled rows X (m, p) with features Φ (m, M), without the column of the intercept.

        Raises
        ------
        ValueError
            If the factor of the posterior precision of u would not fit into memory.
        """
        points, task = options.columns.of(X), head.task
        data, sites = _latent_data(
            _with_intercept(head, features), task.obs, task.offset, points, options.n_neighbors
        )
        if (entries := stored_entries(data.fronts)) > _MAX_ENTRIES:
            raise ValueError(
                f"residual='local' with the {task.likelihood.name} likelihood factorises the posterior "
                f"precision of u, which for these {len(sites):,} points takes {8e-9 * entries:.1f} GB. Use "
                "fewer n_residual_neighbors, fewer labels, or residual=None."
            )
        return cls(data, points, sites, options.columns, options.n_neighbors, options.n_threads)

    def take(self, rows: IntArray) -> JointLaplace:
        """The same for some of the labelled rows."""
        points, whole = self.points[rows], self.data
        data, sites = _latent_data(
            whole.features[rows], whole.obs.take(rows), whole.offset, points, self.n_neighbors
        )
        return replace(self, data=data, points=points, sites=sites)

    def evaluate(
        self, d: Array, likelihood: LocalLikelihood, state: Array | None = None, rough: bool = False
    ) -> Evaluation:
        """Evidence, derivatives and posterior for prior variances d (M,)."""
        return evaluate_latent(self.data, d, likelihood, state, self.n_threads)


def residual_inference(
    head: Head, features: Array, X: Array, options: ResidualOptions
) -> JointInference | JointLaplace:
    """The one that suits a head's likelihood."""
    kind = JointInference if isinstance(head.task.likelihood, Gaussian) else JointLaplace
    return kind.of(head, features, X, options)


def _latent_data(
    features: Array, obs: Observations, offset: float, points: Array, n_neighbors: int
) -> tuple[LatentData, Array]:
    """Data of labels at `points` (m, q), and the distinct ones of these (s, q)."""
    sites, places = np.unique(points, axis=0, return_inverse=True)
    near = previous_neighborhoods(sites, n_neighbors, coarse_order(sites))
    return LatentData(features, obs, offset, places.ravel(), near, dissect(sites, near)), sites


def coarse_order(points: Array) -> IntArray:
    """From coarse to fine, whatever the order of the rows."""
    canonical = np.lexsort(points.T)
    return canonical[coarse_to_fine(points[canonical], np.random.default_rng(0))]


def _with_intercept(head: Head, features: Array) -> Array:
    if head.task.intercept_variance is None:
        return features
    return np.column_stack([features, np.ones(len(features))])
