"""Several ways to explain classes, weighed by left-out labels.

A probit says that the right class has the largest latent function, and does not mind by how much. Least
squares wants it to be 1 there and the others 0, so that it also evens out what varies within a class: better
where a class is a few points in many columns, worse where classes overlap. The same with a linear term alone
is what a user would try first, and hard to beat on a plain table with few labels. All predict every label
from the others at no cost. The mixture that predicts these best is the model, each part of it as sure of
itself as left-out labels allow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import ndtr

from .._stored import stored
from .._typing import Array
from ..inference.expectation_propagation import cavities
from ..inference.posterior import Posterior
from ..inference.sites import make_solver
from ..likelihoods import AnyLikelihood, Bernoulli, Categorical, Gaussian, Observations
from ..terms import Constant, Terms
from .evidence import NOISE, Target

PROBIT, SQUARES, LINEAR = "probit", "least squares", "linear least squares"
# Factors of f that are compared; what they are thought to be where no label tells, and how far from it, in
# logarithms: of a posterior mean by expectation propagation (nearly exact for two classes, but too wide where
# classes have a factor each), and of a least-squares fit to zeros and ones.
_FACTORS, _STRIDE = np.exp(np.linspace(-1.2, 2.4, 37)), 4
_SHARPNESS_OF_TWO, _SHARPNESS = (1.0, 0.35), (1.5, 0.7)
_SCALE, _SCALE_SPREAD = 6.0, 1.0
# Labels that each model is thought to have explained before any is seen: classes are no numbers, and what has
# more hyperparameters looks better on left-out labels than it is, because these have seen them.
_SEEN = {PROBIT: 5.0, SQUARES: 1.0, LINEAR: 2.0}
# A model with a smaller share is not worth its predictions.
_LIGHTEST = 0.05
# Labels of each class, on average, from which on models are weighed at all.
_FEWEST = 3
_ROUNDS = 200


@stored("calibration of classes")
@dataclass(frozen=True)
class Calibration:
    """How sure a probit is, and how much every model counts in the probabilities."""

    sharpness: float = 1.0  # what the probit's posterior mean of f is multiplied by
    shares: Mapping[str, float] = field(default_factory=lambda: {PROBIT: 1.0})


@dataclass(frozen=True, eq=False)
class ClassModel:
    """One explanation: the posteriors of all latent functions, and its predictions of left-out labels."""

    name: str
    posteriors: tuple[Posterior, ...]
    variances: Array  # (M,) or (M + 1,), prior ones, a learned constant's included
    constants: tuple[Constant, ...]
    left_out: Array  # (m,) probability of each label given all others
    weight: float = 1.0


def class_columns(target: Target) -> Array:
    """Labels as columns of zeros and ones, less their means: (m, C), or (m, 1) for two classes."""
    likelihood, obs = target.likelihood, target.obs
    if isinstance(likelihood, Categorical):
        labels = np.eye(likelihood.n_classes)[obs.y.astype(int)]
    else:
        labels = obs.y[:, None]
    if np.any(obs.offset):  # what another model leaves over
        if isinstance(likelihood, Categorical):
            labels = labels - likelihood.conditional(obs.offset)
        else:
            labels = labels - likelihood.conditional_mean(obs.offset)[:, None]
    return labels - np.average(labels, axis=0, weights=obs.weight)


def n_classes(likelihood: AnyLikelihood) -> int:
    """C."""
    return likelihood.n_classes if isinstance(likelihood, Categorical) else 2


def column_constant(target: Target, columns: Array) -> float:
    """The prior variance of the constants of columns (m, C), which are centred."""
    obs = Observations.of(columns.ravel(), weight=np.repeat(target.obs.weight, columns.shape[1]))
    return float(Gaussian().latent_scale(obs) ** 2)


def probit_model(
    target: Target,
    posteriors: tuple[Posterior, ...],
    variances: Array,
    mean: Array,
    variance: Array,
) -> tuple[ClassModel, float]:
    """Expectation propagation's answer, as sure as left-out labels allow; and how sure that is.

    Parameters
    ----------
    target : Target
    posteriors, variances
        Of the weights.
    mean, variance : arrays of shape (m,) or (m, C)
        Of f at every label, given all others.
    """
    middle, spread = _SHARPNESS if isinstance(target.likelihood, Categorical) else _SHARPNESS_OF_TWO

    def scored(factor: float) -> tuple[float, Array]:
        p = own_probability(target, factor * mean, variance)
        return _score(target, p) - 0.5 * (np.log(factor / middle) / spread) ** 2, p

    sharpness, left_out = _best_factor(scored, _FACTORS)
    sharper = tuple(replace(posterior, mean=sharpness * posterior.mean) for posterior in posteriors)
    constant = replace(target.constant, mean=sharpness * target.constant.mean)
    return ClassModel(PROBIT, sharper, variances, (constant,) * len(sharper), left_out), sharpness


def least_squares_model(
    name: str, target: Target, features: Array, terms: Terms, values: Mapping[str, float]
) -> ClassModel:
    """Least squares at given hyperparameters, scaled to what a probit expects by left-out labels.

    Parameters
    ----------
    name : str
    target : Target
        If its constant is not learned, there is none here either.
    features : array of shape (m, M)
        Of all terms.
    terms : Terms
    values : mapping
        Variances and noise in units of the zeros and ones; a term that is not named has none.
    """
    columns = class_columns(target)
    own = [
        term.variances(values) if set(term.parameters) <= set(values) else np.zeros(term.n_features)
        for term in terms.parts
    ]
    d, design = np.concatenate([np.empty(0), *own]), features
    offset: Array = np.zeros(columns.shape[1])
    if target.constant.learned:
        d, design = np.append(d, column_constant(target, columns)), target.with_constant(features)
        # A half of two classes is where neither is more probable.
        offset = _shares(target, columns.shape[1]) - 1.0 / n_classes(target.likelihood)
    noise, weight = values[NOISE], target.obs.weight
    tau = weight / noise
    together = make_solver(design, d).marginals(tau, tau[:, None] * columns)
    left = [
        cavities(replace(together, mean=mean), tau, tau * y)
        for mean, y in zip(together.mean.T, columns.T, strict=True)
    ]
    mean, variance = (np.stack(part, axis=1) for part in zip(*left, strict=True))
    mean = mean + offset

    def scored(factor: float) -> tuple[float, Array]:
        p = own_probability(target, _flat(factor * mean), _flat(factor**2 * variance))
        return _score(target, p) - 0.5 * (np.log(factor / _SCALE) / _SCALE_SPREAD) ** 2, p

    scale, left_out = _best_factor(scored, _SCALE * _FACTORS / np.sqrt(_FACTORS[0] * _FACTORS[-1]))
    # One factorisation for all classes: their posteriors differ in the mean only.
    solver, tau = make_solver(design, scale**2 * d), weight / (scale**2 * noise)
    nu = tau[:, None] * (scale * columns)
    together = solver.marginals(tau, nu)
    first = solver.finish(replace(together, mean=together.mean[:, 0]), tau, nu[:, 0])[1]
    means = solver.weights(together, tau, nu)
    posteriors = [replace(first, mean=np.ascontiguousarray(mean)) for mean in means.T]
    variance_of_constant = float(scale**2 * d[-1]) if target.constant.learned else None
    constants = tuple(Constant(scale * float(c), variance_of_constant) for c in offset)
    return ClassModel(name, tuple(posteriors), scale**2 * d, constants, left_out)


def own_probability(target: Target, mean: Array, variance: Array) -> Array:
    """P(y_i) (m,) for latent moments (m,), or (m, C)."""
    likelihood, obs = target.likelihood, target.obs
    if isinstance(likelihood, Categorical):
        return likelihood.probabilities(mean, variance)[np.arange(len(mean)), obs.y.astype(int)]
    assert isinstance(likelihood, Bernoulli)
    yes = likelihood.predictive_mean(mean, variance)
    return np.where(obs.y > 0.5, yes, 1.0 - yes)


def probability_of_own_class(target: Target, mean: Array, variance: Array) -> Array:
    """P(the class of the largest latent function is that of the label) (m,), for moments as above."""
    likelihood, obs = target.likelihood, target.obs
    if isinstance(likelihood, Categorical):
        return likelihood.largest(mean, variance)[np.arange(len(mean)), obs.y.astype(int)]
    return np.asarray(ndtr((2.0 * obs.y - 1.0) * mean / np.sqrt(variance)))


def weighed(target: Target, models: Sequence[ClassModel]) -> list[ClassModel]:
    """The mixture that predicts left-out labels best; the first model if labels are too few to tell."""
    if len(target.obs.y) < _FEWEST * n_classes(target.likelihood):
        return [models[0]]
    p = np.stack([_of_label(target, model.left_out) for model in models], axis=1)
    shares = mixture_shares(p, _counted(target), np.array([_SEEN[model.name] for model in models]))
    shares = np.where(shares < _LIGHTEST, 0.0, shares)
    shares /= shares.sum()
    return [
        replace(model, weight=float(share)) for model, share in zip(models, shares, strict=True) if share > 0
    ]


def mixture_shares(p: Array, weight: Array, seen: Array) -> Array:
    """How much each of k models counts, from what they say (m, k) of left-out labels: EM.

    `weight` (m,) is that of the labels, `seen` (k,) the labels that each model is thought to have explained.
    """
    shares = seen / seen.sum()
    for _ in range(_ROUNDS):
        each = p * shares
        each /= np.maximum(each.sum(axis=1, keepdims=True), 1e-300)
        counts = weight @ each + seen
        shares = counts / counts.sum()
    return shares


def _best_factor(scored: Callable[[float], tuple[float, Array]], factors: Array) -> tuple[float, Array]:
    """The factor with the highest score, and what came with it: every fourth one first, then those nearby."""
    found = {i: scored(float(factors[i])) for i in range(0, len(factors), _STRIDE)}
    near = max(found, key=lambda i: found[i][0])
    for i in range(max(near - _STRIDE + 1, 0), min(near + _STRIDE, len(factors))):
        if i != near:
            found[i] = scored(float(factors[i]))
    best = max(found, key=lambda i: found[i][0])
    return float(factors[best]), found[best][1]


def _score(target: Target, p: Array) -> float:
    return float(_counted(target) @ np.log(np.maximum(_of_label(target, p), 1e-300)))


def _of_label(target: Target, p: Array) -> Array:
    """The probability of each label, which may be random, from that of its class."""
    if target.judges is None:
        return p
    noise = target.judges.noise
    return noise / n_classes(target.likelihood) + (1.0 - noise) * p


def _counted(target: Target) -> Array:
    """Weights of the labels; the only one of a class cannot be predicted from others, and does not count."""
    codes = target.obs.y.astype(int)
    weight = target.obs.weight if target.judges is None else target.judges.weight
    return np.where(np.bincount(codes)[codes] > 1, weight, 0.0)


def _shares(target: Target, count: int) -> Array:
    """Mean of the columns before they were centred."""
    obs = target.obs
    if count == 1:
        return np.array([np.average(obs.y, weights=obs.weight)])
    return np.bincount(obs.y.astype(int), obs.weight, minlength=count) / obs.weight.sum()


def _flat(values: Array) -> Array:
    """One column as (m,)."""
    return values[:, 0] if values.shape[1] == 1 else values
