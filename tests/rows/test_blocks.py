"""Rows from arrays, files and stacks: the same blocks, the same model, and errors that name the rows."""

from __future__ import annotations

import os

import numpy as np
import pytest

from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures
from flgp._threads import threads
from flgp.geometry.point_cloud import cloud
from flgp.rows.blocks import Blocks, StackedRows, map_rows, row_blocks
from flgp.rows.sources import StreamedRows, as_source

SETTINGS = {"n_anchors": 60, "n_eigenpairs": 20, "random_state": 0, "n_jobs": 2}


@pytest.fixture
def rings():
    """Two rings, 4000 points in single precision, 20 of them labelled."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, 4000)
    kind = np.arange(4000) % 2
    X = ((1.0 + kind) * np.stack([np.cos(angle), np.sin(angle)])).T.astype(np.float32)
    y = np.full(4000, -1)
    y[:20] = kind[:20]
    return X, y


def mapped(X, path):
    np.save(path, X)
    return np.load(path, mmap_mode="r")


# -- blocks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("keep", [True, False])
def test_map_and_reduce_are_those_of_the_whole(rng, n_threads, keep):
    X = rng.standard_normal((1000, 3))
    with threads(n_threads):
        squares = row_blocks(X, block_rows=77).map(np.square, keep=keep)
        np.testing.assert_allclose(squares.reduce(lambda b: b.sum(axis=0)), (X**2).sum(axis=0))
    assert squares.starts == list(range(0, 1000, 77))


def test_blocks_that_are_not_kept_are_made_again():
    made = []
    blocks = Blocks([lambda i=i: made.append(i) or i for i in range(3)])
    lazy = blocks.map(lambda value: value + 1, keep=False)
    assert made == []
    assert lazy.reduce(int) == 6
    assert lazy.reduce(int) == 6
    assert made == [0, 1, 2, 0, 1, 2]


def test_map_at_gives_the_first_row_of_each_block(rng):
    X = rng.standard_normal((100, 1))
    picked = row_blocks(X, block_rows=33).map_at(lambda block, start: block[-start % 7 :: 7])
    np.testing.assert_array_equal(np.concatenate(picked.reduce(lambda part: [part])), X[::7])


def test_map_rows_puts_tuples_together(rng):
    X = rng.standard_normal((1000, 2))
    with threads(2):
        total, double = map_rows(X, lambda b: (b.sum(axis=1), 2 * b), block_rows=64)
    np.testing.assert_allclose(total, X.sum(axis=1))
    np.testing.assert_allclose(double, 2 * X)


def test_map_rows_hands_each_block_its_part_of_what_is_beside(rng):
    X, beside = rng.standard_normal((1000, 2)), np.arange(1000.0)
    with threads(2):
        found = map_rows(X, lambda b, own: b[:, 0] * own, block_rows=64, beside=[beside])
    np.testing.assert_array_equal(found, X[:, 0] * beside)


def test_a_failing_block_stops_the_others(rng):
    started = []

    def fail(block):
        started.append(len(block))
        raise MemoryError

    with threads(2), pytest.raises(MemoryError):
        row_blocks(rng.standard_normal((10_000, 1)), block_rows=10).reduce(fail)
    assert len(started) < 20


@pytest.mark.parametrize("rows", [slice(0, 5), slice(3, 9), slice(6, 12), slice(None)])
def test_stacked_rows_are_the_concatenation(rng, rows):
    top, bottom = rng.standard_normal((6, 2)), rng.standard_normal((7, 2)).astype(np.float32)
    both = np.concatenate([top, bottom])
    stack = StackedRows(top, bottom)
    np.testing.assert_array_equal(stack[rows], both[rows])
    np.testing.assert_array_equal(stack[np.array([12, 0, 6])], both[[12, 0, 6]])


# -- files ---------------------------------------------------------------------------------------------


def open_memmap(X, folder):
    return mapped(X, folder / "X.npy")


def open_hdf5(X, folder):
    h5py = pytest.importorskip("h5py")
    file = h5py.File(folder / "X.h5", "w")
    return file.create_dataset("X", data=X, chunks=(300, 2), compression="gzip")


def open_zarr(X, folder):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(store=str(folder / "X.zarr"), shape=X.shape, chunks=(700, 2), dtype=X.dtype)
    array[:] = X
    return array


def open_table(X, folder):
    pa = pytest.importorskip("pyarrow")
    return pa.table({"a": X[:, 0], "b": X[:, 1]})


def open_parquet(X, folder):
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(open_table(X, folder), folder / "X.parquet", row_group_size=900)
    return pq.ParquetFile(folder / "X.parquet")


def open_dataset(X, folder):
    dataset = pytest.importorskip("pyarrow.dataset")
    open_parquet(X, folder)
    return dataset.dataset(folder / "X.parquet")


KINDS = [open_memmap, open_hdf5, open_zarr, open_table, open_parquet, open_dataset]


@pytest.mark.parametrize("opened", KINDS)
def test_sources_give_the_rows_of_the_array(opened, rings, tmp_path, monkeypatch):
    monkeypatch.setattr("flgp.rows.sources.BLOCK_ROWS", 1000)
    X, _ = rings
    source = as_source(opened(X, tmp_path))
    assert source.shape == X.shape
    assert source.dtype == np.float32
    np.testing.assert_array_equal(source[123:2345], X[123:2345])
    np.testing.assert_array_equal(source[np.array([3999, 5, 1700])], X[[3999, 5, 1700]])
    np.testing.assert_array_equal(np.asarray(source), X)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("opened", KINDS)
@pytest.mark.parametrize("pairs", [0, 10**9])
def test_a_file_gives_the_model_of_the_array(opened, pairs, rings, tmp_path, monkeypatch):
    monkeypatch.setattr(cloud, "CACHED_PAIRS", pairs)
    X, y = rings
    data = opened(X, tmp_path)
    expected = FLGPClassifier(**SETTINGS).fit(X, y)
    model = FLGPClassifier(**SETTINGS).fit(data, y)
    np.testing.assert_array_equal(model.predict_proba(data), expected.predict_proba(X))
    assert hasattr(model, "transduction_") == (pairs > 0)


def test_se_search_and_features_stream_too(rings, tmp_path, monkeypatch):
    monkeypatch.setattr(cloud, "CACHED_PAIRS", 0)
    X, y = rings
    data = open_memmap(X, tmp_path)
    target = np.where(y < 0, np.nan, y)
    expected = FLGPRegressor(base_kernel="se", **SETTINGS).fit(X, target)
    model = FLGPRegressor(base_kernel="se", **SETTINGS).fit(data, target)
    assert model.bandwidth_ == expected.bandwidth_
    for got, wanted in zip(model.predict(data, True), expected.predict(X, True), strict=True):
        np.testing.assert_array_equal(got, wanted)
    features = HeatKernelFeatures(**SETTINGS)
    np.testing.assert_array_equal(features.fit(data).transform(data), features.fit(X).transform(X))


def test_a_small_file_is_as_good_as_memory(rings, tmp_path):
    """joblib hands large arrays to its workers as mapped files: defaults must not depend on that."""
    X = rings[0][:600]
    y = np.full(600, np.nan)
    y[::5] = X[::5, 0]
    settings = SETTINGS | {"n_jobs": 1}
    model = FLGPRegressor(**settings).fit(open_memmap(X, tmp_path), y)
    expected = FLGPRegressor(**settings).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    np.testing.assert_array_equal(model.transduction_, expected.transduction_)


# One of them for the scale of the covariates.
@pytest.mark.parametrize(("base_kernel", "passes"), [("lae", 3), ("se", 5)])
def test_rows_are_read_in_few_passes(base_kernel, passes, rings, monkeypatch):
    monkeypatch.setattr(cloud, "CACHED_PAIRS", 0)
    monkeypatch.setattr(cloud, "_SEARCH_ROWS", 1000)
    X, y = rings
    read = []

    class Counted(mapped_like):
        def __getitem__(self, rows):
            read.append(rows.stop - rows.start)
            return super().__getitem__(rows)

    FLGPClassifier(base_kernel=base_kernel, **(SETTINGS | {"anchors": X[::51]})).fit(
        X[:20], y[:20], Counted(X)
    )
    assert sum(read) == passes * len(X)


def test_unlabelled_rows_may_be_the_file(rings, tmp_path, monkeypatch):
    monkeypatch.setattr(cloud, "CACHED_PAIRS", 0)
    X, y = rings
    rest = mapped(X[20:], tmp_path / "rest.npy")
    model = FLGPClassifier(**SETTINGS).fit(X[:20], y[:20], rest)
    expected = FLGPClassifier(**SETTINGS).fit(X[:20], y[:20], X[20:])
    np.testing.assert_array_equal(model.predict_proba(rest), expected.predict_proba(X[20:]))


def test_integers_are_converted_block_by_block(tmp_path):
    X = np.random.default_rng(0).integers(0, 50, (500, 2), dtype=np.int16)
    assert as_source(mapped(X, tmp_path / "X.npy"))[3:9].dtype == np.float64


# -- bad input -----------------------------------------------------------------------------------------


def assert_unfitted(model):
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_is_reported_with_its_rows(value, rings, tmp_path, monkeypatch):
    monkeypatch.setattr("flgp.rows.blocks.BLOCK_ROWS", 1000)
    X, y = rings
    model = FLGPClassifier(anchors=X[::51], n_eigenpairs=20).fit(X, y)
    X[2345, 1] = value
    data = open_memmap(X, tmp_path)
    with pytest.raises(ValueError, match=r"rows 0 to 3,999 of X: .*NaN or infinity \(first in row 2,345\)"):
        model.predict(data)
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.fit(data, y)
    assert_unfitted(model)


def test_large_finite_numbers_are_not_taken_for_infinity():
    source = StreamedRows(mapped_like(np.full((4, 1), 3e38, dtype=np.float32)))
    assert source[:].shape == (4, 1)


class mapped_like:
    """A minimal sliceable thing: no fancy indexing, no __array__."""

    def __init__(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        return self.X[rows]


def test_anything_sliceable_will_do(rings):
    X, y = rings
    model = FLGPClassifier(**SETTINGS).fit(mapped_like(X), y)
    np.testing.assert_array_equal(
        model.predict(mapped_like(X)), FLGPClassifier(**SETTINGS).fit(X, y).predict(X)
    )


def test_a_file_cut_short_leaves_no_model(rings, tmp_path):
    X, y = rings
    data = open_memmap(X, tmp_path)
    model = FLGPClassifier(**SETTINGS).fit(data, y)
    os.truncate(tmp_path / "X.npy", 20_000)
    with pytest.raises(ValueError, match="truncated"):
        model.predict(data)
    with pytest.raises(ValueError, match="truncated"):
        model.fit(data, y)
    assert_unfitted(model)


def test_a_source_that_gives_too_few_rows_is_cut_short(rings):
    X, y = rings
    short = mapped_like(X)
    short.X = X[:3000]
    with pytest.raises(ValueError, match="truncated"):
        FLGPClassifier(**SETTINGS).fit(short, y)


def test_rows_that_change_between_passes_are_an_error(rings, monkeypatch):
    monkeypatch.setattr(cloud, "CACHED_PAIRS", 0)
    X, y = rings

    class Changing(mapped_like):
        reads = 0

        def __getitem__(self, rows):
            self.reads += 1
            return self.X[rows] + np.float32(self.reads == 3)

    model = FLGPClassifier(anchors=X[::51], n_eigenpairs=20)
    with pytest.raises(ValueError, match="rows 0 to 3,999 of X changed between two passes"):
        model.fit(Changing(X), y)
    assert_unfitted(model)


def test_columns_must_be_those_of_the_fit(rings, tmp_path):
    X, y = rings
    model = FLGPClassifier(**SETTINGS).fit(X, y)
    with pytest.raises(ValueError, match="3 features, but FLGPClassifier is expecting 2"):
        model.predict(mapped(np.ones((10, 3)), tmp_path / "wide.npy"))


def test_text_and_wrong_shapes_are_refused(tmp_path):
    with pytest.raises(ValueError, match="must be numeric"):
        as_source(mapped_like(np.array([["a"], ["b"]])))
    with pytest.raises(ValueError, match="2D"):
        as_source(mapped_like(np.ones(4)))
    with pytest.raises(ValueError, match="at least one row"):
        as_source(mapped_like(np.ones((0, 3))))
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="column 'b' of X has type string"):
        as_source(pa.table({"a": [1.0], "b": ["x"]}))


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_leaves_no_half_fitted_model(error, rings, monkeypatch):
    X, y = rings
    model = FLGPClassifier(**SETTINGS).fit(X, y)

    class Interrupted(mapped_like):
        def __getitem__(self, rows):
            raise error

    with pytest.raises(error):
        model.fit(Interrupted(X), y)
    assert_unfitted(model)
    # And late, when the graph is there already.
    seen = []

    def interrupt(model, *_):
        seen.append(hasattr(model, "basis_"))
        raise error

    monkeypatch.setattr(FLGPClassifier, "_transduce", interrupt)
    broken = FLGPClassifier(**SETTINGS)
    with pytest.raises(error):
        broken.fit(X, y)
    assert seen == [True]
    assert_unfitted(broken)
