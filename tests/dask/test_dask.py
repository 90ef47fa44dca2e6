"""The estimators on Dask: NumPy's numbers, lazy predictions, and errors that name the chunk."""

from __future__ import annotations

import numpy as np
import pytest

from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def rings():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, 3000)
    kind = np.arange(3000) % 2
    X = ((1.0 + kind) * np.stack([np.cos(angle), np.sin(angle)])).T + 0.01 * rng.standard_normal((3000, 2))
    y = np.full(3000, -1)
    y[::100] = kind[::100]
    y[1::100] = kind[1::100]
    return X, y


def settings(X, **more):
    return {"anchors": X[::41], "n_eigenpairs": 20} | more


@pytest.mark.parametrize("chunks", [3000, 1000, (1, 700, 1299, 1000), 250])
@pytest.mark.parametrize("base_kernel", ["lae", "se"])
def test_the_numbers_are_numpys(rings, chunks, base_kernel):
    X, y = rings
    expected = FLGPClassifier(**settings(X, base_kernel=base_kernel)).fit(X, y)
    lazy = da.from_array(X, chunks=(chunks, 2))
    model = FLGPClassifier(**settings(X, base_kernel=base_kernel)).fit(lazy, y)
    p = model.predict_proba(lazy)
    assert isinstance(p, da.Array)
    assert p.chunks[0] == lazy.chunks[0]
    np.testing.assert_allclose(p.compute(), expected.predict_proba(X), atol=1e-8)
    np.testing.assert_array_equal(expected.predict(X), np.arange(len(X)) % 2)
    assert not hasattr(model, "transduction_")
    np.testing.assert_array_equal(model.predict(lazy).compute(), expected.predict(X))
    # and a model fitted on the cluster serves arrays in memory
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-8)


# With a residual the evidence has a nearly flat direction, along which the search for its maximum turns
# rounding into a visible difference.
@pytest.mark.parametrize(("residual", "tolerance"), [(None, 1e-8), ("local", 1e-5)])
def test_regression_and_labels_on_the_cluster(rings, residual, tolerance):
    X, y = rings
    # Noise, so that the evidence has a definite maximum: without any it is flat towards σ² = 0.
    noise = 0.2 * np.random.default_rng(0).standard_normal(len(X))
    target = np.where(y < 0, np.nan, np.sin(6 * X[:, 0]) + noise)
    lazy, lazy_y = da.from_array(X, chunks=(700, 2)), da.from_array(target, chunks=900)
    expected = FLGPRegressor(residual=residual, **settings(X)).fit(X, target)
    model = FLGPRegressor(residual=residual, **settings(X)).fit(lazy, lazy_y)
    mean, std = model.predict(lazy, return_std=True)
    assert std.chunks == mean.chunks == (lazy.chunks[0],)
    wanted = expected.predict(X, return_std=True)
    np.testing.assert_allclose(mean.compute(), wanted[0], atol=tolerance)
    np.testing.assert_allclose(std.compute(), wanted[1], atol=tolerance)
    assert model.score(lazy, target) == pytest.approx(expected.score(X, target))


def test_exposures_are_for_rows_in_memory(rings):
    X, y = rings
    model = FLGPRegressor(likelihood="poisson", residual=None, **settings(X))
    model.fit(X, np.where(y < 0, np.nan, 1.0 + y))
    size = np.full(len(X), 2.0)
    with pytest.raises(ValueError, match="exposure cannot be given for rows on a cluster"):
        model.predict(da.from_array(X, chunks=(700, 2)), exposure=size)
    np.testing.assert_allclose(model.predict(X, exposure=size), 2 * model.predict(X))


def test_features_on_the_cluster(rings):
    X, _ = rings
    lazy = da.from_array(X, chunks=(700, 2))
    features = HeatKernelFeatures(**settings(X)).fit(lazy).transform(lazy)
    plain = HeatKernelFeatures(**settings(X)).fit_transform(X)
    np.testing.assert_allclose(features.compute() @ features.T.compute(), plain @ plain.T, atol=1e-8)


@pytest.mark.parametrize("kind", ["int", "float", "text"])
def test_only_labelled_entries_travel(rings, kind):
    X, y = rings
    labels = {"int": y, "float": np.where(y < 0, np.nan, y), "text": np.array(["-", "a", "b"])[y + 1]}[kind]
    unlabeled = "-" if kind == "text" else -1
    expected = FLGPClassifier(unlabeled=unlabeled, **settings(X)).fit(X, labels)
    model = FLGPClassifier(unlabeled=unlabeled, **settings(X))
    model.fit(da.from_array(X, chunks=(700, 2)), da.from_array(labels, chunks=(400,)))
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    np.testing.assert_array_equal(model.classes_, expected.classes_)


def test_data_frames(rings):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    X, y = rings
    frame = pd.DataFrame(X, columns=["a", "b"])
    lazy = dd.from_pandas(frame, npartitions=4)
    model = FLGPClassifier(**settings(X)).fit(lazy, y)
    assert list(model.feature_names_in_) == ["a", "b"]
    expected = FLGPClassifier(**settings(X)).fit(frame, y)
    np.testing.assert_allclose(model.predict_proba(lazy).compute(), expected.predict_proba(frame), atol=1e-8)


def test_unlabelled_rows_on_the_cluster(rings):
    X, y = rings
    known = y >= 0
    expected = FLGPClassifier(**settings(X)).fit(X[known], y[known], X[~known])
    model = FLGPClassifier(**settings(X)).fit(X[known], y[known], da.from_array(X[~known], chunks=(800, 2)))
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-8)


