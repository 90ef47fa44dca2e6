"""Figures show the numbers of the model."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures, plotting, views

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


@pytest.fixture(scope="module")
def regression():
    X, angle = ring(500, noise=0.02)
    y = np.sin(angle) + 0.1 * np.random.default_rng(1).standard_normal(500)
    labels = np.where(np.arange(500) % 10 == 0, y, np.nan)
    # Without a line, which explains these labels as well: the evidence would be flat in t.
    return FLGPRegressor(linear=None, residual=None, random_state=0).fit(X, labels), X, labels, y


@pytest.fixture(scope="module")
def classes():
    X, angle = ring(500, noise=0.02)
    names = np.array(["a", "b", "c"])[(angle / 2.1).astype(int)]
    labels = names.astype(object)
    labels[np.arange(500) % 10 != 0] = None
    # Every class for itself: then each is at the maximum of its own evidence.
    return FLGPClassifier(multi_class="one_vs_rest", random_state=0).fit(X, labels), X, labels, names


@pytest.fixture
def ax():
    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


@pytest.fixture
def ax3():
    figure = pyplot.figure()
    yield figure.add_subplot(projection="3d")
    pyplot.close(figure)


def test_points_show_prediction_uncertainty_and_labels(regression, ax):
    model, X, labels, _ = regression
    assert plotting.plot_points(model, X, y=labels, ax=ax) is ax
    drawn, rings = ax.collections
    np.testing.assert_array_equal(drawn.get_offsets(), X)
    np.testing.assert_array_equal(drawn.get_array(), model.predict(X))
    np.testing.assert_array_equal(rings.get_offsets(), X[~np.isnan(labels)])
    ax.clear()
    plotting.plot_points(model, X, "uncertainty", ax=ax)
    np.testing.assert_allclose(ax.collections[0].get_array(), model.predict(X, return_std=True)[1])
    with pytest.raises(ValueError, match="values='spread' is not known"):
        plotting.plot_points(model, X, "spread", ax=ax)


def test_classes_are_drawn_one_by_one(classes, ax):
    model, X, labels, _ = classes
    plotting.plot_points(model, X, y=labels, ax=ax)
    predicted = model.predict(X)
    for drawn, name in zip(ax.collections, "abc", strict=False):
        np.testing.assert_array_equal(drawn.get_offsets(), X[predicted == name])
    np.testing.assert_array_equal(ax.collections[3].get_offsets(), X[::10])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    ax.clear()
    plotting.plot_points(model, X, "uncertainty", ax=ax)
    p = model.predict_proba(X)
    np.testing.assert_allclose(
        ax.collections[0].get_array(), -(p * np.log2(p + 1e-300)).sum(axis=1), atol=1e-9
    )


def test_covariance_from_a_row_or_any_point(regression, ax):
    model, X, _, _ = regression
    plotting.plot_covariance(model, X, 7, ax=ax)
    np.testing.assert_allclose(
        ax.collections[0].get_array(), model.covariance(X, X[7:8], term="manifold")[:, 0]
    )
    np.testing.assert_array_equal(ax.collections[1].get_offsets()[0], X[7])
    low, high = ax.collections[0].get_clim()
    assert low == -high
    ax.clear()
    plotting.plot_covariance(model, X, [1.0, 0.0], ax=ax)
    np.testing.assert_array_equal(ax.collections[1].get_offsets()[0], [1.0, 0.0])


def test_eigenfunctions_of_a_circle_come_in_waves(regression, ax):
    model, X, _, _ = regression
    plotting.plot_eigenfunction(model, X, 1, ax=ax)
    values = np.asarray(ax.collections[0].get_array())
    angle = np.arctan2(X[:, 1], X[:, 0])
    waves = np.column_stack([np.cos(angle), np.sin(angle)])
    fitted = waves @ np.linalg.lstsq(waves, values, rcond=None)[0]
    assert np.corrcoef(values, fitted)[0, 1] > 0.99
    assert f"λ = {model.eigenvalues_[2]:.3g}" in ax.get_title()
    with pytest.raises(ValueError, match="too large"):
        plotting.plot_eigenfunction(model, X, 10_000, ax=ax)


def test_anchors_and_graph(regression, ax, ax3):
    model, X, _, _ = regression
    plotting.plot_anchors(model, X, ax=ax)
    points, lines, anchors = ax.collections
    assert len(points.get_offsets()) == len(X)
    np.testing.assert_array_equal(anchors.get_offsets(), model.anchors_)
    edges = views.anchor_edges(model, X)
    assert len(lines.get_segments()) == len(edges)
    assert (edges[:, 0] < edges[:, 1]).all()
    # Neighbours on a circle of about a hundred anchors are near one another.
    assert np.linalg.norm(model.anchors_[edges[:, 0]] - model.anchors_[edges[:, 1]], axis=1).max() < 0.4
    plotting.plot_anchors(model, X, ax=ax3, coordinates="eigenmap")
    assert len(ax3.collections) == 3


def test_spectrum(regression, ax):
    model, _, _, _ = regression
    plotting.plot_spectrum(model, ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.eigenvalues_)
    features = HeatKernelFeatures(random_state=0).fit(ring(300)[0])
    ax.clear()
    plotting.plot_spectrum(features, ax=ax)
    assert len(ax.lines[0].get_ydata()) == len(features.eigenvalues_)


@pytest.mark.parametrize("which", ["regression", "classes"])
def test_evidence_is_highest_at_the_learned_time(which, request, ax):
    model, X, labels, _ = request.getfixturevalue(which)
    plotting.plot_evidence(model, n_times=31, ax=ax)
    times, values = ax.lines[0].get_data()
    best = float(np.log(times[np.argmax(values)]))
    learned = np.log(np.atleast_1d(model.diffusion_time_))
    step = np.log(times[1] / times[0])
    assert learned.min() - step <= best <= learned.max() + step
    assert values.max() <= model.log_marginal_likelihood_value_ + 0.5
    fixed = type(model)(diffusion_time=5.0, random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match="diffusion_time was given"):
        plotting.plot_evidence(fixed, ax=ax)


def test_calibration(regression, classes, ax):
    model, X, labels, y = regression
    rest = np.isnan(labels)
    plotting.plot_calibration(model, X[rest], y[rest], n_bins=5, ax=ax)
    stated, observed = ax.lines[1].get_data()
    np.testing.assert_allclose(stated, [0.2, 0.4, 0.6, 0.8])
    ends = model.predict_interval(X[rest], 0.4)
    assert observed[1] == np.mean((ends[:, 0] <= y[rest]) & (y[rest] <= ends[:, 1]))
    assert np.abs(stated - observed).max() < 0.15
    model, X, _, names = classes
    ax.clear()
    plotting.plot_calibration(model, X, names, ax=ax)
    stated, observed = ax.lines[1].get_data()
    assert (stated <= 1).all()
    assert abs(observed[-1] - stated[-1]) < 0.1


def test_where_points_are_drawn(regression, ax3):
    model, X, _, _ = regression
    eigenmap = views.coordinates(model, X, "eigenmap")
    radius = np.hypot(*eigenmap.T)
    assert radius.std() / radius.mean() < 0.1  # the eigenmap of a circle is a circle
    assert views.coordinates(model, X, "auto", 3)[:, 2].tolist() == [0.0] * len(X)
    with pytest.raises(ValueError, match="'auto', 'features', 'eigenmap'"):
        views.coordinates(model, X, "map")
    plotting.plot_points(model, X, ax=ax3)
    assert len(ax3.collections) == 1


def test_the_eigenmap_of_a_long_strip_has_two_directions():
    rng = np.random.default_rng(0)
    strip = np.column_stack([rng.uniform(0, 5.5, 3000), rng.uniform(0, 1, 3000)])
    rolled = np.column_stack([np.cos(strip[:, 0]), np.sin(strip[:, 0]), strip[:, 1]])
    model = HeatKernelFeatures(n_anchors=400, random_state=0).fit(rolled)
    along, across = views.coordinates(model, rolled, "eigenmap").T
    # The second eigenfunction only bends back along the strip: it is passed over for one that crosses it.
    assert abs(np.corrcoef(along, strip[:, 0])[0, 1]) > 0.9
    assert abs(np.corrcoef(across, strip[:, 1])[0, 1]) > 0.7


def test_current_axes_are_the_default(regression):
    figure, axes = pyplot.subplots()
    assert plotting.plot_spectrum(regression[0]) is axes
    pyplot.close(figure)


def test_several_targets_are_refused(ax):
    X, angle = ring(100)
    model = FLGPRegressor(random_state=0).fit(X, np.column_stack([angle, angle]))
    with pytest.raises(ValueError, match="several targets"):
        plotting.plot_points(model, X, ax=ax)
