"""Coupled functions at any points, against the dense posterior of their weights."""

from __future__ import annotations

import numpy as np
import pytest

from flgp import FLGPClassifier, load, save
from flgp._linalg import squared_distances, triangular_product, triangular_squares
from flgp.geometry.base import MatrixRows
from flgp.inference.coupled import CoupledEP
from flgp.inference.posterior import DualPosterior, Point
from flgp.likelihoods import Categorical, Observations
from flgp.process.class_field import class_fields, class_moments
from flgp.process.field import WeightField
from flgp.terms import Constant, Terms
from flgp.terms.base import TermView, View


class Columns:
    """A term whose features are k columns at nodes."""

    def __init__(self, nodes):
        self.nodes, self.n_features = nodes, nodes.shape[1]

    def at_nodes(self, weights):
        return self.nodes @ weights

    def gap_variance(self, d):
        return float(d.sum())


def problem(m, seed=0):
    """Two terms with 9 and 6 features, a constant, labels of three classes, and a view of 30 points."""
    rng = np.random.default_rng(seed)
    terms = Terms((Columns(rng.standard_normal((12, 9))), Columns(rng.standard_normal((7, 6)))))
    d = np.append(rng.uniform(0.1, 2.0, 15), 1.5)
    labelled = np.column_stack([rng.standard_normal((m, 15)), np.ones(m)])
    obs = Observations.of(rng.integers(3, size=m).astype(float))
    posteriors = CoupledEP(labelled, obs, 3).evaluate(Point(d, Categorical(3))).posteriors
    z = [rng.standard_normal((30, s)) for s in (12, 7)]
    views = (TermView(MatrixRows(z[0]), rng.uniform(0, 1, 30)), TermView(MatrixRows(z[1])))
    phi = np.column_stack([z[0] @ terms.parts[0].nodes, z[1] @ terms.parts[1].nodes, np.ones(30)])
    return terms, d, posteriors, View(views, 30), phi


@pytest.mark.parametrize("m", [8, 60], ids=["dual", "primal"])
def test_moments_are_those_of_the_weights(m):
    terms, d, posteriors, view, phi = problem(m)
    assert isinstance(posteriors[0], DualPosterior) == (m == 8)
    constant = Constant(0.3, 1.5)
    fields = class_fields(terms, posteriors, d, [constant] * len(posteriors))
    mean, variance = class_moments(fields, view)
    gap = view.terms[0].gap * d[:9].sum()
    for c, (field, posterior) in enumerate(zip(fields, posteriors, strict=True)):
        covariance = phi @ posterior.factor @ posterior.factor.T @ phi.T
        np.testing.assert_allclose(mean[:, c], phi @ posterior.mean + 0.3, atol=1e-12)
        np.testing.assert_allclose(variance[:, c], np.diag(covariance) + gap, rtol=1e-10)
        np.testing.assert_allclose(field.means(view), mean[:, c], atol=1e-12)
        np.testing.assert_allclose(field.variances(view), variance[:, c], rtol=1e-12)
        np.testing.assert_allclose(field.covariances(view), covariance + np.diag(gap), atol=1e-10)


@pytest.mark.parametrize("m", [8, 60], ids=["dual", "primal"])
def test_parts_and_draws_are_those_of_a_field_of_its_own(m):
    terms, d, posteriors, view, _ = problem(m)
    constant = Constant(0.3, 1.5)
    for field, posterior in zip(
        class_fields(terms, posteriors, d, [constant] * len(posteriors)), posteriors, strict=True
    ):
        own = WeightField.of(terms, posterior, d, constant)
        for found, expected in zip(field.term_moments(view), own.term_moments(view), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-10)
        np.testing.assert_allclose(field.variations(view), own.variations(view), rtol=1e-9)
        assert np.all(own.variance_limits(view) >= own.variances(view))
        draws, others = (one.draws(view, 5, np.random.default_rng(3)) for one in (field, own))
        np.testing.assert_allclose(draws, others, atol=1e-10)


