"""From rows and labels to a fitted process: the one fit of all estimators with latent functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from .._progress import stage
from .._threads import blas_for
from .._typing import Array, RowLike
from ..geometry.base import Eigenbasis, FittedGeometry, Geometry
from ..geometry.graph import FittedGraph
from ..geometry.intrinsic_dimension import estimate_intrinsic_dimension
from ..geometry.point_cloud import FittedCloud
from ..kernels import Heat, Matern, SpectralKernel
from ..likelihoods import Bernoulli, Categorical, Gaussian
from ..priors import time_prior
from ..process.draws_field import ChainSettings
from ..process.evidence import KnownValues, Target
from ..process.integration import hyperparameter_posterior, integrate_model
from ..process.learning import LearnedFunction, LearnedModel, Settings, learn, learn_on
from ..process.local_search import LocalOptions, keep_local, learn_local, learn_shared_local
from ..process.posterior import make_process
from ..process.process import Process
from ..process.relevance import CLASSES, NUMBERS, learn_relevance, working_labels
from ..rows.blocks import map_blocks, map_rows, row_blocks
from ..rows.columns import select
from ..rows.sample import random_rows
from ..rows.sources import is_distributed, is_streamed
from ..terms import AMPLITUDE, TIME, Groups, Inputs, Linear, Manifold, Terms
from ..terms.base import View
from ..terms.local.features import LocalFeatures
from ..terms.local.term import LENGTH_SCALE, VARIANCE
from ._model import FEWEST_NUMBERS, _Locator, local_coordinates, locate
from .fitted_rows import FittedRows
from .labels import Labels

if TYPE_CHECKING:
    from ._latent import LatentModel

# Rows that an unknown intrinsic dimension is estimated from, and that the terms' shares are.
_DIMENSION_ROWS, _SHARE_ROWS = 20_000, 2_000
# Coordinates of labelled points that a model keeps for `update`, about 400 MB.
_KEPT_NUMBERS = 50_000_000
# Neighbours that a local term conditions on, and how many labels are few enough to afford more.
_NEIGHBORS, _MANY_NEIGHBORS, _FEW_LABELS = 30, 60, 2_000
# How a local term is computed.
BY_FEATURES, BY_NEIGHBORS = "features", "neighbors"
# ν of the Matérn kernels that kernel="auto" compares with the heat kernel.
_ROUGHER = (1.0, 2.5)
# Learned attributes that a new posterior does not always set, or that it leaves out of date.
_DATED = ("transduction_", "transduction_proba_", "chains_", "hyperparameter_posterior_", "_evidence_")


def fit_model(model: LatentModel, rows: RowLike, labels: Labels, targets: Sequence[Target]) -> FittedGeometry:
    """Geometry, basis, hyperparameters, posterior.

    Returns the geometry, which still knows the fitted rows. Where there are several to compare, it is the one
    with the highest evidence.
    """
    _check_all_given(model, targets)
    model._dimension_ = _dimension(model, rows)
    geometries = model._geometries(rows)
    attempts = [_attempt(model, rows, labels, targets, each, len(geometries) > 1) for each in geometries]
    # Where there is nothing but the manifold, parts of a graph without labels would be left to the prior.
    most = attempts[0].silent_parts
    whole = [attempt for attempt in attempts if attempt.has_other_terms or attempt.silent_parts <= most]
    best = max(whole, key=lambda attempt: attempt.learned.log_posterior)
    if not best.learned.functions:  # a sketch
        best = _attempt(model, rows, labels, targets, geometries[attempts.index(best)])
    model._linear_, model._local_scale_, model._local_kind_ = best.linear, best.local_scale, best.local_kind
    _finish(model, best.geometry, best.learned, best.inputs, best.labels, best.settings)
    model.term_shares_ = _term_shares(model, rows)
    return best.geometry


@dataclass(frozen=True, eq=False)
class _Attempt:
    """What was learned on one geometry."""

    geometry: FittedGeometry
    labels: Labels
    inputs: Inputs
    settings: Settings
    learned: LearnedModel
    linear: Linear | None
    local_scale: Array | None
    local_kind: str | None

    @property
    def has_other_terms(self) -> bool:
        """Whether labels also speak of points that no walk joins them to."""
        return len(self.learned.terms.parts) > 1

    @property
    def silent_parts(self) -> int:
        """Connected parts of the graph without a label."""
        basis = self.learned.basis
        return basis.n_parts - len(np.unique(basis.part_of(self.inputs.places)))


def _attempt(
    model: LatentModel,
    rows: RowLike,
    labels: Labels,
    targets: Sequence[Target],
    chosen: Geometry,
    sketch: bool = False,
) -> _Attempt:
    geometry = model._fit_geometry(rows, chosen)
    in_memory = geometry.fitted_places() is not None or not is_streamed(rows)
    labels = replace(labels, in_memory=in_memory and not is_distributed(rows))
    model._linear_ = _linear_term(model, geometry, rows, labels)
    model._local_kind_ = _local_kind(model, geometry, labels, targets)
    _learn_relevance(model, geometry, labels, targets)
    inputs = _labeled_inputs(model, geometry, labels)
    count = model.n_eigenpairs
    count = geometry.n_eigenpairs(len(labels)) if isinstance(count, str) else int(count)
    settings = replace(_settings(model, count), sketch=sketch)
    with stage(f"spectrum and evidence for {len(labels):,} labels"):
        learned = _best_kernel(model, geometry, inputs, targets, settings)
    own = model._linear_, model._local_scale_, model._local_kind_
    return _Attempt(geometry, labels, inputs, settings, learned, *own)


def _best_kernel(
    model: LatentModel,
    geometry: FittedGeometry,
    inputs: Inputs,
    targets: Sequence[Target],
    settings: Settings,
) -> LearnedModel:
    """kernel="auto" compares the heat kernel with rougher ones by the evidence."""
    if not (isinstance(model.kernel, str) and model.kernel == "auto"):
        return learn(geometry, inputs, targets, settings)
    kernels: list[SpectralKernel] = [Heat(), *(Matern(nu) for nu in _ROUGHER)]
    found = [
        learn(geometry, inputs, targets, replace(settings, terms_on=_TermsOn(model, kernel)))
        for kernel in kernels
    ]
    return max(found, key=lambda learned: learned.log_posterior)


def update_model(model: LatentModel, labels: Labels, targets: Sequence[Target]) -> None:
    """The posterior for other labels; geometry, bandwidth and basis stay."""
    for name in _DATED:
        model.__dict__.pop(name, None)
    geometry, basis = model.geometry_, model.basis_
    if any(target.known is None for target in targets):
        model._local_kind_ = _local_kind(model, geometry, labels, targets)
        _learn_relevance(model, geometry, labels, targets)
    inputs = _labeled_inputs(model, geometry, labels)
    settings = _settings(model, len(basis.eigenvalues))
    with stage(f"evidence for {len(labels):,} labels"):
        learned = learn_on(basis, inputs, targets, settings)
    _finish(model, geometry, learned, inputs, labels, settings)
    model.term_shares_ = _term_shares(model, None)


def transduce(
    model: LatentModel,
    geometry: FittedGeometry,
    rows: RowLike,
    point: Callable[[Sequence[View]], Array],
    offset: Array | None = None,
) -> Array | None:
    """Predictions of the fitted rows, from their places if these are still at hand.

    None if the rows would have to be read again. Places of not too many rows stay with the model.
    """
    if is_distributed(rows) or (is_streamed(rows) and geometry.fitted_places() is None):
        return None
    process, locator = model._process_, _Locator(model)
    model._fitted_rows_ = FittedRows.of(rows, geometry)
    if offset is not None:
        return model._answer(rows, point, offset=offset)
    with stage(f"transduction for {rows.shape[0]:,} points"):
        blocks = geometry.fitted_places()
        if blocks is None:
            return map_rows(rows, lambda X: point(process.at(locator.inputs(X))))
        if not model._needs_columns():
            return map_blocks(blocks, rows.shape[0], lambda places: point(process.at(Inputs(None, places))))
        pairs = row_blocks(rows).paired_with(blocks)
        return map_blocks(pairs, rows.shape[0], lambda pair: point(process.at(locator.inputs_at(pair))))


def relearned(model: LatentModel) -> list[LearnedFunction]:
    """The evidence of each latent function, made again from the labels that the model keeps."""
    labels = model._kept_labels()
    targets = model._targets(labels, model._known_)
    inputs = _labeled_inputs(model, model.geometry_, labels)
    learned = learn_on(model.basis_, inputs, targets, _settings(model, len(model.basis_.eigenvalues)))
    if not model._process_.has_local:
        return learned.functions
    return _with_local(model, learned, inputs).functions


def process_without(model: LatentModel, labels: Labels, targets: Sequence[Target]) -> Process:
    """What the model would be with these labels only, at the same hyperparameters."""
    inputs = _labeled_inputs(model, model.geometry_, labels)
    settings = _settings(model, len(model.basis_.eigenvalues))
    with blas_for(settings.n_eigenpairs):
        learned = learn_on(model.basis_, inputs, targets, settings)
        return make_process(_with_local(model, learned, inputs), [], None, 0)[0]


def _finish(
    model: LatentModel,
    geometry: FittedGeometry,
    learned: LearnedModel,
    inputs: Inputs,
    labels: Labels,
    settings: Settings,
) -> None:
    """Local term, integration, posterior; and all learned attributes."""
    with blas_for(settings.n_eigenpairs):
        learned = _with_local(model, learned, inputs)
        functions, integrated = learned.functions, []
        if model.hyperparameters == "integrate":
            with stage("integration over the hyperparameters"):
                targets = [function.target for function in functions]
                integrated = integrate_model(learned, geometry, inputs, targets, settings)
            tables = [hyperparameter_posterior(integrated, i) for i in range(len(functions))]
            model.hyperparameter_posterior_ = tables[0] if len(tables) == 1 else tables
        chains = None
        if model.inference == "gibbs":
            chains = ChainSettings(int(model.n_chains), int(model.n_draws), int(model.n_warmup))
        seed = int(check_random_state(model.random_state).randint(2**31)) if chains is not None else 0
        with stage("posterior"):
            model._process_, runs = make_process(learned, integrated, chains, seed)
    manifold = next((part for part in learned.terms.parts if isinstance(part, Manifold)), None)
    if manifold is not None:
        model.kernel_ = manifold.kernel
    if runs:
        model.chains_ = runs[0] if len(runs) == 1 else runs
    best = [function.best for function in functions]
    model._known_ = [
        KnownValues(f.best.values, f.best.likelihood, f.evidence.local, learned.least_squares)
        for f in functions
    ]
    model.bandwidth_trace_ = learned.bandwidth_trace
    model.diffusion_time_ = scalar_or_array([point.values.get(TIME, np.nan) for point in best])
    model.amplitude_ = scalar_or_array([point.values.get(AMPLITUDE, 0.0) for point in best])
    model.residual_length_scale_ = scalar_or_array([p.values.get(LENGTH_SCALE, np.nan) for p in best])
    model.residual_variance_ = scalar_or_array([point.values.get(VARIANCE, 0.0) for point in best])
    kernels = [None if f.evidence.local is None else f.evidence.local.kernel for f in functions]
    model.residual_kernel_ = kernels[0] if len(kernels) == 1 else kernels
    model.log_marginal_likelihood_value_ = float(sum(p.evaluation.log_evidence for p in best))
    reports = [point.report for point in best]
    model.optimizer_result_ = reports[0] if len(reports) == 1 else reports
    model._labels_ = labels if labels.points.size <= _KEPT_NUMBERS else None
    stray = not (isinstance(geometry, FittedCloud) and len(geometry.anchors) == geometry.graph.n_rows)
    alone = len(learned.terms.parts) == 1
    parts = learned.basis.part_of(inputs.places) if alone or stray else None
    model._keep_geometry(geometry, learned.basis, parts, stray)


def _settings(model: LatentModel, n_eigenpairs: int) -> Settings:
    shared, rank = model._sharing()
    given = {TIME: model.diffusion_time, AMPLITUDE: model.amplitude}
    return Settings(
        n_eigenpairs=n_eigenpairs,
        terms_on=_TermsOn(model),
        fixed={name: float(value) for name, value in given.items() if value is not None},
        inference="auto" if model.inference == "gibbs" else model.inference,
        shared=shared,
        rank=rank,
    )


class _TermsOn:
    """The terms that a model asks for, on a basis."""

    def __init__(self, model: LatentModel, kernel: SpectralKernel | None = None) -> None:
        self.model = model
        self.kernel = kernel or model._spectral_kernel()

    def __call__(self, basis: Eigenbasis, labels: Inputs) -> Terms:
        model = self.model
        parts: list[Any] = []
        if model.amplitude != 0:
            prior = time_prior(model.time_prior, basis.eigenvalues, model._dimension_, basis.time_unit)
            parts.append(Manifold(basis, self.kernel, prior))
        if model._linear_ is not None:
            parts.append(model._linear_.seen_by(labels))
        columns = model._roles_.groups
        for column in columns:
            name = model._roles_.label(column) if len(columns) > 1 else ""
            parts.append(Groups.seen_by(labels, column, name))
        if model._local_kind_ == BY_FEATURES:
            parts.append(LocalFeatures.at_labels(labels))
        if not parts and model.residual != "local":
            raise ValueError(
                "amplitude=0 leaves the manifold out, and there is no other term. Set linear, groups or "
                "residual='local'."
            )
        return Terms(tuple(parts))


def _linear_term(
    model: LatentModel, geometry: FittedGeometry, rows: RowLike, labels: Labels
) -> Linear | None:
    """The covariates, on one scale, after some steps of a graph's walk if asked for."""
    roles, steps = model._roles_, model.linear_steps
    if roles.linear is None:
        if steps:
            raise ValueError(
                f"linear_steps={steps} averages the columns of linear, but linear=None. Name them."
            )
        return None
    if isinstance(model.linear, str) and model.linear == "auto":
        assert isinstance(geometry, FittedCloud)
        return Linear.of_points(geometry.anchors, labels.points[:, roles.linear], roles.linear)
    if not steps:
        return Linear.of(rows, roles.linear)
    if not isinstance(geometry, FittedGraph):
        raise ValueError(
            f"linear_steps={steps} walks along a graph. Use geometry=Graph(adjacency), or linear_steps=0."
        )
    node = 0 if roles.geometry is None else int(roles.geometry[0])
    X = np.asarray(rows[:], dtype=np.float64)
    table = np.zeros((geometry.n_nodes, len(roles.linear)))
    nodes = X[:, node].astype(np.intp)
    absent = np.flatnonzero(np.bincount(nodes, minlength=geometry.n_nodes) == 0)
    if len(absent):
        raise ValueError(
            f"linear_steps={steps} needs the covariates of every node, but {len(absent):,} nodes are not "
            f"among the rows, the first {absent[0]}. Add them as unlabelled rows."
        )
    table[nodes] = X[:, roles.linear]
    return Linear.of_nodes(table, geometry.walk(table, steps), roles.linear, node)


