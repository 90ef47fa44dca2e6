"""The GLGP against its defining matrices."""

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

from flgp._linalg import squared_distances
from flgp.baselines import GLGPClassifier, GLGPRegressor
from flgp.datasets import circle_heat_kernel, circles
from flgp.geometry import landmark_walk
from flgp.geometry.landmarks import join_to_landmarks


@pytest.fixture
def cloud(rng):
    return rng.standard_normal((60, 3))


def direct_walk(K):
    """Eigenpairs of the α = 1 normalised random walk, by its definition."""
    W = K / np.outer(K.sum(axis=1), K.sum(axis=0))
    P = W / W.sum(axis=1, keepdims=True)
    values, vectors = np.linalg.eig(P)
    order = np.argsort(-values.real)
    return P, values.real[order], vectors.real[:, order]


def test_squared_distances(cloud, rng):
    other = rng.standard_normal((7, 3))
    expected = ((cloud[:, None] - other) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(cloud, other), expected, atol=1e-12)


def test_eigenpairs_of_the_full_graph_are_those_of_the_walk(cloud):
    graph = join_to_landmarks(cloud, cloud, None)
    fitted = graph.basis(12, 0.6)
    K = np.exp(-squared_distances(cloud, cloud) / (4 * 0.6**2))
    P, values, _ = direct_walk(K)
    np.testing.assert_allclose(1 - fitted.eigenvalues, values[:12], atol=1e-10)
    features = fitted.features(graph.locate(cloud))
    np.testing.assert_allclose(P @ features, features * values[:12], atol=1e-9)
    np.testing.assert_allclose((features**2).sum(axis=0), 60)
    np.testing.assert_allclose(fitted.rows(graph.locate(cloud)).z, P, atol=1e-12)
    assert graph.mean_sqdist == pytest.approx(squared_distances(cloud, cloud).mean())


def test_sparse_graph_is_symmetric_and_its_features_are_eigenvectors(cloud):
    graph = join_to_landmarks(cloud, cloud, 5)
    sqdist = squared_distances(cloud, cloud)
    near = sqdist <= np.sort(sqdist, axis=1)[:, [4]] + 1e-12
    joined = near | near.T
    pattern = np.zeros_like(joined)
    pattern[graph.among_landmarks.nonzero()] = True
    pattern |= np.eye(60, dtype=bool)  # a distance of 0 is stored but not "non-zero"
    np.testing.assert_array_equal(pattern, joined)
    fitted = graph.basis(8, 0.6)
    P, values, _ = direct_walk(np.where(joined, np.exp(-sqdist / (4 * 0.6**2)), 0))
    np.testing.assert_allclose(1 - fitted.eigenvalues, values[:8], atol=1e-9)
    features = fitted.features(graph.locate(cloud))
    np.testing.assert_allclose(P @ features, features * values[:8], atol=1e-8)


def test_landmarks_extend_by_nystroms_formula(cloud, rng):
    anchors, new = cloud[:40], rng.standard_normal((5, 3))
    graph = join_to_landmarks(cloud, anchors, None)
    fitted = graph.basis(6, 0.7)
    scale = 4 * 0.7**2
    K = np.exp(-squared_distances(anchors, anchors) / scale)
    at_landmarks = fitted.features(graph.locate(anchors))
    cross = np.exp(-squared_distances(new, anchors) / scale) / K.sum(axis=0)
    expected = cross / cross.sum(axis=1, keepdims=True) @ at_landmarks / (1 - fitted.eigenvalues)
    np.testing.assert_allclose(fitted.features(graph.locate(new)), expected, atol=1e-9)


def test_lanczos_agrees_with_the_dense_solver(rng, monkeypatch):
    points = rng.standard_normal((200, 2))
    graph = join_to_landmarks(points, points, None)
    dense = graph.basis(10, 0.3)
    monkeypatch.setattr(landmark_walk, "_DENSE_SIZE", 10)
    lanczos = graph.basis(10, 0.3)
    np.testing.assert_allclose(lanczos.eigenvalues, dense.eigenvalues, atol=1e-9)
    np.testing.assert_allclose(lanczos.spectrum.lift, dense.spectrum.lift, atol=1e-5)