def test_a_feature_without_variance_does_no_harm():
    terms, d, _, view, _ = problem(60)
    d[3] = 0.0
    rng = np.random.default_rng(1)
    labelled = np.column_stack([rng.standard_normal((60, 15)), np.ones(60)])
    obs = Observations.of(rng.integers(3, size=60).astype(float))
    posteriors = CoupledEP(labelled, obs, 3).evaluate(Point(d, Categorical(3))).posteriors
    constant = Constant(0.0, 1.5)
    _, variance = class_moments(class_fields(terms, posteriors, d, [constant] * len(posteriors)), view)
    for c, posterior in enumerate(posteriors):
        own = WeightField.of(terms, posterior, d, constant).variances(view)
        np.testing.assert_allclose(variance[:, c], own, rtol=1e-10)


def test_a_triangular_product_is_the_product():
    rng = np.random.default_rng(0)
    for k in (5, 64, 201):
        rows, upper = rng.standard_normal((17, k)), np.triu(rng.standard_normal((k, k)))
        np.testing.assert_allclose(triangular_product(rows, upper), rows @ upper, atol=1e-12)


@pytest.mark.parametrize("count", [1, 3, 18])
def test_squares_of_triangular_products_are_those_of_the_products(count):
    rng = np.random.default_rng(1)
    for k in (0, 5, 32, 75):
        rows, uppers = rng.standard_normal((1050, k)), [np.triu(rng.standard_normal((k, k)))] * (count - 1)
        uppers.append(np.triu(rng.standard_normal((k, k))))
        expected = np.stack([((rows @ upper) ** 2).sum(axis=1) for upper in uppers], axis=1)
        np.testing.assert_allclose(triangular_squares(rows, uppers), expected, rtol=1e-12)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1.0, 1e6), (1e5, 0.0), (1e200, 0.0)])
def test_squared_distances_are_accurate_near_and_far(scale, shift):
    rng = np.random.default_rng(2)
    others = shift + scale * rng.standard_normal((20, 7))
    points = np.concatenate([others[:5] + 1e-3, shift + scale * rng.standard_normal((30, 7))])
    with np.errstate(over="ignore"):
        expected = ((points[:, None] - others) ** 2).sum(axis=2)
        np.testing.assert_allclose(squared_distances(points, others), expected, atol=1e-11, rtol=1e-11)


def test_a_whitened_term_counts_as_its_features_and_their_gap():
    """|Ψ|² and the gap are the whole variance of such a term: nobody has to compute either."""
    rng = np.random.default_rng(3)
    whitener = 0.2 * rng.standard_normal((7, 6))
    plain = Columns(rng.standard_normal((12, 9)))
    own = Columns(whitener)
    own.gap_variance = lambda d: float(d[0])
    terms, m = Terms((plain, own)), 8
    d = np.concatenate([rng.uniform(0.1, 2.0, 9), np.full(6, 0.7), [1.5]])
    labelled = np.column_stack([rng.standard_normal((m, 15)), np.ones(m)])
    obs = Observations.of(rng.integers(3, size=m).astype(float))
    posteriors = CoupledEP(labelled, obs, 3).evaluate(Point(d, Categorical(3))).posteriors
    fields = class_fields(terms, posteriors, d, [Constant(0.3, 1.5)] * 3)
    z = MatrixRows(rng.standard_normal((30, 12))), MatrixRows(0.1 * rng.standard_normal((30, 7)))
    view = View((TermView(z[0]), TermView(z[1], whitener=whitener)), 30)
    assert 0 < view.terms[1].gap.min() < view.terms[1].gap.max() < 1
    _, variance = class_moments(fields, view)
    for c, field in enumerate(fields):
        np.testing.assert_allclose(variance[:, c], field.variances(view), rtol=1e-12)


def test_many_classes_share_what_a_file_holds(tmp_path):
    """A hundred functions with one prior: the file holds that once, and reads as it was."""
    rng = np.random.default_rng(0)
    X, classes = rng.standard_normal((2_000, 3)), np.arange(70)
    y = np.full(2_000, -1)
    y[:140] = np.tile(classes, 2)
    model = FLGPClassifier(
        n_anchors=400, n_eigenpairs=60, random_state=0, linear=None, residual=None, calibrate=False
    ).fit(X, y)
    save(model, tmp_path / "m.flgp")
    assert (tmp_path / "m.flgp").stat().st_size < 8e6
    np.testing.assert_array_equal(
        load(tmp_path / "m.flgp").predict_proba(X[:50]), model.predict_proba(X[:50])
    )
