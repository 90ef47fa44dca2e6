"""From a geometry and labels to a basis, terms on it, and the hyperparameters of every latent function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .._threads import blas_for, thread_map
from .._typing import Array
from ..geometry.bandwidth import search_basis
from ..geometry.base import Eigenbasis, FittedGeometry
from ..inference.coupled import CoupledEP
from ..inference.expectation_propagation import ExpectationPropagation
from ..inference.gaussian import GaussianInference
from ..inference.heteroscedastic import HeteroscedasticInference, NoiseBasis
from ..inference.laplace import LaplaceInference
from ..inference.posterior import Inference
from ..likelihoods import Bernoulli, Categorical, Gaussian, Heteroscedastic, Ordinal
from ..terms import Inputs, Manifold, Terms
from .evidence import Evidence, HyperSpace, Target
from .linked import learn_linked
from .pooled import least_squares_fits, pooled_optimum, representative, shared_optimum
from .search import LearnedFunction, Optimum, optimum_at, search
from .sharing import share, split

# m·M² from which latent functions are learned side by side.
_THREADED_SIZE = 5e7


@dataclass(frozen=True)
class Settings:
    """Everything about learning that is not data."""

    n_eigenpairs: int
    terms_on: Callable[[Eigenbasis, Inputs], Terms]  # the terms, for a basis and labelled rows
    fixed: Mapping[str, float] = field(default_factory=dict)  # hyperparameters that are given
    inference: str = "auto"
    sketch: bool = False  # enough to compare models: of many labels, only a part may be looked at
    shared: bool = False  # whether several outputs share their hyperparameters
    rank: int = 0  # of the loadings that link several outputs; 0: independent given the hyperparameters


@dataclass(frozen=True)
class LearnedModel:
    """All latent functions on one basis."""

    terms: Terms
    basis: Eigenbasis
    functions: list[LearnedFunction]
    bandwidth_trace: list[tuple[float, float]] = field(default_factory=list)  # (ε, log posterior) as tried
    pooled: Optimum | None = None  # of exclusive classes as zeros and ones, where these are compared roughly
    least_squares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # of such fits, by name
    shared: LearnedFunction | None = None  # the sum of the functions, where they share hyperparameters
    correlation: Array | None = None  # (C, C) prior correlation of linked functions

    @property
    def is_sketch(self) -> bool:
        """Whether only zeros and ones were looked at, so that no function has been learned yet."""
        return self.pooled is not None

    @property
    def log_evidence(self) -> float:
        """Of the labels of all functions, at the hyperparameters that were learned."""
        return float(sum(function.best.evaluation.log_evidence for function in self.functions))

    @property
    def log_posterior(self) -> float:
        """Of zeros and ones where only these were looked at, otherwise the sum over the functions."""
        if self.shared is not None:
            return self.shared.best.log_posterior
        if self.pooled is not None:
            return self.pooled.log_posterior
        return sum(function.best.log_posterior for function in self.functions)


def learn(
    geometry: FittedGeometry, labels: Inputs, targets: Sequence[Target], settings: Settings
) -> LearnedModel:
    """Choose the bandwidth, where the geometry has one to search, and the hyperparameters by evidence."""

    def attempt(basis: Eigenbasis, beside: LearnedModel | None) -> LearnedModel:
        return learn_on(basis, labels, targets, settings, beside, rough=True)

    basis, trace = search_basis(geometry, settings.n_eigenpairs, attempt)
    final = learn_on(basis, labels, targets, settings)
    return replace(final, bandwidth_trace=trace)


def learn_on(
    basis: Eigenbasis,
    labels: Inputs,
    targets: Sequence[Target],
    settings: Settings,
    beside: LearnedModel | None = None,
    rough: bool = False,
) -> LearnedModel:
    """The latent functions on one basis.

    `beside`: what was learned at another bandwidth, to begin from. `rough`: good enough to rank bandwidths.
    """
    with blas_for(max(len(labels), len(basis.eigenvalues))):
        terms = settings.terms_on(basis, labels)
        features = terms.features(labels)
    if targets[0].exclusive:
        return _learn_classes(basis, terms, features, targets[0], settings, rough)
    if (settings.shared or settings.rank) and len(targets) > 1:
        return _learn_shared(basis, terms, features, targets, settings, beside, rough)
    warm: Sequence[LearnedFunction | None] = [None] * len(targets) if beside is None else beside.functions

    def learn_one(item: tuple[Target, LearnedFunction | None]) -> LearnedFunction:
        target, other = item
        return learn_function(target, features[target.rows], terms, settings, other, rough)

    # Small matrices leave threads nothing but each other to wait for.
    large = len(features) * features.shape[1] ** 2 > _THREADED_SIZE
    functions = list(thread_map(learn_one, zip(targets, warm, strict=True), None if large else 1))
    return LearnedModel(terms, basis, functions)


def _learn_shared(
    basis: Eigenbasis,
    terms: Terms,
    features: Array,
    targets: Sequence[Target],
    settings: Settings,
    beside: LearnedModel | None,
    rough: bool,
) -> LearnedModel:
    """Outputs with the same hyperparameters, in units of each output; linked if the settings say so."""
    rows = [features[target.rows] for target in targets]
    pairs = list(zip(targets, rows, strict=True))
    evidences = [evidence_of(target, own, terms, settings) for target, own in pairs]
    if all(target.known is not None for target in targets):
        functions = [learn_function(target, own, terms, settings) for target, own in pairs]
        return LearnedModel(terms, basis, functions)
    whole = share(evidences)
    warm = None if beside is None else beside.shared
    best = search(whole, warm, rough)
    shared, optima, correlation = LearnedFunction(whole, best), split(whole, evidences, best), None
    if settings.rank and not rough:
        columns = [target.with_constant(own) for target, own in pairs]
        linked = learn_linked(whole, evidences, columns, best, settings.rank)
        shared = LearnedFunction(whole, replace(best, log_posterior=linked.log_posterior))
        optima, correlation = linked.best, linked.correlation
    functions = [LearnedFunction(*pair) for pair in zip(evidences, optima, strict=True)]
    return LearnedModel(terms, basis, functions, shared=shared, correlation=correlation)


def _learn_classes(
    basis: Eigenbasis, terms: Terms, features: Array, target: Target, settings: Settings, rough: bool
) -> LearnedModel:
    """Classes that exclude each other; as zeros and ones, if that is enough to compare bases or graphs."""
    with blas_for(max(features.shape)):
        if rough or settings.sketch:
            some, rows = representative(target)
            pooled = pooled_optimum(some, features[rows], terms, settings.fixed, rough)
            return LearnedModel(terms, basis, [], pooled=pooled)
        whole = evidence_of(target, features, terms, settings)
        known = target.known
        if known is not None or not whole.space.free:
            theta = whole.space.theta(known.values if known is not None else {})
            best = optimum_at(whole, theta)
            kept = {} if known is None else known.least_squares
            return LearnedModel(terms, basis, [LearnedFunction(whole, best)], least_squares=kept)
        part, rows = representative(target)
        pooled = pooled_optimum(part, features[rows], terms, settings.fixed)
        learner = whole if part is target else evidence_of(part, features[rows], terms, settings)
        best = shared_optimum(whole, learner, pooled)
        fits = least_squares_fits(part, features[rows], terms, pooled) if target.calibrated else {}
    return LearnedModel(terms, basis, [LearnedFunction(whole, best)], least_squares=fits)


def learn_function(
    target: Target,
    features: Array,
    terms: Terms,
    settings: Settings,
    warm: LearnedFunction | None = None,
    rough: bool = False,
) -> LearnedFunction:
    """Learn the hyperparameters of one function from its labelled features (m, M).

    `warm`: the same function on features that are not much different.
    """
    evidence = evidence_of(target, features, terms, settings)
    known = target.known
    if known is not None and set(evidence.space.free) <= set(known.values):
        return LearnedFunction(evidence, optimum_at(evidence, evidence.space.theta(known.values)))
    return LearnedFunction(evidence, search(evidence, warm, rough))


def evidence_of(target: Target, features: Array, terms: Terms, settings: Settings) -> Evidence:
    """The evidence of a function without local term."""
    inference = make_inference(settings.inference, features, target, terms)
    return Evidence(inference, terms, target, HyperSpace.of(target, terms, settings.fixed))


def make_inference(name: str, own: Array, target: Target, terms: Terms) -> Inference:
    """The approximation by name, for features (m, M) of the terms.

    "auto": exact for Gaussian, Laplace with a corrected evidence where it is good, otherwise EP.
    """
    likelihood, features = target.likelihood, target.with_constant(own)
    if isinstance(likelihood, Categorical):
        return CoupledEP(features, target.obs, likelihood.n_classes)
    offset = target.prior_mean
    if isinstance(likelihood, Gaussian):
        return GaussianInference(features, target.obs.y - offset, target.obs.noise_scale)
    if isinstance(likelihood, Heteroscedastic):
        return HeteroscedasticInference(features, target.obs, offset, _noise_basis(own, terms))
    if name == "auto":
        few = isinstance(likelihood, Bernoulli | Ordinal)  # labels of few values, which say little about f
        name = "ep" if few or not likelihood.smooth else name
    if name == "ep":
        return ExpectationPropagation(features, target.obs, offset)
    # A label far from its location pulls the less the farther it is: there are several modes, and an
    # expansion about one of them says nothing of the others.
    corrected = name == "auto" and not likelihood.location
    return LaplaceInference(features, *likelihood.about(target.obs, offset), corrected=corrected)


def _noise_basis(features: Array, terms: Terms) -> NoiseBasis:
    """The eigenfunctions at the labels, among the features (m, M) of all terms."""
    found = terms.find(Manifold)
    if found is None:
        raise ValueError(
            "likelihood='heteroscedastic' needs the manifold for its noise. Leave amplitude at None, or use "
            "likelihood='gaussian'."
        )
    manifold, span = found
    return NoiseBasis(features[:, span], manifold.basis.eigenvalues, manifold.kernel)
