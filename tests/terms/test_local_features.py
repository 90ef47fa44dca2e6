"""The local term by features, against the dense Gaussian process."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from flgp import FLGPClassifier
from flgp.inference.posterior import WeightPosterior
from flgp.process.field import WeightField
from flgp.terms import Constant, Inputs, Terms
from flgp.terms.local import features as module
from flgp.terms.local.features import LocalFeatures
from flgp.terms.local.term import VARIANCE


def inputs(points):
    return Inputs(None, SimpleNamespace(closeness=np.ones(len(points))), points)


def correlations(a, b):
    return np.exp(-0.5 * cdist(a, b, "sqeuclidean"))


def test_features_reproduce_the_kernel():
    rng = np.random.default_rng(0)
    points, new = rng.standard_normal((30, 2)), 2.0 * rng.standard_normal((20, 2))
    term = LocalFeatures.at_labels(inputs(points))
    phi = term.features(inputs(points))
    np.testing.assert_allclose(phi @ phi.T, correlations(points, points), atol=1e-5)
    view = term.view(inputs(new))
    cross = view.rows.combine(term.at_nodes(phi.T))
    np.testing.assert_allclose(cross, correlations(new, points), atol=1e-5)
    K = correlations(points, points) + 1e-8 * np.eye(30)
    k = correlations(new, points)
    left = 1.0 - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    np.testing.assert_allclose(view.gap, left, atol=1e-5)
    assert term.gap_variance(term.variances({VARIANCE: 2.5})) == 2.5


def test_repeated_and_far_points():
    points = np.repeat(np.random.default_rng(0).standard_normal((10, 3)), 4, axis=0)
    term = LocalFeatures.at_labels(inputs(points))
    assert term.n_features == 10
    far = term.view(inputs(np.array([[1e200, 0.0, 0.0]])))
    assert far.gap[0] == 1.0


def test_many_labels_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "_MOST_POINTS", 12)
    points = np.random.default_rng(0).standard_normal((40, 2))
    term = LocalFeatures.at_labels(inputs(points))
    assert term.n_features == 12
    gap = term.view(inputs(points)).gap
    assert (gap >= 0).all()
    assert gap.max() > 0.01


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_without_a_manifold(n_classes):
    """Blocks of a checkerboard: neither a line nor the graph of a uniform square knows them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (900, 2))
    y = (np.floor(X[:, 0]) + np.floor(X[:, 1])).astype(int) % n_classes
    target = np.where(np.arange(900) < 200, y, -1)
    options = {"random_state": 0, "n_anchors": 60, "n_eigenpairs": 15}
    with_local = FLGPClassifier(**options).fit(X, target)
    without = FLGPClassifier(residual=None, **options).fit(X, target)
    assert with_local.score(X[200:], y[200:]) > 0.85
    assert with_local.score(X[200:], y[200:]) > without.score(X[200:], y[200:])
    assert with_local.term_shares_["local"] > 0.01
    parts = with_local.latent_mean_and_variance(X[:3])
    assert np.isfinite(parts[0]).all()


def test_means_lie_within_limits_that_need_no_correlations():
    rng = np.random.default_rng(0)
    term = LocalFeatures.at_labels(inputs(rng.standard_normal((30, 2))))
    new = inputs(3.0 * rng.standard_normal((200, 2)))
    terms, d = Terms((term,)), np.full(30, 2.0)
    posterior = WeightPosterior(rng.standard_normal(30), 0.1 * np.eye(30))
    field, view = WeightField.of(terms, posterior, d, Constant(0.5)), terms.view(new)
    low, high = field.mean_limits(view)
    assert "z" not in view.terms[0].rows.__dict__
    mean = 0.5 + correlations(new.coordinates, term.points) @ term.at_nodes(posterior.mean)
    assert (low <= mean).all()
    assert (mean <= high).all()
    np.testing.assert_allclose(field.means(view), mean, rtol=1e-9, atol=1e-9)
    for part in (np.array([3, 150, 7]), slice(20, 90)):  # before and after the correlations are known
        for some in (terms.view(new).take(part), view.take(part)):
            np.testing.assert_allclose(field.means(some), mean[part], rtol=1e-9, atol=1e-9)
