"""The posterior of a latent function as a mixture of components, and what each kind is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import Array
from ..feature_map import FeatureMap, Rows
from ..inference.chains import Chains
from ..inference.draws import (
    N_QUANTILES,
    ChainSettings,
    DrawsField,
    draws_field,
    mixed_draws,
    sample_head,
    thinned,
)
from ..inference.integration import Layer
from ..inference.latent import LatentField, SoftmaxField, draws_at_anchors
from ..inference.learning import Head
from ..inference.mapped import MappedField
from ..likelihoods import Gaussian
from ..residual.field import JointField
from ..residual.inference import JointInference, JointLaplace
from ..residual.likelihood import of_labels
from ._residual import joint_field

_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(40)
_SHARES = _SHARES / _SHARES.sum()


@dataclass(frozen=True)
class Component:
    """One posterior of one latent function; several with weights make a mixture."""

    weight: float
    field: LatentField | JointField | MappedField | DrawsField
    likelihood: Any  # Likelihood, or Categorical
    prior_weights: Array  # d (M,)

    def latent_moments(self, rows: Rows) -> tuple[Array, Array]:
        """E f and Var f, (b,) each."""
        if isinstance(self.field, JointField):  # one kriging system for both
            parts = self.field.parts(rows)
            return parts.mean, parts.variance
        return self.field.means(rows), self.field.variances(rows)

    def given(self, size: Array | None) -> Any:
        """The likelihood of rows with these exposures or trials; None: 1."""
        return self.likelihood if size is None else self.likelihood.of_size(size)

    def predictive_mean(self, rows: Rows, size: Array | None = None) -> Array:
        """E y (b,); `size` (b,) are the exposures or trials of the rows."""
        if isinstance(self.likelihood, Gaussian):  # there E y = E f, and no variance is needed
            return self.field.means(rows)
        if isinstance(self.field, DrawsField):
            return self.field.average(self._mean_of, rows, size)
        return self.given(size).predictive_mean(*self.latent_moments(rows))

    def predictive_moments(self, rows: Rows, size: Array | None = None) -> tuple[Array, Array]:
        """E y and Var y, (b,) each."""
        if isinstance(self.field, DrawsField):
            mean = self.field.average(self._mean_of, rows, size)
            second = self.field.average(self._square_of, rows, size)
            return mean, np.maximum(second - mean**2, 0.0)
        latent, likelihood = self.latent_moments(rows), self.given(size)
        return likelihood.predictive_mean(*latent), likelihood.predictive_variance(*latent)

    def _mean_of(self, f: Array, size: Array | None = None) -> Array:
        """E[y | f]."""
        return self.given(size).conditional_mean(f)

    def _square_of(self, f: Array, size: Array | None = None) -> Array:
        """E[y² | f]."""
        likelihood = self.given(size)
        return likelihood.conditional_variance(f) + likelihood.conditional_mean(f) ** 2

    def latent_nodes(self, rows: Rows) -> tuple[Array, Array]:
        """Values of f (k, b) and their shares (k,) that stand for its marginals."""
        if isinstance(self.field, DrawsField):
            return self.field.quantiles(rows), np.full(N_QUANTILES, 1.0 / N_QUANTILES)
        mean, variance = self.latent_moments(rows)
        return mean + np.sqrt(variance) * _NODES[:, None], _SHARES

    def latent_spread(self, rows: Rows) -> tuple[Array, Array]:
        """Gaussians whose equal mixture is the marginal of f: means (k, b) and standard deviations (k, b)."""
        if isinstance(self.field, DrawsField):
            values = self.field.quantiles(rows)
            # As wide as the gaps between the quantiles, so that their mixture is smooth.
            return values, np.broadcast_to(values.std(axis=0) / N_QUANTILES, values.shape)
        mean, variance = self.latent_moments(rows)
        return mean[None], np.sqrt(variance)[None]


def in_any_order(parts: Sequence[Array], rng: np.random.Generator) -> Array:
    """Draws (b, …) of all components side by side, shuffled: the first few are draws of the mixture too."""
    draws = np.concatenate(parts, axis=1)
    return draws if len(parts) == 1 else draws[:, rng.permutation(draws.shape[1])]


def gaussian_component(feature_map: FeatureMap, head: Head, weight: float = 1.0) -> Component:
    """The Gaussian posterior of a head with one latent function."""
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
    whole: LatentField | JointField = field
    if isinstance(inference, JointInference | JointLaplace):
        whole = joint_field(field, head, inference)
    return Component(weight, whole, of_labels(fit.likelihood), d[: len(feature_map.eigenvalues)])


def integrated_components(layers: Sequence[Layer], head: int, own: FeatureMap) -> list[Component]:
    """A component for each point of the quadrature; `own` is the feature map that the model predicts with."""
    parts = []
    for layer in layers:
        integral = layer.integrals[head]
        for fit, weight in zip(integral.fits, integral.weights, strict=True):
            at = replace(layer.heads[head], fit=fit)
            part = gaussian_component(layer.feature_map, at, layer.weight * float(weight))
            if layer.feature_map is not own:
                assert isinstance(part.field, LatentField)
                part = replace(part, field=MappedField.on(layer.feature_map, part.field))
            parts.append(part)
    return parts


def weighted_points(
    feature_map: FeatureMap, head: Head, which: int, layers: Sequence[Layer]
) -> list[tuple[float, Head]]:
    """A head at its best hyperparameters, or at each point of the quadrature on the same feature map."""
    for layer in layers:
        if layer.feature_map is feature_map:
            integral = layer.integrals[which]
            pairs = zip(integral.weights.tolist(), integral.fits, strict=True)
            return [(weight, replace(head, fit=fit)) for weight, fit in pairs]
    return [(1.0, head)]


def softmax_components(
    feature_map: FeatureMap,
    points: Sequence[tuple[float, Head]],
    chains: ChainSettings | None,
    seed: int,
) -> tuple[SoftmaxField, list[list[Component]], list[Chains]]:
    """Joint field, mixture of each class, and the chains if there are any, of coupled classes."""
    lift, weights = feature_map.spectrum.lift, np.array([weight for weight, _ in points])
    best = points[int(weights.argmax())][1]
    likelihood = best.fit.likelihood
    if chains is None:
        posteriors = [head.fit.evaluation.posterior for _, head in points]
        priors = [head.evidence.weights(head.fit.values) for _, head in points]
        parts = [SoftmaxField.of(lift, *pair) for pair in zip(posteriors, priors, strict=True)]
        draws = mixed_draws([posterior.draws for posterior in posteriors], weights, seed)
        joint = SoftmaxField(parts[int(weights.argmax())].fields, draws_at_anchors(lift, draws))
        each = list(zip(weights.tolist(), parts, priors, strict=True))
        return (
            joint,
            [
                [Component(weight, part.fields[c], likelihood, d) for weight, part, d in each]
                for c in range(likelihood.n_classes)
            ],
            [],
        )
    runs = [sample_head(head, chains, seed + 1000 * i) for i, (_, head) in enumerate(points)]
    draws = mixed_draws([draws for _, draws in runs], weights, seed)
    fields = [draws_field(lift, draws[:, c], best) for c in range(likelihood.n_classes)]
    joint = SoftmaxField(fields, draws_at_anchors(lift, thinned(draws)))
    d = best.evidence.weights(best.fit.values)
    return joint, [[Component(1.0, field, likelihood, d)] for field in fields], [run for run, _ in runs]


def sampled_component(
    feature_map: FeatureMap, points: Sequence[tuple[float, Head]], settings: ChainSettings, seed: int
) -> tuple[Component, list[Chains]]:
    """The posterior of one head as draws, from chains at one or several weighted hyperparameter values."""
    runs = [sample_head(head, settings, seed + 1000 * i) for i, (_, head) in enumerate(points)]
    weights = np.array([weight for weight, _ in points])
    draws = mixed_draws([draws for _, draws in runs], weights, seed)
    best = points[int(weights.argmax())][1]
    field = draws_field(feature_map.spectrum.lift, draws, best)
    d = best.evidence.weights(best.fit.values)[: len(feature_map.eigenvalues)]
    return Component(1.0, field, best.fit.likelihood, d), [chains for chains, _ in runs]
