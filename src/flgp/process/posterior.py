"""From what was learned to the fitted process: at the best hyperparameters, over many, or by draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..inference.chains import Chains
from ..inference.coupled import CoupledEP
from ..inference.expectation_propagation import ExpectationPropagation
from ..inference.heteroscedastic import HeteroscedasticInference, NoisyPosterior
from ..inference.joint_laplace import LatentPosterior
from ..inference.local import JointLaplace, LocalInference
from ..inference.posterior import WeightPosterior
from ..likelihoods import AnyLikelihood, Categorical, Gaussian
from ..terms import Constant, Manifold, Terms
from .class_field import class_fields
from .class_models import PROBIT, Calibration, ClassModel, least_squares_model, probit_model, weighed
from .component import Component, Field, NoiseFunction
from .draws_field import ChainSettings, DrawsField, mixed_draws, sample_function
from .evidence import NOISE, Evidence
from .field import WeightField
from .integration import IntegratedModel
from .kriging import JointPosterior
from .learning import LearnedModel
from .local_field import LocalField
from .mixture import LatentFunction
from .process import Process
from .search import Optimum

# A prediction solves one system where the evidence solves m of them sixty times, so it can afford more.
_PREDICTION_NEIGHBORS = 2


class _Weighted(NamedTuple):
    """A point of the hyperparameters' posterior."""

    weight: float
    at: Optimum


def make_process(
    model: LearnedModel,
    integrated: Sequence[IntegratedModel] = (),
    chains: ChainSettings | None = None,
) -> tuple[Process, list[Chains | list[Chains]]]:
    """The process, and the chains that were run for each function.

    Without `integrated`, the hyperparameters have their best values; with `chains`, draws take the place of
    Gaussian approximations.
    """
    functions = model.functions
    if functions[0].target.exclusive:
        return _classes(model, _points(model, 0, integrated)), []
    if chains is not None and not all(isinstance(f.target.likelihood, Gaussian) for f in functions):
        # A bandwidth that was searched stays at its best value.
        pairs = [
            _sampled(model.terms, f.evidence, _points(model, i, integrated), chains.further(i))
            for i, f in enumerate(functions)
        ]
        return Process((model.terms,), tuple(f for f, _ in pairs)), [runs for _, runs in pairs]
    if not integrated:
        parts = tuple(LatentFunction((_gaussian(f.evidence, _Weighted(1.0, f.best)),)) for f in functions)
        return Process((model.terms,), parts, correlation=model.correlation), []
    layers = tuple(part.model.terms for part in integrated)
    return Process(layers, tuple(_over_layers(integrated, i) for i in range(len(functions)))), []


def _over_layers(integrated: Sequence[IntegratedModel], which: int) -> LatentFunction:
    """A component for each point of the quadrature."""
    return LatentFunction(
        tuple(
            _gaussian(part.model.functions[which].evidence, _Weighted(part.weight * weight, point), layer)
            for layer, part in enumerate(integrated)
            for weight, point in _points(part.model, which, [part])
        )
    )


def _points(model: LearnedModel, which: int, integrated: Sequence[IntegratedModel]) -> list[_Weighted]:
    """A function at its best hyperparameters, or at each point of the quadrature at the best bandwidth."""
    for part in integrated:
        if part.model.basis.bandwidth == model.basis.bandwidth:
            integral = part.integrals[which]
            return list(map(_Weighted, integral.weights.tolist(), integral.points))
    return [_Weighted(1.0, model.functions[which].best)]


def _component(evidence: Evidence, point: _Weighted, field: Field, layer: int = 0) -> Component:
    values = point.at.values
    return Component(
        point.weight,
        layer,
        field,
        point.at.likelihood,
        evidence.terms.variances(values),
        evidence.target.constant.variance or 0.0,
        evidence.local_at(values),
    )


def _gaussian(evidence: Evidence, point: _Weighted, layer: int = 0) -> Component:
    """The Gaussian posterior at a point."""
    posterior, d = point.at.evaluation.posterior, evidence.variances(point.at.values)
    noise = None
    inference = evidence.inference
    if isinstance(inference, HeteroscedasticInference):
        sites = point.at.evaluation.state
        assert sites is not None
        both = inference.refined(d, point.at.likelihood, sites)
        posterior, noise = both.function, _noise(evidence.terms, both, point.at.values)
    features = WeightField.of(evidence.terms, posterior, d, evidence.target.constant)
    field: Field = features
    if evidence.local is not None:
        field = LocalField(features, _kriging(evidence, point.at))
    return replace(_component(evidence, point, field, layer), noise=noise)