def _labeled_inputs(model: LatentModel, geometry: FittedGeometry, labels: Labels) -> Inputs:
    return locate(geometry, model._roles_, labels.points, model._local_kind_ is not None, model._local_scale_)


def _local_kind(
    model: LatentModel, geometry: FittedGeometry, labels: Labels, targets: Sequence[Target]
) -> str | None:
    """How the local term is computed, or that it may be: closed form for numbers, features for the rest."""
    likelihood = targets[0].likelihood
    classes = isinstance(likelihood, Bernoulli | Categorical)
    if model.residual == "local":
        return BY_FEATURES if classes and model.inference in ("auto", "ep", "gibbs") else BY_NEIGHBORS
    roles = model._roles_
    if model.residual != "auto" or model.hyperparameters == "fixed" or model._sharing()[1]:
        return None
    if roles.local is None and geometry.coordinates(roles.geometry_of(labels.points[:1])) is None:
        return None
    if isinstance(likelihood, Gaussian):
        # A file that is small enough is as good as memory: joblib hands arrays on as such files.
        return BY_NEIGHBORS if labels.in_memory else None
    free = model.amplitude is None and model.hyperparameters == "optimize" and model.geometry is None
    return BY_FEATURES if free and len(labels) >= model._fewest_labels() else None


def _learn_relevance(
    model: LatentModel, geometry: FittedGeometry, labels: Labels, targets: Sequence[Target]
) -> None:
    """Factors of the columns for the linear and the local term, where the labels can tell."""
    model.__dict__.pop("feature_relevance_", None)
    model._local_scale_ = None
    if model._linear_ is not None:
        model._linear_ = model._linear_.with_relevance(None)
    automatic = isinstance(model.linear, str) and model.linear == "auto" and model._linear_ is not None
    required = model._local_kind_ == BY_FEATURES
    # Distances on a known geometry are what its user says they are.
    free = model.hyperparameters == "optimize" and model.amplitude is None and model.geometry is None
    local = required or (model._local_kind_ == BY_NEIGHBORS and model.residual == "auto" and free)
    rows = targets[0].rows
    if not (local or automatic) or len(rows) < model._fewest_labels():
        return
    points = local_coordinates(geometry, model._roles_, labels.points[rows])
    responses = working_labels(targets[0])
    if responses is None:
        return
    numbers = isinstance(targets[0].likelihood, Gaussian)
    obs = targets[0].obs
    weight = obs.weight / obs.noise_scale
    kind = NUMBERS if numbers else CLASSES
    with blas_for(min(len(points), kind.most)):
        found = learn_relevance(points, responses, weight, kind)
    linear = model._linear_ if automatic and model._roles_.local is None else None
    if linear is not None and len(linear.columns) == points.shape[1]:
        model._linear_ = linear.with_relevance(found.linear)
    given = model._roles_.local is not None  # with factors, or without: a user means it
    if required or (local and found.uneven and not given):
        model._local_scale_ = np.full(points.shape[1], found.local.mean()) if given else found.local
    columns = np.arange(model.n_features_in_) if model._roles_.geometry is None else model._roles_.geometry
    columns = columns if model._roles_.local is None else model._roles_.local.index
    if len(columns) == len(found.shares):
        relevance = np.zeros(model.n_features_in_)
        relevance[columns] = found.shares
        model.feature_relevance_ = relevance


