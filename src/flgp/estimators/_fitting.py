"""From rows and labels to a fitted process: the one fit of all estimators with latent functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

from .._progress import stage
from .._threads import blas_for
from .._typing import RowLike
from ..geometry.base import Eigenbasis, FittedGeometry, Geometry, Undecided
from ..geometry.intrinsic_dimension import estimate_intrinsic_dimension
from ..geometry.point_cloud import FittedCloud, PointCloud
from ..kernels import Heat, Matern, SpectralKernel
from ..priors import time_prior
from ..process.draws_field import ChainSettings
from ..process.integration import hyperparameter_posterior, integrate_model
from ..process.learning import LearnedModel, Settings, learn, learn_on
from ..process.posterior import make_process
from ..process.process import Process
from ..process.search import LearnedFunction
from ..rows.sample import Sample, random_rows
from ..rows.sources import is_distributed, is_streamed
from ..terms import AMPLITUDE, TIME, Groups, Inputs, Manifold, Term, Terms
from ..terms.local.features import LocalFeatures
from .column_relevance import with_relevance
from .column_scaling import with_scaling
from .composition import BY_FEATURES, Composition, linear_terms, local_kind
from .geometry_choice import Attempt, position_of_best
from .labels import Labels, Problem
from .learned_attributes import DATED, SHARE_ROWS, keep_composition, keep_learned, single_or_list, term_shares
from .local_neighbors import with_local
from .locator import Locator
from .validation import is_auto

if TYPE_CHECKING:
    from ._latent import LatentModel

# Rows that an unknown intrinsic dimension is estimated from.
_DIMENSION_ROWS = 20_000
# ν of the Matérn kernels that kernel="auto" compares with the heat kernel.
_ROUGHER = (1.0, 2.5)


def fit_model(model: LatentModel, rows: RowLike, labels: Labels, problem: Problem) -> FittedGeometry:
    """Geometry, basis, hyperparameters, posterior.

    Returns the geometry, which still knows the fitted rows. Where there are several to compare, it is the one
    with the highest evidence.
    """
    _check_all_given(model, problem)
    enough = len(labels) >= problem.fewest_labels
    sample = Sample(rows, SHARE_ROWS)
    model._roles_ = with_scaling(model, sample, labels, enough, _log_evidence)
    model._dimension_ = _dimension(model, rows)
    given = model._geometry()
    geometries: list[Geometry] = given.candidates(rows) if isinstance(given, Undecided) else [given]
    several = len(geometries) > 1
    attempts = [_attempt(model, rows, labels, problem, each, several) for each in geometries]
    position = position_of_best(attempts)
    best = attempts[position]
    if best.learned.is_sketch:
        best = _attempt(model, rows, labels, problem, geometries[position])
    keep_composition(model, best.composition)
    _finish(model, with_local(model, best))
    model.term_shares_ = term_shares(model, sample)
    return best.geometry


def _attempt(
    model: LatentModel,
    rows: RowLike,
    labels: Labels,
    problem: Problem,
    chosen: Geometry,
    sketch: bool = False,
) -> Attempt:
    """What is learned on one geometry; a sketch only says how good it is."""
    geometry = model._fit_geometry(rows, chosen)
    in_memory = geometry.fitted_places() is not None or not is_streamed(rows)
    labels = replace(labels, in_memory=in_memory and not is_distributed(rows))
    kind = local_kind(model, geometry, labels, problem)
    linear, *others = linear_terms(model, geometry, rows)
    terms = with_relevance(model, geometry, labels, problem, Composition(linear, kind))
    inputs = _labeled_inputs(model, geometry, labels, terms)
    count = model._count_eigenpairs(geometry, len(labels))
    settings = replace(_settings(model, count, problem, terms), sketch=sketch)
    with stage(f"spectrum and evidence for {len(labels):,} labels"):
        choices = [terms, *(replace(terms, linear=other) for other in others)]
        learned, terms, settings = _best(model, geometry, inputs, problem, settings, choices)
    return Attempt(geometry, labels, inputs, terms, settings, learned)


def _log_evidence(model: LatentModel, rows: RowLike, labels: Labels) -> float:
    """Of a trial model on a graph of all points; with a local term where there would be one."""
    model._dimension_ = _dimension(model, rows)
    try:
        found = _attempt(model, rows, labels, model._problem(labels), PointCloud.of_all_points())
    except ValueError:  # it does not settle, say; if the other one does not either, the fit says so
        return -np.inf
    return with_local(model, found).learned.log_posterior


def _best(
    model: LatentModel,
    geometry: FittedGeometry,
    inputs: Inputs,
    problem: Problem,
    settings: Settings,
    choices: Sequence[Composition],
) -> tuple[LearnedModel, Composition, Settings]:
    """Kernel and terms with the highest evidence; kernel="auto" compares heat with rougher kernels."""
    kernels: list[SpectralKernel] = [model._spectral_kernel()]
    if is_auto(model.kernel):
        kernels = [Heat(), *(Matern(nu) for nu in _ROUGHER)]
    tried: list[tuple[LearnedModel, Composition, Settings]] = []
    for kernel in kernels:
        own = [replace(settings, terms_on=partial(_terms_on, model, terms, kernel)) for terms in choices]
        first = learn(geometry, inputs, problem.targets, own[0])
        # Only a graph has several choices, and its basis needs no search.
        others = [learn_on(first.basis, inputs, problem.targets, each) for each in own[1:]]
        tried += zip([first, *others], choices, own, strict=True)
    return max(tried, key=lambda found: found[0].log_posterior)


def update_model(model: LatentModel, labels: Labels, problem: Problem) -> None:
    """The posterior for other labels; geometry, bandwidth and basis stay."""
    for name in DATED:
        model.__dict__.pop(name, None)
    finish_again(model, learn_again(model, labels, problem))


def learn_again(model: LatentModel, labels: Labels, problem: Problem) -> Attempt:
    """What other labels, or another likelihood, teach on the geometry that is there."""
    geometry, terms = model.geometry_, Composition.of(model)
    if any(target.known is None for target in problem.targets):
        terms = replace(terms, local_kind=local_kind(model, geometry, labels, problem))
        terms = with_relevance(model, geometry, labels, problem, terms)
        keep_composition(model, terms)
    with stage(f"evidence for {len(labels):,} labels"):
        return _on_known_basis(model, labels, problem, terms)


def finish_again(model: LatentModel, found: Attempt) -> None:
    """All learned attributes from what `learn_again` found."""
    keep_composition(model, found.composition)
    _finish(model, found)
    model.term_shares_ = term_shares(model, None)


def relearned(model: LatentModel) -> list[LearnedFunction]:
    """The evidence of each latent function, made again from the labels that the model keeps."""
    labels = model._kept_labels()
    problem = model._problem(labels, model._known_)
    return _on_known_basis(model, labels, problem, Composition.of(model)).learned.functions


def process_without(model: LatentModel, labels: Labels, problem: Problem) -> Process:
    """What the model would be with these labels only, at the same hyperparameters."""
    with blas_for(len(model.basis_.eigenvalues)):
        found = _on_known_basis(model, labels, problem, Composition.of(model))
        return make_process(found.learned)[0]


def _on_known_basis(model: LatentModel, labels: Labels, problem: Problem, terms: Composition) -> Attempt:
    """What labels teach on the basis of a fitted model."""
    inputs = _labeled_inputs(model, model.geometry_, labels, terms)
    settings = _settings(model, len(model.basis_.eigenvalues), problem, terms)
    learned = learn_on(model.basis_, inputs, problem.targets, settings)
    return with_local(model, Attempt(model.geometry_, labels, inputs, terms, settings, learned))


def _finish(model: LatentModel, found: Attempt) -> None:
    """Integration, posterior; and all learned attributes."""
    learned, inputs, settings, integrated = found.learned, found.inputs, found.settings, []
    with blas_for(settings.n_eigenpairs):
        if model.hyperparameters == "integrate":
            with stage("integration over the hyperparameters"):
                integrated = integrate_model(learned, found.geometry, inputs, settings)
            tables = [hyperparameter_posterior(integrated, i) for i in range(len(learned.functions))]
            model.hyperparameter_posterior_ = single_or_list(tables)
        chains = None
        if model.inference == "gibbs":
            seed = int(check_random_state(model.random_state).randint(2**31))
            chains = ChainSettings(int(model.n_chains), int(model.n_draws), int(model.n_warmup), seed)
        with stage("posterior"):
            model._process_, runs = make_process(learned, integrated, chains)
    if runs:
        model.chains_ = single_or_list(runs)
    keep_learned(model, learned, found.labels)
    geometry = found.geometry
    stray = not (isinstance(geometry, FittedCloud) and len(geometry.anchors) == geometry.graph.n_rows)
    alone = len(learned.terms.parts) == 1
    parts = learned.basis.part_of(inputs.places) if alone or stray else None
    model._keep_geometry(geometry, learned.basis, parts, stray)


def _settings(model: LatentModel, n_eigenpairs: int, problem: Problem, terms: Composition) -> Settings:
    given = {TIME: model.diffusion_time, AMPLITUDE: model.amplitude}
    return Settings(
        n_eigenpairs=n_eigenpairs,
        terms_on=partial(_terms_on, model, terms, model._spectral_kernel()),
        fixed={name: float(value) for name, value in given.items() if value is not None},
        inference="auto" if model.inference == "gibbs" else model.inference,
        shared=problem.shared,
        rank=problem.rank,
    )


def _terms_on(
    model: LatentModel, composition: Composition, kernel: SpectralKernel, basis: Eigenbasis, labels: Inputs
) -> Terms:
    """The terms that a model asks for, on a basis."""
    parts: list[Term] = []
    if model.amplitude != 0:
        prior = time_prior(model.time_prior, basis.eigenvalues, model._dimension_, basis.time_unit)
        parts.append(Manifold(basis, kernel, prior))
    if composition.linear is not None:
        parts.append(composition.linear.seen_by(labels))
    columns = model._roles_.groups
    for column in columns:
        name = model._roles_.label(column) if len(columns) > 1 else ""
        parts.append(Groups.seen_by(labels, column, name))
    if composition.local_kind == BY_FEATURES:
        parts.append(LocalFeatures.at_labels(labels))
    if not parts and model.residual != "local":
        raise ValueError(
            "amplitude=0 leaves the manifold out, and there is no other term. Set linear, groups or "
            "residual='local'."
        )
    return Terms(tuple(parts))


def _labeled_inputs(
    model: LatentModel, geometry: FittedGeometry, labels: Labels, terms: Composition
) -> Inputs:
    locator = Locator(geometry, model._roles_, terms.local_kind is not None, terms.local_scale)
    return locator(labels.points)


def _dimension(model: LatentModel, rows: RowLike) -> float | None:
    """The intrinsic dimension, where the prior of t asks for it."""
    if model.time_prior != "paper" or model.intrinsic_dimension is not None:
        return model.intrinsic_dimension
    some = random_rows(model._roles_.geometry_of(rows), _DIMENSION_ROWS, np.random.default_rng(0))
    model.intrinsic_dimension_ = estimate_intrinsic_dimension(some.astype(np.float64))
    return model.intrinsic_dimension_


def _check_all_given(model: LatentModel, problem: Problem) -> None:
    """Refuse hyperparameters="fixed" while something is left to learn."""
    if model.hyperparameters != "fixed":
        return
    given = {TIME: model.diffusion_time, AMPLITUDE: model.amplitude}
    missing = [name for name, value in given.items() if value is None]
    if model.base_kernel == "se" and model.bandwidth is None and model.geometry is None:
        missing.append("bandwidth")
    missing += ["linear_variance"] if model._roles_.linear is not None else []
    missing += ["group_variance"] if model.groups is not None else []
    missing += problem.targets[0].likelihood.free_parameters
    if missing:
        raise ValueError(
            f"hyperparameters='fixed', but {', '.join(missing)} has no value. Set it (the "
            "likelihood's own parameters in an instance of the likelihood), or use 'optimize'."
        )
