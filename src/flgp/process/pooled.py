"""Many classes, few labels: hyperparameters that all classes share.

One class against the rest learns little about the kernel: most of its labels say "no", and a base rate
explains nearly all of them. Classes that exclude each other have one evidence, to which all labels
contribute. It is maximised from where the pooled evidence of one-hot labels, which is in closed form, is
largest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array, IntArray
from ..inference.gaussian import GaussianInference
from ..likelihoods import Categorical, Gaussian, Observations
from ..terms import TIME, Constant, Linear, Manifold, Term, Terms
from ..terms.local.features import LocalFeatures
from .class_models import LINEAR, SQUARES, class_columns, column_constant, n_classes
from .evidence import Evidence, HyperSpace, Target
from .search import Optimum, climb, optimum_at, search

# Most labels and classes from which hyperparameters that all classes share are learned.
_MOST_LABELS, _MOST_CLASSES = 400, 30
# The standard deviation of f, in units of the likelihood's noise, where the search starts.
_START = 5.0
# How far from the number of classes that of the eigenfunctions is thought to be, in logarithms.
_MODES_SPREAD = 0.5
# Of logarithms of hyperparameters: more than labels can tell. What the order of a sum changes (threads,
# clusters) ends here, before one search starts from another's end.
_DECIMALS = 4
# The share of its part that a term gets of which the pooled evidence knows nothing.
_UNKNOWN = 0.3


def is_smooth(term: Term) -> bool:
    """Whether least squares can tell a term from noise."""
    return not isinstance(term, LocalFeatures)


def is_linear(term: Term) -> bool:
    """Whether a term is a straight line."""
    return isinstance(term, Linear)


def least_squares_fits(
    target: Target, features: Array, terms: Terms, pooled: Optimum
) -> dict[str, dict[str, float]]:
    """Hyperparameters of least-squares fits by name: of all terms, and of a line alone where there is one."""
    fits = {SQUARES: pooled.values}
    if any(is_linear(term) for term in terms.parts) and len(terms.parts) > 1:
        fits[LINEAR] = pooled_optimum(target, features, terms, {}, wanted=is_linear).values
    return fits


def pooled_optimum(
    target: Target,
    features: Array,
    terms: Terms,
    fixed: Mapping[str, float],
    rough: bool = False,
    wanted: Callable[[Term], bool] = is_smooth,
) -> Optimum:
    """The best hyperparameters for labels as zeros and ones, over all classes, without a local term.

    Least squares takes labels for noisy numbers, and a local term for some of that noise. Only the `wanted`
    terms count. An amplitude that is given is ignored: it is on the scale of f, not of these labels.
    """
    centred = class_columns(target)
    weight = target.obs.weight
    smooth = [i for i, term in enumerate(terms.parts) if wanted(term)] or [0]
    spans = terms.spans()
    features = np.concatenate([features[:, spans[i]] for i in smooth], axis=1)
    terms = Terms(tuple(_with_as_many_modes(terms.parts[i], n_classes(target.likelihood)) for i in smooth))
    obs = Observations.of(centred.ravel(), weight=np.repeat(weight, centred.shape[1]))
    pooled = Target(target.rows, obs, Gaussian(), Constant(0.0, column_constant(target, centred)))
    inference = GaussianInference(pooled.with_constant(features), centred, 1.0 / weight)
    given = {name: value for name, value in fixed.items() if name == TIME}
    evidence = Evidence(inference, terms, pooled, HyperSpace.of(pooled, terms, given))
    theta = evidence.space.clipped(np.round(search(evidence, rough=rough).theta, _DECIMALS))
    return optimum_at(evidence, theta, rough=rough)


@dataclass(frozen=True)
class ManyModes:
    """A prior of t: about as many eigenfunctions count as there are classes, log N ~ Cauchy(log C, ½).

    N(t) = Σ_i d_i / a² over the eigenfunctions of one set of anchors. A label or two of each class say
    nothing about t, or rather that all labels differ, as they do when labels reach nowhere. The tails are
    heavy, so that many labels have their way.
    """

    manifold: Manifold
    count: float  # C, times the number of sets

    def __call__(self, x: float) -> tuple[float, float]:
        """Log π(log t) and its slope, the prior of the term included."""
        value, slope = self.manifold.time_prior(x)
        log_modes, along = self.manifold.log_trace(float(np.exp(x)))
        gap = (log_modes - np.log(self.count)) / _MODES_SPREAD
        return value - np.log1p(gap**2), slope - 2.0 * gap / (1.0 + gap**2) * along / _MODES_SPREAD


def _with_as_many_modes(term: Term, n_classes: int) -> Term:
    if not isinstance(term, Manifold):
        return term
    basis = term.basis
    constants = int(np.count_nonzero(basis.eigenvalues * basis.time_unit <= 1e-12))
    sets = max(constants // max(basis.n_parts, 1), 1)
    return replace(term, time_prior=ManyModes(term, float(sets * max(n_classes, basis.n_parts))))


def shared_optimum(whole: Evidence, part: Evidence, start: Optimum) -> Optimum:
    """The hyperparameters of exclusive classes, learned from some labels; and what all labels say there.

    `start` is the pooled optimum. Its shape is tried as it is, and with terms that share the variance
    evenly: least squares can give a term up too early. With more than two classes the diffusion time stays
    where it was there: expectation propagation with a factor for each class is content with times that are
    too long where points are many (over the zoo both are equal, on MNIST errors rise from 8.4 to 8.7 %).
    """
    space, terms = part.space, part.terms
    ones = {name: start.values.get(name, 1.0) if name == TIME else 1.0 for name in space.names}
    # The variance of each term where its hyperparameters are 1, and where they are the pooled ones.
    units, found = (_sizes(terms, values) for values in (ones, {**ones, **start.values}))
    known = [all(name in start.values for name in term.parameters) for term in terms.parts]
    total = sum(value for value, own in zip(found, known, strict=True) if own)
    starts = []
    for even in (True, False):  # the better one, as a rule, last: the search begins at its sites
        values = dict(ones)
        for term, unit, value, own in zip(terms.parts, units, found, known, strict=True):
            share = value / total if own and not even else (1.0 if even else _UNKNOWN) / len(units)
            size = _START**2 * share / unit
            values |= {name: size for name in term.parameters if name != TIME}
        starts.append(space.inside(values))
    best = max(starts, key=lambda theta: part.log_posterior(theta, rough=True)[0])
    bounds = space.log_bounds()
    if TIME in space.free and isinstance(part.target.likelihood, Categorical):
        i = space.free.index(TIME)
        bounds[i] = (best[i], best[i])
    # Far from sites that are known, expectation propagation takes four times as many sweeps.
    end = climb(part, best, bounds, rough=True, first_step=1.0) if space.free else None
    if end is not None and not isinstance(part.target.likelihood, Categorical):
        end = climb(part, end.x, bounds, rough=False)  # cheap for two classes
    theta = space.clipped(np.round(best if end is None else end.x, _DECIMALS))
    optimum = optimum_at(whole, theta, end)
    optimum.report.message = "shared by all classes"
    return optimum


def _sizes(terms: Terms, values: Mapping[str, float]) -> list[float]:
    """The prior variance of each term."""
    return [float(term.gap_variance(term.variances(values))) for term in terms.parts]


def representative(target: Target) -> tuple[Target, IntArray]:
    """Some of the labels, of some of the classes, and their positions: enough to learn what all share."""
    codes = target.obs.y.astype(int)
    counts = np.bincount(codes, minlength=n_classes(target.likelihood))
    classes = np.sort(np.argsort(-counts, kind="stable")[:_MOST_CLASSES])
    rows = np.flatnonzero(np.isin(codes, classes))
    rows = rows[np.argsort(codes[rows], kind="stable")]  # every class keeps its share
    rows = np.sort(rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MOST_LABELS)).astype(int))])
    if len(rows) == len(codes):
        return target, rows
    kept, own = np.unique(codes[rows], return_inverse=True)
    obs = target.obs.take(rows)
    offset = obs.offset[:, kept] if obs.offset.ndim == 2 else obs.offset
    obs = replace(obs, y=own.astype(float), offset=offset)
    likelihood = target.likelihood
    if isinstance(likelihood, Categorical):
        likelihood = replace(likelihood, n_classes=len(kept))
    return replace(target, rows=target.rows[rows], obs=obs, likelihood=likelihood), rows