def _with_local(model: LatentModel, learned: LearnedModel, inputs: Inputs) -> LearnedModel:
    """The functions with a local term by neighbours, where it is required or the evidence asks for it."""
    if model._local_kind_ != BY_NEIGHBORS:
        return learned
    count = model.n_residual_neighbors
    if isinstance(count, str):
        count = _MANY_NEIGHBORS if len(inputs) <= _FEW_LABELS else _NEIGHBORS
    options = LocalOptions(model.residual_kernel, int(count), model.residual == "local")
    features, points = learned.terms.features(inputs), inputs.coordinates
    assert points is not None
    if learned.shared is not None:
        rows = [function.target.rows for function in learned.functions]
        own_points = [points[own] for own in rows]
        if not options.required and min(map(len, rows)) < FEWEST_NUMBERS:
            return learned
        each = [features[own] for own in rows]
        together = learn_shared_local(learned.shared, learned.functions, each, own_points, options)
        return learned if together is None else replace(learned, shared=together[0], functions=together[1])
    functions = []
    for function in learned.functions:
        target = function.target
        own = features[target.rows], points[target.rows], options
        if not options.required and len(target.rows) < FEWEST_NUMBERS:
            functions.append(function)
        elif target.known is not None:
            functions.append(keep_local(function, *own))
        else:
            functions.append(learn_local(function, *own) or function)
    return replace(learned, functions=functions)


