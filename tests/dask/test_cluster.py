"""A scheduler and two workers as separate processes on loopback, as several machines would run them."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from flgp import FLGPClassifier

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
from processes import running  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with running(tmp_path_factory.mktemp("cluster")) as (_, connected):
        yield connected


@pytest.fixture(scope="module")
def rings():
    rng = np.random.default_rng(2)
    angle = rng.uniform(0, 2 * np.pi, 8000)
    kind = np.arange(8000) % 2
    X = ((1.0 + kind) * np.stack([np.cos(angle), np.sin(angle)])).T + 0.01 * rng.standard_normal((8000, 2))
    y = np.full(8000, -1)
    y[:40] = kind[:40]
    model = FLGPClassifier(anchors=X[::81], n_eigenpairs=20)
    return X, y, model, model.fit(X, y).predict_proba(X)


def test_two_processes_give_numpys_numbers(client, rings):
    X, y, model, expected = rings
    lazy = da.from_array(X, chunks=(1000, 2))
    model = FLGPClassifier(**model.get_params()).fit(lazy, da.from_array(y, chunks=1000))
    p = model.predict_proba(lazy)
    assert p.chunks[0] == lazy.chunks[0]
    np.testing.assert_allclose(p.compute(), expected, atol=1e-8)


def test_nothing_of_the_rows_size_reaches_the_client(client, rings):
    """Bytes that a worker sends for one pass do not grow with the rows."""
    X, y, model, _ = rings

    def largest_result(repeats):
        rows = np.tile(X[40:], (repeats, 1))
        lazy = da.from_array(rows, chunks=(len(rows) // 4, 2)).persist()
        sizes = []
        original = type(client)._gather

        async def counted(self, futures, *args, **kwargs):
            result = await original(self, futures, *args, **kwargs)
            sizes.append(len(distributed.protocol.pickle.dumps(result)))
            return result

        type(client)._gather = counted
        try:
            FLGPClassifier(**model.get_params()).fit(X[:40], y[:40], lazy)
        finally:
            type(client)._gather = original
        return max(sizes)

    small, large = largest_result(1), largest_result(6)
    assert large < 1.2 * small + 10_000


def deadly_once(folder):
    """A function that kills the worker at the third chunk, the first time that it is read."""

    def read(block, block_info=None):  # nested, so that it travels by value
        number = block_info[0]["chunk-location"][0] if block_info else 0
        flag = os.path.join(folder, "died")
        if number == 2 and not os.path.exists(flag):
            open(flag, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    return read


@pytest.mark.parametrize("during", ["fit", "predict"])
def test_a_killed_worker_changes_nothing(client, rings, during, tmp_path):
    X, y, model, expected = rings
    safe = da.from_array(X, chunks=(1000, 2))
    deadly = safe.map_blocks(deadly_once(str(tmp_path)), dtype=float, meta=np.empty((0, 2)))
    model = FLGPClassifier(**model.get_params()).fit(deadly if during == "fit" else safe, y)
    p = model.predict_proba(deadly if during == "predict" else safe).compute()
    assert (tmp_path / "died").exists()
    np.testing.assert_allclose(p, expected, atol=1e-8)


def test_a_worker_killed_after_the_neighbours_were_made(client, rings, monkeypatch):
    """Neighbours that were held by a dead worker are made again elsewhere."""
    X, y, model, expected = rings
    from flgp.rows.dask import DaskBlocks

    original, killed = DaskBlocks.reduce, []

    def reduce(self, *arguments):
        if not killed:
            distributed.wait(distributed.futures_of(self._parts))
            address = next(iter(client.scheduler_info(n_workers=-1)["workers"]))
            pids = client.run(os.getpid)
            killed.append(pids[address])
            os.kill(pids[address], signal.SIGKILL)
        return original(self, *arguments)

    monkeypatch.setattr(DaskBlocks, "reduce", reduce)
    lazy = da.from_array(X, chunks=(1000, 2))
    fitted = FLGPClassifier(**model.get_params()).fit(lazy, y)
    assert killed
    np.testing.assert_allclose(fitted.predict_proba(X), expected, atol=1e-8)
