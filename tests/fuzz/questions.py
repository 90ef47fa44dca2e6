"""Everything that may be asked of a fitted model, and what counts as a proper answer."""

from __future__ import annotations

import copy

import numpy as np
from sklearn.base import clone

from flgp import FLGPClassifier, HeatKernelFeatures
from flgp.likelihoods import Gaussian, Ordinal, StudentT
from flgp.likelihoods._zeros import ExtraZeros
from flgp.process.draws_field import DrawsField

# Beyond this spread of f the mean of a log-normal leaves its own central interval.
_WIDE = 1.0


def farthest(coverage):
    """Standard deviations by which a mean may lie outside its central interval, whatever the distribution.

    Cantelli's inequality: a quantile of level q is at most √(q/(1 - q)) standard deviations below the mean.
    """
    tail = 0.5 * (1.0 - coverage)
    return np.sqrt(tail / (1.0 - tail))


def ask_everything(model, X, update=True):
    """Call every public method of a model at rows X (b, p), and check the answers."""
    before = np.array(X, copy=True)
    clone(model)
    repr(model)
    if isinstance(model, HeatKernelFeatures):
        _features(model, X)
    else:
        _latent(model, X)
        (_classes if isinstance(model, FLGPClassifier) else _numbers)(model, X)
        if update:
            _update(model)
    _covariances(model, X)
    distance = model.distance_to_anchors(X)
    assert distance.shape == (len(X),)
    assert_finite(distance)
    assert (distance >= 0).all()
    np.testing.assert_array_equal(before, X)


def assert_finite(values):
    assert np.isfinite(values).all(), values


def _features(model, X):
    features = model.transform(X)
    assert features.shape == (len(X), len(model.get_feature_names_out()))
    assert_finite(features)
    assert model.fit_transform is not None


def _latent(model, X):
    mean, variance = model.latent_mean_and_variance(X)
    assert_finite(mean)
    assert_finite(variance)
    assert (variance >= 0).all()
    ends = model.latent_interval(X, 0.9)
    low, high = ends[:, 0], ends[:, 1]
    assert_finite(ends)
    assert (low <= high).all()
    # Quantiles of mixtures and of draws are exact up to the width of their grid.
    room = 0.02 * (high - low) + 1e-9 * (np.abs(mean) + 1e-300)
    functions = model._process_.functions
    if not all(
        len(f.components) == 1 and not isinstance(f.components[0].field, DrawsField) for f in functions
    ):
        # A component or a few draws far off pull the mean out of the interval, but only so far.
        room += farthest(0.9) * np.sqrt(variance)
    assert (low <= mean + room).all()
    assert (mean <= high + room).all()
    for prior in (False, True):
        draws = model.sample_f(X, 3, prior=prior)
        assert draws.shape[0] == len(X)
        assert draws.shape[-1] == 3
        assert_finite(draws)
    if getattr(model, "_labels_", None) is not None:
        assert_finite(model.log_marginal_likelihood())
        if getattr(model, "coregionalization", None) is None:  # linked outputs have no gradient
            assert_finite(model.log_marginal_likelihood(eval_gradient=True)[1])


def _covariances(model, X):
    joint = model.covariance(X)
    assert joint.shape == (len(X), len(X))
    assert_finite(joint)
    assert (np.diag(joint) >= 0).all()
    np.testing.assert_allclose(joint, joint.T, atol=1e-9 * np.abs(joint).max(initial=1e-300))
    across = model.covariance(X, X[:2])
    scale = np.abs(joint).max(initial=1e-300)
    assert np.abs(across).max(initial=0.0) <= scale * (1 + 1e-6)
    for name in model._process_.names:
        assert_finite(model.covariance(X[:3], term=name))


def _classes(model, X):
    p = model.predict_proba(X)
    assert p.shape == (len(X), len(model.classes_))
    assert_finite(p)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-9)
    predicted = model.predict(X)
    best = p.max(axis=1)
    chosen = p[np.arange(len(X)), np.searchsorted(model.classes_, predicted)]
    # Equal probabilities may be broken either way.
    np.testing.assert_allclose(chosen, best, rtol=1e-9, atol=1e-12)
    for prior in (False, True):
        assert np.isin(model.sample_y(X, 3, prior=prior), model.classes_).all()
    assert 0 <= model.score(X, predicted) <= 1


def _numbers(model, X):
    mean, std = model.predict(X, return_std=True)
    assert_finite(mean)
    assert_finite(std)
    assert (std >= 0).all()
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-9, atol=1e-9 * np.abs(mean).max(initial=0))
    ends = model.predict_interval(X, 0.95)
    low, high = ends[:, 0], ends[:, 1]
    assert_finite(ends)
    assert (low <= high).all()
    variance = model.latent_mean_and_variance(X)[1]
    functions = model._process_.functions
    symmetric = all(isinstance(function.likelihood, Gaussian | StudentT) for function in functions)
    # A few zeros far from all other counts pull the mean below the interval.
    zeros = isinstance(functions[0].likelihood, ExtraZeros)
    # A wide component of a mixture moves the mean of exp(f), too, but hardly its quantiles.
    single = all(
        len(f.components) == 1 and not isinstance(f.components[0].field, DrawsField) for f in functions
    )
    # Counts and zeros and ones: the ends are whole numbers, the mean is not.
    whole = 1.0 if functions[0].likelihood.discrete else 0.0
    room = 0.05 * (high - low) + 1e-9 * np.abs(mean) + whole
    if zeros or not (single and (symmetric or (variance < _WIDE**2).all())):
        room = room + farthest(0.95) * std
    assert (low <= mean + room).all(), (low, mean)
    assert (mean <= high + room).all(), (mean, high)
    again, parts = model.predict(X, return_parts=True)
    assert_finite(again)
    assert_finite(parts.mean)
    assert_finite(parts.variance)
    for name in model._process_.names:
        assert_finite(parts[name].mean)
        assert (parts[name].variance >= 0).all()
    if all(isinstance(function.likelihood, Gaussian) for function in functions):
        _, joint = model.predict(X, return_cov=True)
        assert_finite(joint)
        diagonal = np.diagonal(joint)  # (b,), or (k, b)
        np.testing.assert_allclose(
            np.sqrt(diagonal), std.T, rtol=1e-5, atol=1e-6 * float(std.max(initial=0.0)) + 1e-300
        )
    for prior in (False, True):
        assert_finite(model.sample_y(X, 3, prior=prior))
    if isinstance(functions[0].likelihood, Ordinal):
        p = model.predict_proba(X)
        assert (p >= 0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-9)
    if len(X) > 1 and np.ptp(mean) > 0:
        assert_finite(model.score(X, mean))


def _update(model):
    """A label more, where the model still has the others."""
    labels = getattr(model, "_labels_", None)
    linked = getattr(model, "coregionalization", None) is not None  # these are learned anew only
    if labels is None or linked or model.hyperparameters == "integrate":
        return
    known = {"sample_weight": labels.known["weight"]}
    if isinstance(model, FLGPClassifier):
        y = labels.y
    else:
        known |= {name: labels.known[name] for name in ("noise_scale", "exposure", "trials")}
        y = labels.y[:, 0] if model._flat_ else labels.y
    own = {name: values[:1] for name, values in known.items() if values is not None}
    points = labels.points[:1]
    names = getattr(model, "feature_names_in_", None)
    if names is not None or model._group_levels_ if hasattr(model, "_group_levels_") else names is not None:
        return  # rows of the file have codes where the user has names
    longer = copy.deepcopy(model).update(points, y[:1], relearn=False, **own)
    assert_finite(longer.latent_mean_and_variance(points)[0])