def _dimension(model: LatentModel, rows: RowLike) -> float | None:
    """The intrinsic dimension, where the prior of t asks for it."""
    if model.time_prior != "paper" or model.intrinsic_dimension is not None:
        return model.intrinsic_dimension
    own = select(rows, model._roles_.geometry)
    some = random_rows(own, _DIMENSION_ROWS, np.random.default_rng(0))
    model.intrinsic_dimension_ = estimate_intrinsic_dimension(some.astype(np.float64))
    return model.intrinsic_dimension_


def _term_shares(model: LatentModel, rows: RowLike | None) -> dict[str, float]:
    """The share of each term in the variance of f over a sample of the fitted points.

    Over the labelled ones where the rows are not at hand, or would have to be read once more.
    """
    process = model._process_
    if rows is None or is_distributed(rows) or is_streamed(rows):
        X = model._labels_.points[:_SHARE_ROWS] if model._labels_ is not None else model._examples_
    else:
        X = random_rows(rows, _SHARE_ROWS, np.random.default_rng(0))
    total = np.zeros(len(process.names))
    with blas_for(len(model.eigenvalues_)):
        views = process.at(model._inputs(np.asarray(X, dtype=np.float64)))
        for function in process.functions:
            parts = function.variations(views)  # a constant does not vary
            total[1 : 1 + len(parts)] += parts / max(float(parts.sum()), 1e-300)
    shares = total / max(float(total.sum()), 1e-300)
    return dict(zip(process.names, shares.tolist(), strict=True))


def _check_all_given(model: LatentModel, targets: Sequence[Target]) -> None:
    """Refuse hyperparameters="fixed" while something is left to learn."""
    if model.hyperparameters != "fixed":
        return
    given = {TIME: model.diffusion_time, AMPLITUDE: model.amplitude}
    missing = [name for name, value in given.items() if value is None]
    if model.base_kernel == "se" and model.bandwidth is None and model.geometry is None:
        missing.append("bandwidth")
    missing += ["linear_variance"] if model._roles_.linear is not None else []
    missing += ["group_variance"] if model.groups is not None else []
    missing += targets[0].likelihood.free_parameters
    if missing:
        raise ValueError(
            f"hyperparameters='fixed', but {', '.join(missing)} has no value. Set it (the "
            "likelihood's own parameters in an instance of the likelihood), or use 'optimize'."
        )


def scalar_or_array(values: Sequence[float]) -> Any:
    """A number for one function, an array (k,) for several."""
    return float(values[0]) if len(values) == 1 else np.array(values)
