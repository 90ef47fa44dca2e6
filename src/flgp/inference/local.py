"""Evidence and posterior with a local term, in the form the hyperparameter search asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array, IntArray
from ..likelihoods import AnyLikelihood, Categorical, Gaussian, Observations
from ..terms.local.dissection import dissect, stored_entries
from ..terms.local.neighborhoods import coarse_order, compact_rows, evenly, previous_neighborhoods
from .dense import DenseInference
from .joint import JointData, evaluate
from .joint_laplace import LatentData, evaluate_latent
from .posterior import Evaluation, Point

# Numbers in a factor of the latent precision (1 GB); computing it needs two or three times as many.
_MAX_ENTRIES = 125_000_000


@dataclass(frozen=True)
class JointInference(JointData):
    """Gaussian labels: closed form, the Vecchia factorisation being that of u + noise."""

    points: Array  # (m, q) labelled points where u lives
    order: IntArray  # (m,) of the factorisation
    n_neighbors: int

    @classmethod
    def of(
        cls, features: Array, obs: Observations, offset: float | Array, points: Array, n_neighbors: int
    ) -> JointInference:
        """From labels with features Φ (m, M), a constant's column of ones included, at points (m, q)."""
        order = coarse_order(points)
        near = previous_neighborhoods(points, n_neighbors, order)
        return cls(features, obs.y - offset, obs.noise_scale, near, points, order, n_neighbors)

    def part(self, count: int) -> JointInference:
        """What `count` labels say, evenly from coarse to fine, given neighbours among all."""
        rows = np.sort(self.order[evenly(len(self.points), count)])
        return replace(self, near=self.near.take(rows))

    def evaluate(self, at: Point) -> Evaluation:
        return evaluate(self, at.d, at.noisy_local)


@dataclass(frozen=True)
class JointLaplace(LatentData):
    """Any other likelihood: Laplace's method, the Vecchia factorisation being that of the latent u."""

    points: Array  # (m, q) labelled points where u lives
    sites: Array  # (s, q) the distinct ones
    n_neighbors: int

    @classmethod
    def of(
        cls, features: Array, obs: Observations, offset: float | Array, points: Array, n_neighbors: int
    ) -> JointLaplace:
        """From labels with features Φ (m, M), a constant's column of ones included, at points (m, q)."""
        sites, places = np.unique(points, axis=0, return_inverse=True)
        near = previous_neighborhoods(sites, n_neighbors, coarse_order(sites))
        fronts = dissect(sites, near)
        if (entries := stored_entries(fronts)) > _MAX_ENTRIES:
            raise ValueError(
                "residual='local' with a likelihood that is not Gaussian factorises the posterior precision "
                f"of u, which for these {len(sites):,} points takes {8e-9 * entries:.1f} GB. Use fewer "
                "n_residual_neighbors, fewer labels, or residual=None."
            )
        return cls(features, obs, offset, places.ravel(), near, fronts, points, sites, n_neighbors)

    def part(self, count: int) -> JointLaplace:
        """The same for `count` of the labels, in whole neighbourhoods."""
        rows = compact_rows(self.points, count)
        offset = self.offset if np.ndim(self.offset) == 0 else np.asarray(self.offset)[rows]
        known = self.features[rows], self.obs.take(rows), offset
        return JointLaplace.of(*known, self.points[rows], self.n_neighbors)

    def evaluate(self, at: Point) -> Evaluation:
        """With a local term; `at.state` is f (m,) at the mode of an evaluation nearby."""
        assert at.local is not None
        return evaluate_latent(self, at.d, at.one_function, at.local, at.state)


LocalInference = DenseInference | JointInference | JointLaplace


def local_inference(
    likelihood: AnyLikelihood,
    features: Array,
    obs: Observations,
    offset: float | Array,
    points: Array,
    n_neighbors: int,
) -> LocalInference:
    """The one that suits a likelihood, dense where all labels are neighbours."""
    if not isinstance(likelihood, Gaussian):
        assert not isinstance(likelihood, Categorical)
        obs, offset = likelihood.about(obs, offset)
        return JointLaplace.of(features, obs, offset, points, n_neighbors)
    if n_neighbors >= len(points) - 1:
        return DenseInference.of(features, obs, offset, points)
    return JointInference.of(features, obs, offset, points, n_neighbors)
