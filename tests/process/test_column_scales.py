from dataclasses import replace

import numpy as np
import pytest

from flgp.inference.joint import JointData, evaluate
from flgp.process.column_scales import _KERNEL, _Evidence, learn_scales
from flgp.process.relevance import default_relevance
from flgp.terms.local.euclidean import LocalModel
from flgp.terms.local.neighborhoods import coarse_order, previous_neighborhoods


@pytest.fixture
def problem(rng):
    points = rng.random((120, 3))
    return points, rng.standard_normal(120), rng.uniform(0.5, 2.0, 120)


def evidence_of(points, y, noise_scale, n_neighbors=12):
    near = previous_neighborhoods(points, n_neighbors, coarse_order(points))
    return _Evidence(points, y, noise_scale, near.rows, near.neighbors), near


def test_the_value_is_that_of_the_local_term(problem):
    points, y, noise_scale = problem
    evidence, near = evidence_of(points, y, noise_scale)
    values = []
    for theta in (np.array([0.3, -1.0, 0.2, 0, 0, 0]), np.array([-0.2, -1.5, 0.2, 0, 0, 0])):
        local = LocalModel(_KERNEL, 1.0, np.exp(theta[0]), np.exp(theta[1]), np.exp(theta[2]))
        data = JointData(np.ones((120, 1)), y, noise_scale, near)
        prior = 0.5 * theta[0] - np.exp(theta[0]) / 18.0 - 0.1 * theta[1] - 1e-3 * np.exp(-theta[1])
        prior -= 0.5 * theta[2] ** 2
        values.append((evidence(theta)[0] - prior, evaluate(data, np.array([1e-14]), local).log_evidence))
    assert values[0][0] == pytest.approx(values[0][1], abs=1e-6)
    assert values[1][0] == pytest.approx(values[1][1], abs=1e-6)


def test_the_gradient_is_that_of_finite_differences(problem):
    points, y, noise_scale = problem
    points[5] = points[7]  # two labels in one place
    evidence, _ = evidence_of(points, y, noise_scale)
    some = replace(evidence, rows=evidence.rows[::3], neighbors=evidence.neighbors[::3])
    theta, h = np.array([0.3, -1.0, 0.2, 0.5, 1.0, -0.4]), 1e-5
    numeric = [(some(theta + e)[0] - some(theta - e)[0]) / (2 * h) for e in h * np.eye(6)]
    np.testing.assert_allclose(some(theta)[1], numeric, rtol=1e-6, atol=1e-5)


def test_short_ranges_are_seen_by_many_labels(rng):
    points = rng.random((2500, 2))
    f = np.sin(60.0 * points[:, 0]) + np.sin(6.0 * points[:, 1])
    y = f - f.mean() + 0.1 * rng.standard_normal(2500)
    found = learn_scales(points, y, np.ones(2500), default_relevance(points.std(axis=0)).local)
    assert 5.0 < found[0] / found[1] < 20.0


def test_columns_of_another_unit_and_rows_in_another_order_change_nothing(rng):
    points = rng.random((1500, 2))
    y = np.sin(20.0 * points[:, 0]) + 0.1 * rng.standard_normal(1500)
    first, ones = default_relevance(points.std(axis=0)).local, np.ones(1500)
    found = learn_scales(points, y, ones, first)
    order, unit = rng.permutation(1500), np.array([1024.0, 1 / 64])
    other = learn_scales(points[order] * unit, y[order], ones, first / unit)
    np.testing.assert_allclose(other * unit, found, rtol=1e-4)


def test_labels_that_are_all_alike_leave_the_scales(rng):
    points = rng.random((1200, 2))
    first = np.array([2.0, 3.0])
    found = learn_scales(points, np.zeros(1200), np.ones(1200), first)
    np.testing.assert_array_equal(found, first)
