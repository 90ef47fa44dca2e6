"""Every estimator on every geometry: whatever is above the eigenbasis does not know what is below it."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from scipy import sparse
from scipy.spatial import ConvexHull
from scipy.spatial.distance import cdist
from sklearn.base import clone

import flgp
from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures, plotting
from flgp.geometry import Circle, Graph, Interval, Mesh, Product, Sphere

matplotlib.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore:.*connected part")


def icosphere(subdivisions=3):
    """Vertices on the unit sphere and the triangles between them."""
    golden = (1 + 5**0.5) / 2
    corners = [(0, a, b * golden) for a in (-1, 1) for b in (-1, 1)]
    points = [np.roll(corner, shift) for corner in corners for shift in range(3)]
    vertices = np.array(points) / np.linalg.norm(points[0])
    faces = ConvexHull(vertices).simplices
    for _ in range(subdivisions):
        middles: dict[tuple[int, int], int] = {}
        extended, smaller = list(vertices), []

        def middle(a, b, middles=middles, extended=extended):
            key = (min(a, b), max(a, b))
            if key not in middles:
                point = extended[a] + extended[b]
                middles[key] = len(extended)
                extended.append(point / np.linalg.norm(point))
            return middles[key]

        for a, b, c in faces.tolist():
            ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
            smaller += [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        vertices, faces = np.array(extended), np.array(smaller)
    return vertices, faces


def places(name, n=400, seed=0):
    """A geometry, n rows on it, and a smooth function there."""
    rng = np.random.default_rng(seed)
    if name == "sphere":
        X = np.column_stack([np.degrees(np.arcsin(rng.uniform(-1, 1, n))), rng.uniform(-180, 180, n)])
        return (
            Sphere(),
            X,
            np.sin(np.radians(X[:, 0]) * 2) + np.cos(np.radians(X[:, 1])) * np.cos(np.radians(X[:, 0])),
        )
    if name == "circle":
        X = rng.uniform(0, 24, (n, 1))
        return Circle(24.0), X, np.sin(2 * np.pi * X[:, 0] / 24) + np.cos(6 * np.pi * X[:, 0] / 24)
    if name == "interval":
        X = rng.uniform(-2, 5, (n, 1))
        return Interval(), X, np.sin(2 * X[:, 0])
    if name == "product":
        X = np.column_stack([rng.uniform(0, 24, n), rng.uniform(0, 1, n)])
        return Product(Circle(2 * np.pi), Interval()), X, np.sin(X[:, 0]) * (1 + X[:, 1])
    if name == "graph":
        side = 20
        line = sparse.diags_array([np.ones(side - 1), np.ones(side - 1)], offsets=[-1, 1])
        A = sparse.kron(line, sparse.eye_array(side)) + sparse.kron(sparse.eye_array(side), line)
        node = np.arange(n) % side**2
        return Graph(A), node[:, None].astype(float), np.sin(node // side / 3) + np.cos(node % side / 4)
    vertices, faces = icosphere(2)
    X = rng.standard_normal((n, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return Mesh(vertices, faces), X, X[:, 0] + 2 * X[:, 1] * X[:, 2]


GEOMETRIES = ["sphere", "circle", "interval", "product", "graph", "mesh"]
OPTIONS = {"n_eigenpairs": 60, "random_state": 0}


@pytest.fixture(params=GEOMETRIES)
def case(request):
    return places(request.param)


def test_functions_of_the_prior_are_learned_with_honest_intervals(case):
    geometry, X, _ = case
    basis = HeatKernelFeatures(geometry=geometry, **OPTIONS).fit(X)
    basis.set_params(diffusion_time=2.0 / basis.eigenvalues_[12])
    features = basis.fit(X).transform(X)
    inside = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        f = features @ rng.standard_normal(features.shape[1])
        known = rng.permutation(len(X)) < 120
        y = np.where(known, f + 0.1 * f.std() * rng.standard_normal(len(X)), np.nan)
        model = FLGPRegressor(geometry=geometry, residual=None, **OPTIONS).fit(X, y)
        mean, variance = model.latent_mean_and_variance(X)
        assert np.sqrt(np.mean((mean - f)[~known] ** 2)) < 0.2 * f.std()
        inside.append(np.mean(np.abs(mean - f)[~known] < 1.645 * np.sqrt(variance[~known])))
        np.testing.assert_allclose(model.transduction_, model.predict(X))
    assert 0.84 < np.mean(inside) < 0.96  # 90 % intervals


def test_files_updates_and_copies(case, tmp_path):
    geometry, X, f = case
    y = np.where(np.arange(len(X)) % 4 == 0, f, np.nan)
    model = FLGPRegressor(geometry=geometry, residual=None, **OPTIONS).fit(X, y)
    flgp.save(model, tmp_path / "m.flgp")
    loaded = flgp.load(tmp_path / "m.flgp")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.log_marginal_likelihood() == pytest.approx(model.log_marginal_likelihood_value_)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    before = model.latent_mean_and_variance(X[1::4])[1].mean()
    model.update(X[1::4], f[1::4], relearn=False)
    loaded.update(X[1::4], f[1::4], relearn=False)
    assert model.latent_mean_and_variance(X[1::4])[1].mean() < before
    np.testing.assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-8)


@pytest.mark.parametrize(
    "options",
    [
        {"likelihood": "poisson"},
        {"likelihood": "student_t"},
        {"hyperparameters": "integrate"},
        {"kernel": "matern", "time_prior": "flat"},
        {"likelihood": "poisson", "inference": "gibbs", "n_chains": 2, "n_draws": 40, "n_warmup": 20},
    ],
    ids=["poisson", "student_t", "integrate", "matern", "chains"],
)
@pytest.mark.filterwarnings("ignore:The chains")
def test_likelihoods_and_inferences(case, options):
    geometry, X, f = case
    counts = np.random.default_rng(0).poisson(np.exp(f)).astype(float)
    target = counts if options.get("likelihood") == "poisson" else f
    y = np.where(np.arange(len(X)) % 3 == 0, target, np.nan)
    model = FLGPRegressor(geometry=geometry, residual=None, **options, **OPTIONS).fit(X, y)
    mean = model.latent_mean_and_variance(X)[0]
    assert np.corrcoef(mean, f)[0, 1] > 0.7
    assert np.isfinite(model.predict_interval(X[:20])).all()
    assert model.sample_y(X[:6], 3).shape == (6, 3)


def test_classes(case):
    geometry, X, f = case
    truth = np.digitize(f, np.quantile(f, [0.33, 0.67]))
    y = np.where(np.arange(len(X)) % 4 == 0, truth, -1)
    for options in ({}, {"multi_class": "coupled"}):
        model = FLGPClassifier(geometry=geometry, **options, **OPTIONS).fit(X, y)
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert np.mean(model.predict(X) == truth) > 0.75


@pytest.mark.parametrize("name", [name for name in GEOMETRIES if name != "graph"])
def test_a_local_term_measures_along_the_geometry(name):
    geometry, X, f = places(name)
    points = geometry.fit(X, np.random.default_rng(0)).coordinates(X)
    K = 0.3 * np.exp(-cdist(points, points) / (0.15 * np.ptp(points))) + 1e-9 * np.eye(len(X))
    rough = f + np.linalg.cholesky(K) @ np.random.default_rng(0).standard_normal(len(X))
    y = np.where(np.arange(len(X)) % 4 > 0, rough, np.nan)
    options = {"geometry": geometry, "residual_kernel": "matern12", "n_eigenpairs": 9, "random_state": 0}
    error = {}
    for residual in ("local", None):
        model = FLGPRegressor(residual=residual, **options).fit(X, y)
        error[residual] = np.sqrt(np.mean((model.predict(X) - rough)[::4] ** 2))
    assert error["local"] < 0.85 * error[None]


def test_a_sphere_has_no_seam():
    """Points on both sides of the date line, or around a pole, are neighbours: also for the local term."""
    geometry, X, f = places("sphere")
    y = np.where(np.arange(len(X)) % 2 == 0, f, np.nan)
    model = FLGPRegressor(geometry=geometry, residual="local", residual_kernel="matern32", **OPTIONS).fit(
        X, y
    )
    seam = np.array([[10.0, 179.999], [10.0, -179.999], [89.999, 0.0], [89.999, 180.0]])
    for term in (None, "manifold", "local"):
        K = model.covariance(seam, term=term)
        assert K[0, 1] == pytest.approx(K[0, 0], rel=1e-3)
        assert K[2, 3] == pytest.approx(K[2, 2], rel=1e-3)
    np.testing.assert_allclose(*model.predict(seam).reshape(2, 2).T, atol=0.01)


def test_covariates_and_groups_beside_a_known_geometry(case):
    geometry, X, f = case
    rng = np.random.default_rng(0)
    covariate, group = rng.standard_normal(len(X)), rng.integers(0, 5, len(X))
    wide = np.column_stack([X, covariate, group])
    y = np.where(np.arange(len(X)) % 2 == 0, f + covariate + 0.5 * group, np.nan)
    own = list(range(X.shape[1]))
    model = FLGPRegressor(
        geometry=geometry,
        geometry_columns=own,
        linear=[own[-1] + 1],
        groups=[own[-1] + 2],
        residual=None,
        **OPTIONS,
    ).fit(wide, y)
    _, parts = model.predict(wide, return_parts=True)
    assert list(parts.terms) == ["constant", "manifold", "linear", "groups"]
    assert np.corrcoef(parts["linear"].mean, covariate)[0, 1] > 0.999
    assert np.corrcoef(parts["groups"].mean, group)[0, 1] > 0.99
    assert np.corrcoef(parts["manifold"].mean, f)[0, 1] > 0.95


def test_eigenfeatures_and_figures(case):
    geometry, X, _ = case
    model = HeatKernelFeatures(geometry=geometry, **OPTIONS).fit(X)
    features = model.transform(X[:50])
    np.testing.assert_allclose(features @ features.T, model.covariance(X[:50]), atol=1e-10)
    figure, axes = pyplot.subplots(2)
    assert plotting.plot_spectrum(model, ax=axes[0]).get_title() == "spectrum"
    plotting.plot_covariance(model, X, 0, ax=axes[1])
    pyplot.close(figure)


@pytest.mark.parametrize("name", ["sphere", "interval", "mesh"])
def test_off_the_geometry_the_prior_is_back(name):
    geometry, X, f = places(name)
    vectors = name == "sphere"
    if vectors:
        a, b = np.radians(X).T
        X = np.column_stack([np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)])
    model = FLGPRegressor(geometry=geometry, residual=None, **OPTIONS).fit(X, f)
    far = 30.0 * X[:3] if name != "interval" else np.array([[-100.0], [90.0], [1e6]])
    prior = model.covariance(far, term="manifold")
    _, parts = model.predict(far, return_parts=True)
    np.testing.assert_allclose(parts["manifold"].mean, 0.0, atol=1e-6)
    np.testing.assert_allclose(parts["manifold"].variance, np.diag(prior), rtol=1e-6)
    assert (model.distance_to_anchors(far) > 3).all()
    assert (model.distance_to_anchors(X) <= 1).all()


def test_walking_covariates_needs_every_node():
    geometry, X, f = places("graph")
    wide = np.column_stack([X, np.random.default_rng(0).standard_normal(len(X))])
    y = np.where(np.arange(len(X)) % 2 == 0, f, np.nan)
    model = FLGPRegressor(geometry=geometry, linear="all", linear_steps=2, **OPTIONS).fit(wide, y)
    np.testing.assert_array_equal(model._roles_.linear, [1])
    # The walked covariate is the average over each node's neighbourhood, twice.
    A = geometry.adjacency.toarray() + np.eye(len(X))
    walked = np.linalg.matrix_power(A / A.sum(axis=1, keepdims=True), 2) @ wide[:, 1]
    features = model._process_.layers[0].parts[1].features(model._inputs(wide))[:, 0]
    np.testing.assert_allclose(np.corrcoef(features, walked)[0, 1], 1.0)
    with pytest.raises(ValueError, match="nodes are not among the rows"):
        FLGPRegressor(geometry=geometry, linear="all", linear_steps=2, **OPTIONS).fit(wide[:100], y[:100])


def test_labels_choose_how_far_covariates_walk():
    geometry, X, _ = places("graph")
    rng = np.random.default_rng(0)
    wide = np.column_stack([X, rng.standard_normal((len(X), 8))])
    A = geometry.adjacency.toarray() + np.eye(len(X))
    walk = A / A.sum(axis=1, keepdims=True)
    for steps in (0, 2):
        signal = np.linalg.matrix_power(walk, steps) @ wide[:, 1:] @ rng.standard_normal(8)
        y = np.where(rng.random(len(X)) < 0.5, signal / signal.std(), np.nan)
        model = FLGPRegressor(geometry=geometry, **OPTIONS, geometry_columns=[0]).fit(wide, y)
        assert model.linear_steps_ == steps
        given = FLGPRegressor(geometry=geometry, **OPTIONS, geometry_columns=[0], linear_steps=steps)
        np.testing.assert_allclose(given.fit(wide, y).predict(wide), model.predict(wide), rtol=1e-6)
    # Two rows of a node may differ in covariates of rows; those of nodes may not.
    twice, labels = np.vstack([wide, wide[:1] + np.r_[0, np.ones(8)]]), np.append(y, np.nan)
    assert (
        FLGPRegressor(geometry=geometry, geometry_columns=[0], **OPTIONS).fit(twice, labels).linear_steps_
        == 0
    )
    with pytest.raises(ValueError, match="rows of node 0 differ"):
        FLGPRegressor(geometry=geometry, geometry_columns=[0], linear_steps=1, **OPTIONS).fit(twice, labels)


@pytest.mark.parametrize("geometry", [Circle(24.0), None])
def test_columns_that_nothing_else_uses_are_covariates(geometry):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 24, 200), rng.standard_normal(200), rng.standard_normal(200)])
    y = np.sin(2 * np.pi * X[:, 0] / 24) + 2.0 * X[:, 1]
    y[100:] = np.nan
    options = {"geometry": geometry, "geometry_columns": [0], "residual": None, **OPTIONS}
    model = FLGPRegressor(**options).fit(X, y)
    named = FLGPRegressor(linear=[1, 2], **options).fit(X, y)
    np.testing.assert_allclose(model.predict(X), named.predict(X), rtol=1e-6)
    assert model.term_shares_["linear"] > 0.7
    # A column with a use of its own is none.
    alone = FLGPRegressor(residual_columns=[1], **options).fit(X, y)
    np.testing.assert_array_equal(alone._roles_.linear, [2])
    without = FLGPRegressor(linear=None, **options).fit(X, y)
    assert "linear" not in without.term_shares_


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FLGPRegressor(geometry=Sphere()).fit(np.array([[95.0, 0.0], [0.0, 0.0]]), [0.0, 1.0]), "90"),
        (lambda: FLGPRegressor(geometry=Sphere()).fit(np.zeros((3, 5)), [0.0, 1.0, 2.0]), "geometry_columns"),
        (lambda: FLGPRegressor(geometry=Circle()).fit(np.zeros((3, 0)), [0.0, 1.0, 2.0]), "0 feature"),
        (lambda: FLGPRegressor(geometry=Graph(np.eye(3))).fit([[0.0], [7.0]], [0.0, 1.0]), "node"),
        (
            lambda: FLGPRegressor(geometry=Graph(np.ones((3, 3))), residual="local").fit(
                [[0.0], [1.0]], [0.0, 1.0]
            ),
            "residual_columns",
        ),
    ],
)
def test_wrong_rows_leave_nothing_half_fitted(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Circle("day"), "period='day' is not a positive number"),
        (lambda: Circle(True), "not a positive number"),
        (lambda: Interval("low", 3), "low='low' is not a finite number"),
        (lambda: Graph("edges"), "must be an array or a sparse matrix"),
        (lambda: FLGPRegressor(geometry=Sphere).fit(np.zeros((3, 2)), [0.0, 1.0, 2.0]), "is not a geometry"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_shares_of_the_terms_follow_new_labels():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 24, 200), rng.standard_normal(200)])
    y = np.sin(2 * np.pi * X[:, 0] / 24)
    model = FLGPRegressor(geometry=Circle(24.0), geometry_columns=[0], linear=[1], residual=None, **OPTIONS)
    model.fit(X[:100], y[:100])
    assert model.term_shares_["manifold"] > 0.9
    model.update(X[100:], 5.0 * X[100:, 1], replace=True)
    assert model.term_shares_["linear"] > 0.9
