"""Model files: the same predictions after loading, and a clear refusal of everything else."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import struct
import time
from functools import partial

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_digits

import flgp
from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures, ModelFileError
from flgp.io import container, describe, fits, models
from flgp.io.compact import are_close, narrowed
from flgp.likelihoods import Gaussian, StudentT
from flgp.likelihoods.gaussian import Gaussian as GaussianBase
from flgp.tables import Schema, TableModel


def _cloud():
    X, angle = ring(240, noise=0.02)
    return X, angle


# Labels for each likelihood, as functions of the angle.
TARGETS = {
    "gaussian": np.sin,
    "poisson": lambda a: np.round(2 + np.sin(a)),
    "negative_binomial": lambda a: np.round(3 + 2 * np.sin(a)),
    "gamma": lambda a: np.exp(np.sin(a)),
    "exponential": lambda a: np.exp(np.sin(a)),
    "bernoulli": lambda a: (np.sin(a) > 0).astype(float),
    "probit": lambda a: (np.sin(a) > 0).astype(float),
    "binomial": lambda a: (np.sin(a) > 0).astype(float),
    "beta": lambda a: 0.5 + 0.4 * np.sin(a),
    "ordinal": lambda a: np.round(1 + np.sin(a)),
    "tweedie": lambda a: np.maximum(np.sin(a), 0.0),
    "zero_inflated_poisson": lambda a: np.round(2 + 2 * np.sin(a)),
    "zero_inflated_negative_binomial": lambda a: np.round(3 + 3 * np.sin(a)),
    "hurdle_poisson": lambda a: np.round(2 + 2 * np.sin(a)),
    "hurdle_negative_binomial": lambda a: np.round(3 + 3 * np.sin(a)),
    "asymmetric_laplace": np.sin,
    "heteroscedastic": lambda a: np.sin(a) + 0.1 * np.cos(40.0 * a) * (a > 3.0),
}


def _regressor(likelihood="gaussian", **given):
    X, angle = _cloud()
    y = np.full(len(X), np.nan)
    y[::8] = TARGETS[likelihood if isinstance(likelihood, str) else "gaussian"](angle)[::8]
    return FLGPRegressor(likelihood=likelihood, n_anchors=40, n_eigenpairs=20, random_state=0, **given).fit(
        X, y
    )


def _classifier(labels, **given):
    X, angle = _cloud()
    codes = np.floor(angle / (2 * np.pi) * len(labels)).astype(int) % len(labels)
    y = np.array([labels[k] for k in codes], dtype=object)
    y[np.arange(len(y)) % 6 != 0] = None
    return FLGPClassifier(n_anchors=40, n_eigenpairs=20, random_state=0, **given).fit(X, y)


def _two_targets():
    X, angle = _cloud()
    Y = np.column_stack([np.sin(angle), np.cos(angle)])
    Y[np.arange(len(Y)) % 5 != 0] = np.nan
    return FLGPRegressor(n_anchors=40, n_eigenpairs=20, random_state=0).fit(X, Y)


def _many_columns():
    X, angle = _cloud()
    wide = np.column_stack([X, 0.01 * np.random.default_rng(1).standard_normal((len(X), 18))])
    return FLGPRegressor(base_kernel="se", n_anchors=40, n_eigenpairs=20, random_state=0).fit(
        wide, np.sin(angle)
    )


def _given_everything():
    X, angle = _cloud()
    return FLGPRegressor(
        anchors=X[::7], diffusion_time=20.0, amplitude=1.0, noise_variance=0.1, kernel="matern", nu=2.5
    ).fit(X.astype(np.float32), np.cos(angle), exposure=None, noise_scale=np.ones(len(X)))


MODELS = {
    "zero mean": lambda: _regressor(mean="zero"),
    "given likelihood": lambda: _regressor(Gaussian(noise_variance=0.2)),
    "student_t object": lambda: _regressor(StudentT(degrees_of_freedom=7.0)),
    **{name: partial(_regressor, name) for name in TARGETS},
    "two classes": lambda: _classifier(["no", "yes"]),
    "laplace": lambda: _classifier([3, 7], inference="laplace"),
    "one class": lambda: _classifier(["only"]),
    "one vs rest": lambda: _classifier(["a", "böse", "c 漢字"]),
    "coupled": lambda: _classifier([10, 20, 30], multi_class="coupled"),
    "two targets": _two_targets,
    "residual": lambda: _regressor(residual="local", residual_columns={0: 1.0, 1: 2.0}),
    "integrated": lambda: _regressor(residual=None, hyperparameters="integrate"),
    "integrated bandwidth": lambda: _regressor(residual=None, hyperparameters="integrate", base_kernel="se"),
    "integrated residual": lambda: _regressor(residual="local", hyperparameters="integrate"),
    "integrated classes": lambda: _classifier(["a", "b", "c"], hyperparameters="integrate"),
    "integrated coupled": lambda: _classifier([1, 2, 3], hyperparameters="integrate", multi_class="coupled"),
    "chains": lambda: _classifier([3, 7], inference="gibbs", n_chains=2, n_draws=100, n_warmup=50),
    "paper's time": lambda: _regressor(time_prior="paper", residual=None),
    "no residual": lambda: _regressor(residual=None),
    "rational quadratic": lambda: _regressor(residual="local", residual_kernel="rational_quadratic"),
    "many columns": _many_columns,
    "all given": _given_everything,
    "random state": lambda: FLGPRegressor(random_state=np.random.RandomState(3)).fit(
        _cloud()[0], np.sin(_cloud()[1])
    ),
    "features": lambda: HeatKernelFeatures(n_anchors=40, n_eigenpairs=15, random_state=0).fit(_cloud()[0]),
}


def answers(model, X):
    """Everything a model says about points."""
    if hasattr(model, "transform"):
        return [model.transform(X), model.covariance(X[:20]), model.distance_to_anchors(X)]
    said = [*model.latent_mean_and_variance(X), model.sample_f(X[:9], 3), model.sample_y(X[:9], 3)]
    said += [model.predict(X), model.covariance(X[:20]), np.array(model.log_marginal_likelihood())]
    if hasattr(model, "predict_proba"):
        return [*said, model.predict_proba(X)]
    return [*said, model.predict_interval(X[:20]), *model.predict(X, return_std=True)]


def points(model):
    rng = np.random.default_rng(5)
    near = np.zeros((60, model.n_features_in_))
    near[:, :2] = ring(60, seed=9)[0]
    return np.concatenate([near, 3.0 * rng.standard_normal((10, model.n_features_in_))])


@pytest.fixture(scope="module")
def fitted():
    return {name: make() for name, make in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_answers_with_the_same_bits(fitted, name, tmp_path):
    model = fitted[name]
    before = pickle.dumps(model)
    flgp.save(model, tmp_path / "m.flgp")
    loaded = flgp.load(tmp_path / "m.flgp")
    assert type(loaded) is type(model)
    for old, new in zip(answers(model, points(model)), answers(loaded, points(model)), strict=True):
        assert old.dtype == new.dtype
        np.testing.assert_array_equal(old, new)
    for name, value in model.get_params().items():
        found = loaded.get_params()[name]
        if isinstance(value, np.random.RandomState):
            # Never its state (a forged one reads foreign memory), but a seed drawn from it: every load
            # continues in the same way, and saving leaves the generator as it was.
            again = flgp.load(tmp_path / "m.flgp").get_params()[name]
            assert isinstance(found, np.random.RandomState)
            assert found.randint(2**31) == again.randint(2**31)
            assert value.randint(2**31) == pickle.loads(before).get_params()[name].randint(2**31)
        else:
            assert type(found) is type(value)
            assert str(found) == str(value)
    assert set(vars(loaded)) == set(vars(model)) - {"_fitted_rows_"}  # their neighbours stay in memory


@pytest.mark.parametrize("name", MODELS)
def test_a_compact_file_answers_nearly_the_same_without_the_rows(fitted, name, tmp_path):
    model = fitted[name]
    flgp.save(model, tmp_path / "m.flgp", compact=True)
    loaded = flgp.load(tmp_path / "m.flgp")
    X = points(model)
    for old, new in zip(models._predictions(model, X), models._predictions(loaded, X), strict=True):
        np.testing.assert_allclose(new, old, atol=1e-4 * np.abs(old).max(), rtol=0)
    if name == "features":
        return
    assert "_labels_" not in vars(loaded)
    assert "transduction_" not in vars(loaded)
    for ask in (loaded.log_marginal_likelihood, lambda: loaded.update(X[:1], loaded.predict(X[:1]))):
        with pytest.raises(ValueError, match="does not hold the labels"):
            ask()
    # A compact file of a compact model holds the same numbers.
    flgp.save(loaded, tmp_path / "again.flgp", compact=True)
    again = flgp.load(tmp_path / "again.flgp")
    for old, new in zip(models._predictions(loaded, X), models._predictions(again, X), strict=True):
        np.testing.assert_allclose(new, old, atol=1e-4 * np.abs(old).max(), rtol=0)


def test_a_compact_file_of_ten_classes_is_small(tmp_path):
    data = load_digits()
    X, y = data.data / 16.0, np.where(np.arange(len(data.target)) % 30 == 0, data.target, -1)
    model = FLGPClassifier(random_state=0, diffusion_time=40.0).fit(X, y)
    flgp.save(model, tmp_path / "m.flgp", compact=True)
    assert (tmp_path / "m.flgp").stat().st_size < 5e6
    np.testing.assert_allclose(
        flgp.load(tmp_path / "m.flgp").predict_proba(X), model.predict_proba(X), atol=1e-4
    )
    # Rows of the fit are not in it.
    rows = {row.astype("<f4").tobytes() for row in X} | {row.tobytes() for row in X}
    content = (tmp_path / "m.flgp").read_bytes()
    anchors = {row.astype("<f4").tobytes() for row in model.anchors_}  # of a cluster of one row
    assert not any(row in content for row in rows - anchors)


def test_numbers_too_large_for_four_bytes_stay_as_they_are():
    values = np.full(300, 1e200)
    assert narrowed(values).dtype == np.float64
    assert narrowed(np.ones(300)).dtype == np.float32
    assert narrowed(np.ones(3)).dtype == np.float64
    assert are_close([np.ones(3)], [np.full(3, 1.00001)])
    assert not are_close([np.ones(3)], [np.full(3, 1.01)])


@pytest.mark.parametrize("name", ["residual", "coupled", "features", "chains", "integrated bandwidth"])
@pytest.mark.parametrize("how", ["pickle", "joblib"])
def test_pickle_and_joblib_work_too(fitted, name, how, tmp_path):
    model = fitted[name]
    if how == "pickle":
        loaded = pickle.loads(pickle.dumps(model))
    else:
        joblib.dump(model, tmp_path / "m.joblib")
        loaded = joblib.load(tmp_path / "m.joblib")
    for old, new in zip(answers(model, points(model)), answers(loaded, points(model)), strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_loaded_model_can_be_saved_to_the_same_bytes(fitted, tmp_path):
    flgp.save(fitted["coupled"], tmp_path / "a.flgp")
    flgp.save(flgp.load(tmp_path / "a.flgp"), tmp_path / "b.flgp")
    assert (tmp_path / "a.flgp").read_bytes() == (tmp_path / "b.flgp").read_bytes()


def test_column_names_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, angle = _cloud()
    frame = pandas.DataFrame(X, columns=["left", "right"])
    model = FLGPRegressor(random_state=0).fit(frame, angle)
    flgp.save(model, tmp_path / "m.flgp")
    loaded = flgp.load(tmp_path / "m.flgp")
    assert loaded.feature_names_in_.tolist() == ["left", "right"]
    assert loaded.feature_names_in_.dtype == object
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"left": "up"}))


def test_a_table_model_keeps_its_schema(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, angle = _cloud()
    frame = pandas.DataFrame({"u": X[:, 0], "v": X[:, 1], "k": np.where(X[:, 0] > 0, "p", "q"), "y": angle})
    schema = Schema.of(frame, "y")
    model = TableModel.fit(FLGPRegressor(random_state=0), frame, schema)
    flgp.save(model, tmp_path / "m.flgp")
    loaded = flgp.load(tmp_path / "m.flgp")
    assert loaded.schema == schema
    pandas.testing.assert_frame_equal(loaded.predict(frame), model.predict(frame))


def test_a_table_without_a_field_that_was_added_later_takes_its_default(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, angle = _cloud()
    frame = pandas.DataFrame({"u": X[:, 0], "k": np.where(X[:, 0] > 0, "p", "q"), "y": angle})
    model = TableModel.fit(FLGPRegressor(random_state=0), frame, Schema.of(frame, "y"))
    flgp.save(model, tmp_path / "m.flgp")

    def forget(header):
        for column in _every(header["table"], "column of a table"):
            del column["marked"]

    data = resealed((tmp_path / "m.flgp").read_bytes(), forget)
    (tmp_path / "old.flgp").write_bytes(data)
    flgp.load(tmp_path / "old.flgp")


def test_large_labelled_data_stay_out_and_say_so(monkeypatch, tmp_path, fitted):
    monkeypatch.setattr(models, "_MAX_EVIDENCE_BYTES", 10)
    model = fitted["gaussian"]
    flgp.save(model, tmp_path / "m.flgp")
    loaded = flgp.load(tmp_path / "m.flgp")
    np.testing.assert_array_equal(loaded.predict(points(model)), model.predict(points(model)))
    with pytest.raises(ValueError, match="from a file that left them out"):
        loaded.log_marginal_likelihood()


class Own(GaussianBase):
    """A likelihood of the user's own."""


