"""Mutated model files: refused with ModelFileError, or a valid model whose every answer is proper.

Damaged files keep their checksum; forged ones get a new one, and the predictions that `load` repeats are
taken to be forged with it. `make test` runs a few hundred cases, `make fuzz` (FLGP_FUZZ_CASES) ten thousand.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import struct
import sys
import time
import warnings

import numpy as np
import pandas
import pytest
from questions import ask_everything
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import flgp
from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures, ModelFileError
from flgp.geometry import Circle, Graph, Interval, Mesh, Product, Sphere
from flgp.geometry.landmarks import Landmarks
from flgp.io import container, models
from flgp.tables import Schema, TableModel

CASES = int(os.environ.get("FLGP_FUZZ_CASES", "300"))
FORBIDDEN = (
    "exec",
    "compile",
    "pickle.find_class",
    "os.system",
    "os.exec",
    "subprocess.Popen",
    "socket.connect",
)
STRANGE = [None, True, -1, 0, 3, 10**30, 1e308, -0.5, "", "FeatureMap", "\ud800", "nan", [], {}, [[]]]
STRANGE += [{"array": 0}, {"array": 3}, {"tuple": []}, {"float": "nan"}, {"Gaussian likelihood": {}}]
STRANGE += [{"scalar": ["<f8", -1.0]}, {"scalar": ["|O", 1]}, {"random_state": [2**31]}, {"sparse": []}]
FACTORS = [-1.0, 0.0, 0.5, 2.0, 1e-300, 1e-30, 1e-9, 1e9, 1e30, 1e100, 1e200, 1e300]
VALUES = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1.0, 1e-308, 1e-60, 1e60, 1e100, 1e200, 1.7e308]
WHOLE = [-1, 0, 1, 7, 2**31, 2**62, -(2**62)]
LONGEST = 5.0  # seconds of one load; a typical one takes milliseconds


class Watch:
    """Audit hooks cannot be removed, so there is one that listens only when it is told to."""

    listening = False
    events: tuple[str, ...] = ()

    def __call__(self, event, _):
        if Watch.listening and event in FORBIDDEN:
            Watch.events += (event,)


sys.addaudithook(Watch())


def made_models():
    """Models that together hold every kind of part."""
    X, angle = ring(80, noise=0.02)
    y, three = np.sin(angle), np.array(["a", "b", "c"])[(angle / 2.1).astype(int)]
    small = {"n_anchors": 16, "n_eigenpairs": 6, "random_state": 0}
    few = np.where(np.arange(80) < 25, y, np.nan)
    counts = np.where(np.arange(80) < 30, np.round(3 + 2 * y), np.nan)
    yield FLGPRegressor(**small).fit(X, y)
    yield FLGPRegressor(**small, base_kernel="se", bandwidth=0.2).fit(X, np.column_stack([y, np.cos(angle)]))
    yield FLGPRegressor(**small, residual="local", residual_columns={0: 1.0}).fit(X, few)
    yield FLGPRegressor(**small, likelihood="poisson", residual="local").fit(X, counts)
    yield FLGPRegressor(**small, likelihood="student_t", n_anchor_sets=2).fit(X, few)
    yield FLGPRegressor(**small, residual=None, hyperparameters="integrate", base_kernel="se").fit(X, few)
    yield FLGPClassifier(**small, multi_class="coupled").fit(X, three)
    yield FLGPClassifier(**small, class_prior="uniform").fit(X, three)
    yield FLGPClassifier(**small, label_noise=0.1).fit(X, three)
    chains = {"inference": "gibbs", "n_chains": 2, "n_draws": 20, "n_warmup": 10}
    yield FLGPClassifier(**{**small, "random_state": np.random.RandomState(1)}, **chains).fit(X, y > 0)
    frame = pandas.DataFrame(X, columns=["u", "v"]).assign(site=np.where(angle < 2, "x", "y"))
    yield FLGPRegressor(**small, groups=["site"], linear=["u"]).fit(frame, few)
    yield HeatKernelFeatures(**small).fit(X)
    table = frame.assign(y=y)
    yield TableModel.fit(FLGPRegressor(**small), table, Schema.of(table, "y"))
    yield FLGPRegressor(geometry=Landmarks(12, bandwidth=0.3), n_eigenpairs=5, random_state=0).fit(X, few)
    walk = sparse.diags_array([np.ones(19), np.ones(19)], offsets=[-1, 1], shape=(20, 20))
    nodes = np.column_stack([np.arange(20.0), np.cos(np.arange(20.0))])
    on_graph = FLGPRegressor(geometry=Graph(walk), n_eigenpairs=5, linear=[1], linear_steps=1)
    yield on_graph.fit(nodes, np.sin(np.arange(20) / 3))
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1.0]])
    mesh = Mesh(corners, [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])
    places = np.repeat(corners, 3, axis=0)
    yield FLGPRegressor(geometry=mesh, n_eigenpairs=3).fit(places, places[:, 0])
    globe = np.column_stack([80 * np.sin(angle), 57 * angle])
    yield FLGPRegressor(geometry=Sphere(), n_eigenpairs=9, residual="local").fit(globe, few)
    both = Product(Circle(), Interval())
    yield FLGPRegressor(geometry=both, n_eigenpairs=9).fit(np.column_stack([angle, X[:, 0]]), few)
    yield FLGPRegressor(**small, scaling="even").fit(np.sinh(3 * X), few)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m.flgp"
    contents = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        for model in made_models():
            flgp.save(model, path)
            ask_about(flgp.load(path))  # whatever is imported lazily is imported now
            contents.append(path.read_bytes())
    return contents


def mutated_bytes(data, rng):
    """The file with bytes flipped, cut, moved, repeated or overwritten."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        size = len(data)
        # Half of the damage goes where the structure is.
        at = int(rng.integers(0, min(size, 4000) if rng.random() < 0.5 else size)) if size else 0
        run = int(min(rng.geometric(0.05), max(size - at, 1)))
        kind = rng.integers(0, 7)
        if kind == 0 and size:
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            del data[at : at + run]
        elif kind == 3:
            data[at:at] = rng.bytes(run)
        elif kind == 4:
            data[at : at + run] = rng.bytes(run)
        elif kind == 5:
            data[at : at + run] = bytes(run)
        else:
            start = int(rng.integers(0, max(size - run, 1)))
            data[at : at + run] = data[start : start + run]
    return bytes(data)