def test_anchors_found_on_the_cluster_are_those_of_the_array(rings):
    X, y = rings
    lazy = da.from_array(X, chunks=(700, 2))
    fit = {"n_anchors": 60, "n_eigenpairs": 20, "random_state": 0}
    model, expected = FLGPClassifier(**fit).fit(lazy, y), FLGPClassifier(**fit).fit(X, y)
    np.testing.assert_allclose(model.anchors_, expected.anchors_, atol=1e-12)


# -- bad input -----------------------------------------------------------------------------------------


def test_several_sets_of_anchors(rings):
    X, y = rings
    model = FLGPClassifier(n_anchors=80, n_anchor_sets=2, n_eigenpairs=20, random_state=0)
    expected = model.fit(X, y).predict_proba(X)
    lazy = da.from_array(X, chunks=(700, 2))
    np.testing.assert_allclose(model.fit(lazy, y).predict_proba(lazy).compute(), expected, atol=1e-8)


def test_anchors_that_are_dropped(rings):
    X, y = rings
    anchors = np.concatenate([X[::41], 1.4 * X[1::150], [[9.0, 9.0]]])  # between and outside the rings
    expected = FLGPClassifier(**settings(X, anchors=anchors)).fit(X, y)
    assert len(expected.anchors_) < len(anchors)
    model = FLGPClassifier(**settings(X, anchors=anchors)).fit(da.from_array(X, chunks=(700, 2)), y)
    np.testing.assert_array_equal(model.anchors_, expected.anchors_)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-8)


def test_column_chunks_are_joined_with_one_note(rings):
    X, y = rings
    lazy = da.from_array(X, chunks=(1000, 1))
    with pytest.warns(UserWarning, match="chunked along its columns") as notes:
        model = FLGPClassifier(**settings(X)).fit(lazy, y)
    assert len(notes) == 1
    expected = FLGPClassifier(**settings(X)).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-8)


def test_unknown_lengths_are_measured_with_one_note(rings):
    X, y = rings
    lazy = da.from_array(X, chunks=(1000, 2))
    lazy = lazy[lazy[:, 0] > -10]
    assert np.isnan(lazy.shape[0])
    with pytest.warns(UserWarning, match="unknown lengths") as notes:
        model = FLGPClassifier(**settings(X)).fit(lazy, y)
    assert len(notes) == 1
    p = model.predict_proba(lazy)
    assert np.isnan(p.shape[0])
    np.testing.assert_allclose(p.compute(), model.predict_proba(X), atol=1e-12)


def test_nan_names_the_chunk(rings):
    X, y = rings
    model = FLGPClassifier(**settings(X)).fit(X, y)
    bad = X.copy()
    bad[1234, 0] = np.nan
    lazy = da.from_array(bad, chunks=(500, 2))
    place = r"chunk 2 of X \(rows 1,000 to 1,499\).*NaN or infinity \(first in row 1,234\)"
    with pytest.raises(ValueError, match=place):
        model.predict(lazy).compute()
    with pytest.raises(ValueError, match=place):
        model.fit(lazy, y)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("change", ["rows", "values"])
def test_chunks_that_change_between_passes(rings, change):
    X, y = rings
    reads = []

    def load(block, block_info=None):
        start = block_info[0]["array-location"][0][0] if block_info else 0
        reads.append(start)
        if start == 500 and reads.count(500) > 1:
            return block[:-1] if change == "rows" else block + 1.0
        return block

    lazy = da.from_array(X, chunks=(500, 2)).map_blocks(load, dtype=float, meta=np.empty((0, 2)))
    with pytest.raises(ValueError, match=r"chunk 1 of X \(rows 500 to 999\) changed between two passes"):
        FLGPClassifier(n_anchors=60, n_eigenpairs=20, random_state=0).fit(lazy, y)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("shape", ["one column", "one axis", "three columns"])
def test_chunks_of_another_width_are_refused_in_every_pass(rings, shape, late):
    """One column would be answered by broadcasting."""
    X, y = rings
    reads = []

    def load(block, block_info=None):
        start = block_info[0]["array-location"][0][0] if block_info else 0
        reads.append(start)
        if start != 500 or (late and reads.count(500) == 1):
            return block
        return {"one column": block[:, :1], "one axis": block[:, 0], "three columns": block[:, [0, 1, 1]]}[
            shape
        ]

    lazy = da.from_array(X, chunks=(500, 2)).map_blocks(load, dtype=float, meta=np.empty((0, 2)))
    place = r"chunk 1 of X \(rows 500 to 999\) has the shape .* but X has 2 columns"
    with pytest.raises(ValueError, match=place):
        FLGPClassifier(**settings(X)).fit(lazy, y)
    if not late:
        model = FLGPClassifier(**settings(X)).fit(X, y)
        for answer in (model.predict, model.predict_proba, model.distance_to_anchors):
            with pytest.raises(ValueError, match=place):
                answer(lazy).compute()


def test_shapes_and_types_are_checked(rings):
    X, y = rings
    model = FLGPClassifier(**settings(X)).fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(da.ones((10, 3)))
    with pytest.raises(ValueError, match="2D"):
        model.predict(da.ones(10))
    with pytest.raises(ValueError, match="must be numeric"):
        model.predict(da.from_array(np.array([["a", "b"]])))
    with pytest.raises(ValueError, match="at least one row"):
        model.predict(da.ones((0, 2)))
    with pytest.raises(ValueError, match="rows"):
        model.fit(da.from_array(X, chunks=500), y[:-1])