def test_heat_kernel_of_the_circle():
    theta = np.linspace(0, 2 * np.pi, 800, endpoint=False)
    X = np.column_stack([np.cos(theta), np.sin(theta)])
    epsilon, t = 0.05, 0.05
    y = np.full(800, np.nan)
    y[::40] = np.sin(theta[::40])
    model = GLGPRegressor(
        n_eigenpairs=40, bandwidth=epsilon, diffusion_time=t / epsilon**2, amplitude=1.0
    ).fit(X, y)
    exact = circle_heat_kernel(theta, 0.0, t, measure="probability")
    estimate = model.covariance(X, X[:1], term="manifold")[:, 0]
    assert np.abs(estimate - exact).max() < 0.02 * exact.max()


@pytest.mark.parametrize("options", [{}, {"n_landmarks": 900}, {"n_neighbors": 9}])
def test_predict_agrees_with_transduction_and_learns(options):
    data = circles(1200, random_state=0)
    y = np.full(1200, -1)
    y[::10] = data.y[::10]
    model = GLGPClassifier(n_eigenpairs=60, bandwidth=0.02, random_state=0, **options).fit(data.X, y)
    np.testing.assert_array_equal(model.predict(data.X), model.transduction_)
    p = model.predict_proba(data.X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (model.transduction_ != data.y).mean() < (0.3 if "n_landmarks" in options else 0.1)


@pytest.mark.parametrize(("n_neighbors", "lowest", "highest"), [(None, 0.001, 1), (12, 0.1, 10)])
def test_bandwidth_is_searched_on_the_grid_of_the_paper(n_neighbors, lowest, highest):
    data = circles(240, random_state=1)
    y = np.full(240, -1)
    y[::8] = data.y[::8]
    model = GLGPClassifier(n_neighbors=n_neighbors, n_eigenpairs=20, random_state=0).fit(data.X, y)
    sqdist = squared_distances(data.X, data.X)
    reach = np.sort(sqdist, axis=1)[:, (n_neighbors or 240) - 1] * (1 + 1e-9)
    joined = (sqdist <= reach) | (sqdist <= reach[:, None])
    tried = [4 * epsilon**2 / sqdist[joined].mean() for epsilon, _ in model.bandwidth_trace_]
    np.testing.assert_allclose(tried[:20], np.geomspace(highest, lowest, 20))
    best = max(model.bandwidth_trace_, key=lambda pair: pair[1])[0]
    assert model.bandwidth_ == pytest.approx(best)


def test_rows_of_a_file_give_what_an_array_gives(cloud, tmp_path):
    labels = np.where(np.arange(len(cloud)) < 40, (cloud[:, 0] > 0).astype(int), -1)
    np.save(tmp_path / "rows.npy", cloud)
    options = {"n_landmarks": 60, "n_eigenpairs": 20, "bandwidth": 0.2, "random_state": 0}
    held = GLGPClassifier(**options).fit(cloud, labels)
    filed = GLGPClassifier(**options).fit(np.load(tmp_path / "rows.npy", mmap_mode="r"), labels)
    np.testing.assert_allclose(filed.predict_proba(cloud), held.predict_proba(cloud), atol=1e-8)


def test_clone_keeps_parameters_and_bad_ones_are_refused(cloud):
    model = clone(GLGPRegressor(n_landmarks=10, n_neighbors=4, mean="zero"))
    assert (model.n_landmarks, model.n_neighbors, model.mean) == (10, 4, "zero")
    with pytest.raises(ValueError, match="n_landmarks=0"):
        GLGPRegressor(n_landmarks=0).fit(cloud, cloud[:, 0])
    with pytest.raises(ValueError, match="n_neighbors=1"):
        GLGPRegressor(n_neighbors=1).fit(cloud, cloud[:, 0])


def test_neighbours_of_landmarks_take_memory_for_one_tile(monkeypatch):
    """70,000 landmarks took 24 GB: 64 rows of all distances were kept for the sake of one column."""
    monkeypatch.setattr(landmark_walk, "BLOCK_ENTRIES", 1)  # tiles of 64 rows
    X = np.random.default_rng(0).standard_normal((2000, 2))
    join_to_landmarks(X[:200], X[:200], 5)  # what is loaded once
    tracemalloc.start()
    join_to_landmarks(X, X, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12e6  # all distances are 32 MB