def _noise(terms: Terms, posterior: NoisyPosterior, values: Mapping[str, float]) -> NoiseFunction:
    """The noise on the manifold term alone: the weights of other terms are 0."""
    manifold = terms.find(Manifold)
    assert manifold is not None
    own = manifold[1]
    found, count = posterior.log_noise, terms.n_features
    mean, factor, d = np.zeros(count), np.zeros((count, found.factor.shape[1])), np.zeros(count)
    mean[own], factor[own], d[own] = found.mean, found.factor, posterior.variances
    center = Constant(float(np.log(values[NOISE])))
    return NoiseFunction(WeightField.of(terms, WeightPosterior(mean, factor), d, center), d)


def _kriging(evidence: Evidence, at: Optimum) -> JointPosterior:
    """What prediction needs of the local term."""
    inference = evidence.inference
    assert isinstance(inference, LocalInference)
    posterior, count = at.evaluation.posterior, _PREDICTION_NEIGHBORS * inference.n_neighbors
    assert evidence.local is not None
    if isinstance(inference, JointLaplace):
        assert isinstance(posterior, LatentPosterior)
        return JointPosterior.of_latent(inference.sites, posterior, evidence.local.model(at.values), count)
    assert isinstance(at.likelihood, Gaussian)
    local = evidence.local.model(at.values, at.likelihood.noise_variance or 0.0)
    labels = inference.points, inference.features, inference.y, inference.noise_scale
    return JointPosterior.of(*labels, posterior, local, count)


def _sampled(
    terms: Terms, evidence: Evidence, points: Sequence[_Weighted], settings: ChainSettings
) -> tuple[LatentFunction, Chains | list[Chains]]:
    """The posterior as draws, from chains at one or several weighted hyperparameter values."""
    runs = [sample_function(evidence, point.at, settings.further(1000 * i)) for i, point in enumerate(points)]
    weights = np.array([point.weight for point in points])
    draws = mixed_draws([draws for _, draws in runs], weights, settings.seed)
    best = _Weighted(1.0, points[int(weights.argmax())].at)
    d = evidence.variances(best.at.values)
    field = DrawsField.of(terms, draws, d, evidence.target.constant)
    chains = [run for run, _ in runs]
    return LatentFunction((_component(evidence, best, field),)), chains[0] if len(chains) == 1 else chains


def _classes(model: LearnedModel, points: Sequence[_Weighted]) -> Process:
    """Exclusive classes: a function for each class, or one for two, with the same hyperparameters."""
    evidence = model.functions[0].evidence
    target = evidence.target
    coupled = target.likelihood if isinstance(target.likelihood, Categorical) else None
    best, calibration = points[0].at, Calibration()
    if target.calibrated and len(points) == 1 and best.evaluation.left_out is not None:
        models, calibration = _calibrated(model, best)
    else:
        models = [
            ClassModel(
                PROBIT,
                point.at.evaluation.posteriors,
                evidence.variances(point.at.values),
                (target.constant,) * len(point.at.evaluation.posteriors),
                np.empty(0),
                point.weight,
            )
            for point in points
        ]
    components = [_class_components(model.terms, part, best.likelihood) for part in models]
    functions = tuple(LatentFunction(parts) for parts in zip(*components, strict=True))
    return Process((model.terms,), functions, coupled, calibration)


def _calibrated(model: LearnedModel, best: Optimum) -> tuple[list[ClassModel], Calibration]:
    """A probit and least squares, weighed by left-out labels."""
    evidence = model.functions[0].evidence
    target, left_out = evidence.target, best.evaluation.left_out
    assert left_out is not None
    probit, sharpness = probit_model(
        target,
        best.evaluation.posteriors,
        evidence.variances(best.values),
        left_out.mean,
        left_out.variance,
    )
    inference = evidence.inference
    assert isinstance(inference, CoupledEP | ExpectationPropagation)
    features = inference.features[:, : model.terms.n_features]
    squares = [
        least_squares_model(name, target, features, model.terms, values)
        for name, values in model.least_squares.items()
    ]
    models = weighed(target, [probit, *squares])
    return models, Calibration(sharpness, {part.name: part.weight for part in models})


def _class_components(terms: Terms, model: ClassModel, likelihood: AnyLikelihood) -> list[Component]:
    """A component for each latent function."""
    d, constants = model.variances, model.constants
    fields: Sequence[Field]
    if isinstance(likelihood, Categorical):
        fields = class_fields(terms, model.posteriors, d, constants)
    else:
        fields = [WeightField.of(terms, model.posteriors[0], d, constants[0])]
    variances, constant = d[: terms.n_features], constants[0].variance or 0.0
    return [Component(model.weight, 0, field, likelihood, variances, constant) for field in fields]
