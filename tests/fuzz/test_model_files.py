"""Mutated model files: every one is refused with ModelFileError, or loads to a model that predicts.

`make test` runs a few hundred cases, `make fuzz` (FLGP_FUZZ_CASES) ten thousand.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import struct
import sys
import time

import numpy as np
import pytest

import flgp
from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor, ModelFileError
from flgp.io import container

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
STRANGE = [None, True, -1, 0, 10**30, 1e308, -0.5, "", "FeatureMap", "\ud800", "nan", [], {}, [[]]]
STRANGE += [{"array": 0}, {"tuple": []}, {"float": "nan"}, {"Gaussian likelihood": {}}, {"scalar": 1}]
LONGEST = 5.0  # seconds of one load; a typical one takes milliseconds


class Watch:
    """Audit hooks cannot be removed, so there is one that listens only when it is told to."""

    listening = False
    events: tuple[str, ...] = ()

    def __call__(self, event, _):
        if Watch.listening and event in FORBIDDEN:
            Watch.events += (event,)


sys.addaudithook(Watch())


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    X, angle = ring(120, noise=0.02)
    models = [
        FLGPRegressor(n_anchors=20, n_eigenpairs=8, random_state=0).fit(X, np.sin(angle)),
        FLGPRegressor(n_anchors=20, n_eigenpairs=8, random_state=0, base_kernel="se", bandwidth=0.2).fit(
            X, np.column_stack([np.sin(angle), np.cos(angle)])
        ),
        FLGPClassifier(n_anchors=20, n_eigenpairs=8, random_state=0, multi_class="coupled").fit(
            X, np.array(["a", "b", "c"])[(angle / 2.1).astype(int)]
        ),
    ]
    path = tmp_path_factory.mktemp("models") / "m.flgp"
    contents = []
    for model in models:
        flgp.save(model, path)
        flgp.load(path)  # whatever is imported lazily is imported now
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
    version, size, _ = struct.unpack_from("<HQQ", data, len(container.MAGIC))
    body = data[container.PREFIX_BYTES :]
    return version, json.loads(body[:size]), body[size:]


def sealed(version, header, payload):
    """A file whose lengths and checksum are right, whatever it holds."""
    text = json.dumps(header).encode()
    fixed = struct.pack("<HQQ", version, len(text), len(payload))
    digest = hashlib.sha256(container.MAGIC + fixed + text + payload).digest()
    return container.MAGIC + fixed + digest + text + payload


def forged(data, rng):
    """A file that is sealed correctly but whose header or arrays are wrong."""
    version, header, payload = taken_apart(data)
    if rng.random() < 0.2:
        changed = bytearray(payload)
        for _ in range(rng.integers(1, 20)):
            changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
        return sealed(version, header, bytes(changed))
    header = copy.deepcopy(header)
    for _ in range(rng.integers(1, 3)):
        spots = list(_spots(header))
        holder, key = spots[int(rng.integers(len(spots)))]
        _change(holder, key, rng, spots)
    return sealed(version, header, payload)


def _spots(node):
    """Every (container, key) below a node."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield node, key
        yield from _spots(value)


def _change(holder, key, rng, spots):
    kind = rng.integers(0, 4)
    if kind == 0:
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


@pytest.mark.parametrize("which", range(3))
def test_damaged_files_are_refused(originals, which, tmp_path):
    rng = np.random.default_rng([1, which])
    path = tmp_path / "m.flgp"
    for _ in range(CASES // 6 + 1):
        data = mutated_bytes(originals[which], rng)
        path.write_bytes(data)
        assert (attempt(path) is None) == (data != originals[which])


@pytest.mark.parametrize("which", range(3))
def test_forged_files_are_refused_or_predict(originals, which, tmp_path):
    rng = np.random.default_rng([2, which])
    path = tmp_path / "m.flgp"
    refused = 0
    for _ in range(CASES // 6 + 1):
        path.write_bytes(forged(originals[which], rng))
        model = attempt(path)
        if model is None:
            refused += 1
        else:
            estimator = getattr(model, "estimator", model)
            assert len(estimator.predict(np.asarray(estimator.anchors_[:3]))) == 3
    assert refused > 0