def test_what_is_not_flgps_own_is_not_stored(tmp_path):
    model = _regressor(Own())
    with pytest.raises(ModelFileError, match=r"A Own cannot be stored.*joblib"):
        flgp.save(model, tmp_path / "m.flgp")
    assert os.listdir(tmp_path) == []
    with pytest.raises(ModelFileError, match="not dict"):
        flgp.save({}, tmp_path / "m.flgp")


def test_an_unfitted_model_is_not_stored(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        flgp.save(FLGPRegressor(), tmp_path / "m.flgp")


def test_a_failed_write_leaves_the_old_file(fitted, tmp_path, monkeypatch):
    path = tmp_path / "m.flgp"
    flgp.save(fitted["gaussian"], path)
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        flgp.save(fitted["coupled"], path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.flgp"]


def test_a_link_is_followed(fitted, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "m.flgp")
    flgp.save(fitted["gaussian"], tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    flgp.load(tmp_path / "m.flgp")


@pytest.fixture
def whole(fitted, tmp_path):
    flgp.save(fitted["no residual"], tmp_path / "m.flgp")
    return (tmp_path / "m.flgp").read_bytes()


def resealed(data, change, more=0):
    """The file with its header changed, and lengths and checksum made to fit."""

    def of_text(text):
        header = json.loads(text)
        return json.dumps(change(header) or header).encode()

    return sealed_text(data, of_text, more)


def sealed_text(data, change, more=0):
    """The same for the text of the header; the arrays are said to be `more` bytes longer than they are."""
    start = len(container.MAGIC)
    version, size, rest = struct.unpack_from("<HQQ", data, start)
    body = data[container.PREFIX_BYTES :]
    text = change(body[:size])
    fixed = struct.pack("<HQQ", version, len(text), rest + more)
    payload = body[size:]
    digest = hashlib.sha256(container.MAGIC + fixed + text + payload).digest()
    return container.MAGIC + fixed + digest + text + payload


def refused(tmp_path, data, match):
    path = tmp_path / "bad.flgp"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=match):
        flgp.load(path)


def test_damage_is_refused(whole, tmp_path):
    refused(tmp_path, b"", "not an flgp model file")
    refused(tmp_path, b"hello, I am a text file", "not an flgp model file")
    refused(tmp_path, pickle.dumps(os.getcwd), "not an flgp model file")
    refused(tmp_path, whole[:30], "ends too early")
    refused(tmp_path, whole[:-1], "ends too early")
    refused(tmp_path, whole + b"x", "bytes after its end")
    refused(tmp_path, whole[:200] + b"?" + whole[201:], "damaged")
    refused(tmp_path, whole[:-100] + b"?" + whole[-99:], "damaged")
    refused(tmp_path, whole.replace(b"\r\n", b"\n", 1), "not an flgp model file")
    newer = whole[:8] + struct.pack("<H", 7) + whole[10:]
    refused(tmp_path, newer, r"format 7.*Upgrade")


def test_large_files_and_pipes_are_refused(whole, tmp_path):
    path = tmp_path / "m.flgp"
    with pytest.raises(ModelFileError, match="more than the limit"):
        flgp.load(path, max_bytes=1000)
    with pytest.raises(FileNotFoundError):
        flgp.load(tmp_path / "none.flgp")
    with pytest.raises(ModelFileError, match="not a regular file"):
        flgp.load(os.devnull)


def test_headers_that_lie_are_refused(whole, tmp_path):
    def with_class(name):
        return resealed(whole, lambda h: {**h, "model": name})

    refused(tmp_path, with_class("os.system"), "does not know")
    refused(tmp_path, with_class("LatentField"), "does not know")
    refused(tmp_path, resealed(whole, lambda h: [h]), "damaged")
    refused(tmp_path, resealed(whole, lambda h: {"arrays": h["arrays"]}), "cannot be read")

    def learned(name, value):
        return resealed(whole, lambda h: h["learned"].update({name: value}))

    refused(tmp_path, learned("predict", 3), "not a learned attribute")
    refused(tmp_path, learned("__class__", 3), "not a learned attribute")
    refused(tmp_path, learned("x_", {"array": 0}), "not a learned attribute")
    refused(tmp_path, learned("likelihood_", {"Popen": {}}), "unknown to this version")
    refused(tmp_path, learned("likelihood_", {"regressor": {}}), "unknown to this version")
    refused(tmp_path, learned("likelihood_", {"flat prior": {}}), "should hold 'likelihood'")
    negative = {"Gaussian likelihood": {"noise_variance": -1.0}}
    refused(tmp_path, learned("likelihood_", negative), "is -1.0, not between")
    refused(tmp_path, learned("eigenvalues_", {"array": 10**6}), "not an array of this file")
    refused(tmp_path, learned("eigenvalues_", {"array": -1}), "not an array of this file")

    def given(name, value):
        return resealed(whole, lambda h: h["parameters"].update({name: value}))

    refused(tmp_path, given("time_prior", {"graph prior of time": {"colour": 1.0}}), "no field 'colour'")
    refused(tmp_path, given("time_prior", {"log-normal prior": {"spread": 1.0}}), "lacks the field 'median'")
    refused(tmp_path, given("time_prior", {"flat prior": {"__class__": 1}}), "no field")
    refused(tmp_path, given("colour", 3), "no field 'colour'")
    refused(tmp_path, given("n_neighbors", -3), "must be an integer")
    refused(tmp_path, given("verbose", {"array": 0}), "must be a whole number")
    deep: list = []
    for _ in range(100):
        deep = [deep]
    refused(tmp_path, given("linear", deep), "nested too deeply")


def test_json_that_only_python_accepts_is_refused(whole, tmp_path):
    def with_text(old, new):
        assert old in whole
        return sealed_text(whole, lambda text: text.replace(old, new, 1))

    refused(tmp_path, with_text(b'"n_rows": 240', b'"n_rows": 240, "n_rows": 240'), "damaged")
    refused(tmp_path, with_text(b'"in_memory": true', b'"in_memory": NaN'), "damaged")
    refused(tmp_path, with_text(b'"p": 1.0', b'"p": Infinity'), "damaged")
    refused(tmp_path, with_text(b'"p": 1.0', b'"p": 1e999'), "not between")
    nested = b"[" * 200_000 + b"]" * 200_000
    refused(tmp_path, with_text(b'"in_memory": true', b'"in_memory": ' + nested), "damaged")
    many = b"[" + b"[]," * 3_000_000 + b"[]]"
    refused(tmp_path, with_text(b'"in_memory": true', b'"in_memory": ' + many), "damaged")


def test_pipes_and_folders_are_refused_at_once(whole, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        for read in (flgp.load, describe):
            with pytest.raises(ModelFileError, match="not a regular file"):
                read(path)


def test_describe_verifies_the_checksum(whole, tmp_path):
    (tmp_path / "bad.flgp").write_bytes(whole[:-100] + b"?" + whole[-99:])
    with pytest.raises(ModelFileError, match="damaged"):
        describe(tmp_path / "bad.flgp")


def test_a_forged_state_of_a_generator_is_refused(fitted, tmp_path):
    """A position outside of the state made the next fit read foreign memory."""
    flgp.save(fitted["random state"], tmp_path / "m.flgp")
    whole = (tmp_path / "m.flgp").read_bytes()

    def with_state(state):
        return resealed(whole, lambda h: h["parameters"].update({"random_state": {"random_state": state}}))

    legacy = {"tuple": ["MT19937", {"array": 0}, 2**31, 0, 0.0]}
    for state in (legacy, [], [2**32], [-1], [0.5], list(range(100)), {"dict": {}}, "MT19937"):
        refused(tmp_path, with_state(state), "cannot be read")
    (tmp_path / "m.flgp").write_bytes(with_state([1, 2, 3]))
    assert flgp.load(tmp_path / "m.flgp").random_state.randint(9) < 9


def test_a_file_cannot_ask_for_more_than_it_holds(whole, tmp_path):
    """Neither a length that the file does not have, nor one array many times, nor a file full of holes."""
    refused(tmp_path, resealed(whole, lambda h: h["arrays"][0].update(shape=[2**40])), "damaged")
    refused(tmp_path, resealed(whole, lambda h: h["arrays"][0].update(shape=[0, 2**40])), "damaged")

    def often(header):
        (function,) = header["process"]["process"]["functions"]["tuple"]
        components = function["latent function"]["components"]["tuple"]
        components[0]["component of a mixture"]["weight"] = 1 / 9000
        components *= 9000

    refused(tmp_path, resealed(whole, often), "too often")

    def another(header):
        header["arrays"].append({"dtype": "<f8", "shape": [2**30], "order": "C"})

    hole = resealed(whole, another, more=8 * 2**30)
    path = tmp_path / "sparse.flgp"
    path.write_bytes(hole)
    os.truncate(path, len(hole) + 8 * 2**30)
    before = time.perf_counter()
    with pytest.raises(ModelFileError, match="nothing refers to"):
        flgp.load(path)
    assert time.perf_counter() - before < 2.0  # eight gigabytes were not read


def test_array_tables_that_lie_are_refused(whole, tmp_path):
    def with_entry(**change):
        return resealed(whole, lambda h: h["arrays"][0].update(change))

    for change in (
        {"dtype": "|O8"},
        {"dtype": "<f16"},
        {"dtype": [["a", "<f8"]]},
        {"order": "X"},
        {"shape": [-1]},
        {"shape": [2**60, 2**60]},
        {"shape": [True]},
        {"shape": 3},
        {"extra": 3},
        {"shape": [1]},
        {"dtype": "<f4"},
    ):
        refused(tmp_path, with_entry(**change), "damaged|cannot be read|does not reproduce")
    refused(tmp_path, resealed(whole, lambda h: h["arrays"].append({**h["arrays"][0]})), "damaged")


def test_a_model_that_does_not_repeat_its_predictions_is_refused(whole, tmp_path):
    def shift(header):
        (function,) = header["process"]["process"]["functions"]["tuple"]
        (component,) = function["latent function"]["components"]["tuple"]
        component["component of a mixture"]["field"]["Gaussian posterior of f"]["constant"] += 0.1

    refused(tmp_path, resealed(whole, shift), "does not reproduce the predictions")
    sent = resealed(whole, lambda header: None)
    (tmp_path / "same.flgp").write_bytes(sent)
    flgp.load(tmp_path / "same.flgp")


def test_fields_added_later_take_their_defaults(whole, tmp_path):
    def forget(header):
        (terms,) = header["process"]["process"]["layers"]["tuple"]
        manifold, *_ = terms["terms"]["parts"]["tuple"]
        del manifold["manifold term"]["time_prior"]["graph prior of time"]["tau"]

    (tmp_path / "old.flgp").write_bytes(resealed(whole, forget))
    manifold = flgp.load(tmp_path / "old.flgp")._process_.layers[0].parts[0]
    assert manifold.time_prior.tau == 2.0


def test_an_empty_collection_is_the_default_of_a_field_that_is_not_there(fitted, tmp_path):
    flgp.save(fitted["coupled"], tmp_path / "m.flgp")

    def forget(header):
        for known in _every(header, "known hyperparameters"):
            del known["least_squares"]

    (tmp_path / "m.flgp").write_bytes(resealed((tmp_path / "m.flgp").read_bytes(), forget))
    X = points(fitted["coupled"])
    np.testing.assert_array_equal(
        flgp.load(tmp_path / "m.flgp").predict_proba(X), fitted["coupled"].predict_proba(X)
    )


def test_a_covariance_in_a_file_is_that_of_its_factor_to_rounding():
    """A variance between nodes may be a millionth of those at the nodes: errors of 1e-8 would be seen."""
    factor = np.random.default_rng(0).normal(size=(300, 40))
    covariance = factor @ factor.T
    assert fits._is_product(factor, covariance)
    assert not fits._is_product(factor, covariance + np.diag(np.full(300, 1e-7)))
    covariance[3, 4] += 1e-5
    assert not fits._is_product(factor, covariance)


def _every(node, name):
    """All objects below a node that are the content of a concept."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == name and isinstance(value, dict):
                yield value
            yield from _every(value, name)
    elif isinstance(node, list):
        for value in node:
            yield from _every(value, name)


def test_likelihoods_without_their_parameters_are_refused(whole, tmp_path):
    """One of the likelihoods in a file, whichever: a model with it could not predict."""
    count = len(list(_every(_header(whole), "Gaussian likelihood")))
    assert count >= 3

    def forget(which, header):
        places = [place for section in header for place in _every(header[section], "Gaussian likelihood")]
        places[which]["noise_variance"] = None

    for which in range(count):
        refused(
            tmp_path,
            resealed(whole, lambda header, which=which: forget(which, header)),
            "damaged|not learned",
        )


@pytest.mark.parametrize("name", ["two classes", "coupled"])
def test_least_squares_fits_of_other_names_are_refused(fitted, name, tmp_path):
    """They are weighed by their names when labels are added: a model that loaded raised a KeyError then."""
    flgp.save(fitted[name], tmp_path / "m.flgp")
    whole = (tmp_path / "m.flgp").read_bytes()

    def rename(fits):
        fits["squares"] = fits.pop("least squares")

    def without_noise(fits):
        del fits["least squares"]["dict"]["noise_variance"]

    def of_other_terms(fits):
        fits["least squares"]["dict"]["group_variance"] = 1.0

    for change in (rename, without_noise, of_other_terms):

        def changed(header, change=change):
            places = list(_every(header, "least_squares"))
            assert places
            for place in places:
                change(place["dict"])

        refused(tmp_path, resealed(whole, changed), "other names|least-squares fit without noise")


def _header(data):
    found = []
    resealed(data, lambda header: found.append(header))
    return found[0]


def test_a_file_describes_itself(whole, tmp_path):
    about = describe(tmp_path / "m.flgp")
    assert about["class"] == "FLGPRegressor"
    assert about["format"] == 3
    assert about["versions"]["numpy"] == np.__version__
    assert about["bytes"] == len(whole)


def test_files_hold_no_pickle(whole):
    assert b"sklearn" not in whole
    assert all(name not in whole for name in (b"numpy.", b"cnumpy", b"__reduce__"))


def test_a_file_from_before_the_first_release_gets_one_sentence(whole, tmp_path):
    old = bytearray(whole)
    old[8] = 1  # the version of the format, after the magic
    refused(tmp_path, bytes(old), "format 1, from before the first release.* Fit the model again")