def taken_apart(data):
    """Version, header, and the arrays."""
    version, size, _ = struct.unpack_from("<HQQ", data, len(container.MAGIC))
    body = data[container.PREFIX_BYTES :]
    header = json.loads(body[:size])
    arrays, position = [], size
    for entry in header["arrays"]:
        dtype = np.dtype(entry["dtype"])
        count = int(np.prod(entry["shape"]))
        flat = np.frombuffer(body, dtype, count, position).copy()
        arrays.append(flat.reshape(entry["shape"], order=entry["order"]))
        position += -(-flat.nbytes // 64) * 64
    return version, header, arrays


def sealed(version, header, arrays):
    """A file whose lengths and checksum are right, whatever it holds."""
    text = json.dumps(header).encode()
    parts = [values.tobytes(order="A") for values in arrays]
    payload = b"".join(part + bytes(-len(part) % 64) for part in parts)
    fixed = struct.pack("<HQQ", version, len(text), len(payload))
    digest = hashlib.sha256(container.MAGIC + fixed + text + payload).digest()
    return container.MAGIC + fixed + digest + text + payload


def forged(data, rng):
    """A file that is sealed correctly but whose header or arrays are wrong."""
    version, header, arrays = taken_apart(data)
    for _ in range(rng.integers(1, 4)):
        kind = rng.random()
        if kind < 0.35:
            spots = list(_spots({name: part for name, part in header.items() if name != "arrays"}))
            holder, key = spots[int(rng.integers(len(spots)))]
            _change(holder, key, rng, spots)
        elif kind < 0.75:
            _change_values(arrays[int(rng.integers(len(arrays)))], rng)
        else:
            _change_array(header["arrays"], arrays, int(rng.integers(len(arrays))), rng)
    return sealed(version, header, arrays)


def _spots(node):
    """Every (container, key) below a node."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield node, key
        yield from _spots(value)


def _change(holder, key, rng, spots):
    value, kind = holder[key], rng.integers(0, 7)
    if kind >= 4 and isinstance(value, int | float) and not isinstance(value, bool):
        factor = FACTORS[int(rng.integers(len(FACTORS)))]
        scaled = value * factor
        kind = type(value) if np.isfinite(scaled) else float  # no integer is infinite
        holder[key] = value + 1 if rng.random() < 0.3 else kind(scaled)
    elif kind == 0:
        holder[key] = copy.deepcopy(STRANGE[int(rng.integers(len(STRANGE)))])
    elif kind == 1:
        del holder[key]
    elif kind == 2:
        other, name = spots[int(rng.integers(len(spots)))]
        if name in other if isinstance(other, dict) else name < len(other):
            holder[key] = copy.deepcopy(other[name])
    elif isinstance(holder, dict):
        holder[key + "x"] = holder.pop(key)
    else:
        holder.append(copy.deepcopy(holder[key]))


def _change_values(values, rng):
    """A few entries, a scale, an order, or bytes."""
    if values.size == 0:
        return
    flat, kind = values.reshape(-1, order="A"), rng.integers(0, 5)
    some = rng.integers(0, flat.size, int(rng.integers(1, 4)))
    with np.errstate(all="ignore"):
        if values.dtype.kind == "f" and kind <= 1:
            flat[some] = VALUES[int(rng.integers(len(VALUES)))]
        elif values.dtype.kind == "f" and kind == 2:
            flat *= FACTORS[int(rng.integers(len(FACTORS)))]
        elif values.dtype.kind in "iu" and kind <= 2:
            flat[some] = np.array(WHOLE[int(rng.integers(len(WHOLE)))]).astype(values.dtype)
        elif kind == 3:
            rng.shuffle(flat)
        else:
            raw = flat.view(np.uint8)
            raw[rng.integers(0, raw.size, 3)] = rng.integers(0, 256, 3)


def _change_array(table, arrays, which, rng):
    """Another dtype, shape or length, stated truly."""
    entry, values, kind = table[which], arrays[which], rng.integers(0, 6)
    if kind == 0:
        size = values.dtype.itemsize
        entry["dtype"] = str(rng.choice([f"<f{size}", f"<i{size}", f"<u{size}", "<U1", "|b1", "<f2", "|O8"]))
        return
    if kind == 1:
        entry["shape"] = [int(n) for n in rng.permutation(entry["shape"])]
        return
    if kind == 2:
        entry["shape"] = [int(np.prod(entry["shape"])), *[1] * int(rng.integers(0, 3))]
        return
    if kind == 3:
        entry["order"] = "F" if entry["order"] == "C" else "C"
        return
    if values.ndim:
        axis = int(rng.integers(values.ndim))
        count = values.shape[axis]
        rows = np.arange(count + 1) % max(count, 1) if kind == 4 else np.arange(max(count - 1, 0))
        arrays[which] = np.ascontiguousarray(np.take(values, rows, axis=axis) if count else values)
        entry.update(shape=list(arrays[which].shape), order="C")


def attempt(path):
    """The model in a file, or None if it is refused; any other end of the attempt is a failure."""
    started = time.perf_counter()
    Watch.events, Watch.listening = (), True
    try:
        return flgp.load(path)
    except ModelFileError:
        return None
    finally:
        Watch.listening = False
        assert Watch.events == ()
        assert time.perf_counter() - started < LONGEST


def ask_about(model):
    """Ask a loaded model everything, at fitted rows, at its anchors and elsewhere."""
    estimator = getattr(model, "estimator", model)
    own = estimator._examples_
    anchors = getattr(estimator, "anchors_", own)
    if estimator._roles_.names is not None and not hasattr(model, "estimator"):
        # Names and levels belong to a frame; rows are asked about without.
        estimator = copy.copy(estimator)
        del estimator.feature_names_in_
        estimator.groups = [estimator._roles_.names.index(name) for name in estimator.groups]
        estimator.linear = [estimator._roles_.names.index(name) for name in estimator.linear]
    if anchors.shape[1] == own.shape[1]:
        far = own[:2] + 3 * np.ptp(own, axis=0) if estimator.geometry is None else own[:2]
        own = np.concatenate([own[:6], anchors, far])
    ask_everything(estimator, own)


@pytest.mark.parametrize("which", range(18))
def test_damaged_files_are_refused(originals, which, tmp_path):
    rng = np.random.default_rng([1, which])
    path = tmp_path / "m.flgp"
    for _ in range(CASES // 100 + 1):
        data = mutated_bytes(originals[which], rng)
        path.write_bytes(data)
        assert (attempt(path) is None) == (data != originals[which])


@pytest.mark.parametrize("which", range(18))
def test_forged_files_are_refused_or_answer_properly(originals, which, tmp_path, monkeypatch):
    monkeypatch.setattr(models, "_check_witness", lambda *_: None)  # whoever forges the rest forges that too
    rng = np.random.default_rng([2, which])
    path = tmp_path / "m.flgp"
    refused = 0
    for _ in range(CASES // 18 + 1):
        path.write_bytes(forged(originals[which], rng))
        model = attempt(path)
        if model is None:
            refused += 1
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ask_about(model)
    assert refused > 0
