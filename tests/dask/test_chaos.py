"""Chaos on real processes: the same numbers or one clear error, and no wait beyond the limits.

`make test` runs one round of the quickest kinds, `make chaos` (FLGP_CHAOS_ROUNDS) many rounds of all.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from flgp import FLGPClassifier

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")
from processes import running  # noqa: E402

from flgp.rows.dask import ClusterError  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.slow,
]
ROUNDS = int(os.environ.get("FLGP_CHAOS_ROUNDS", "1"))
full = pytest.mark.skipif(ROUNDS == 1, reason="takes a minute; part of `make chaos`")
LIMIT = 2.0  # seconds, set where a wait is to end by itself
HANG = 120.0  # seconds after which a call counts as one that hangs
SETTINGS = {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
    "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL": "False",
    "DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE": "False",
}
ONCE = {**SETTINGS, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1000"}


@pytest.fixture(scope="module")
def rings():
    rng = np.random.default_rng(2)
    angle = rng.uniform(0, 2 * np.pi, 4000)
    kind = np.arange(4000) % 2
    X = ((1.0 + kind) * np.stack([np.cos(angle), np.sin(angle)])).T + 0.01 * rng.standard_normal((4000, 2))
    y = np.full(4000, -1)
    y[:40] = kind[:40]
    return X, y, new_model(X).fit(X, y).predict_proba(X)


@pytest.fixture(autouse=True)
def quiet():
    """Dask logs what is done to it here."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def new_model(X):
    return FLGPClassifier(anchors=X[::41], n_eigenpairs=20)


def slow(seconds):
    def read(block):  # nested, so that it travels by value
        time.sleep(seconds)
        return block

    return read


def lazy(X, read):
    return da.from_array(X, chunks=(500, 2)).map_blocks(read, dtype=float, meta=np.empty((0, 2)))


@contextmanager
def later(seconds, act):
    """Act after some seconds, while the block runs."""
    timer = threading.Timer(seconds, act)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


@contextmanager
def no_hang():
    def too_long(*_):
        raise AssertionError(f"still waiting after {HANG} s")

    previous = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, HANG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)


def moments(kind, longest=1.5):
    """When to strike, in seconds from the start of `fit`."""
    return np.random.default_rng([17, sum(map(ord, kind))]).uniform(0.05, longest, ROUNDS)


def has_numpys_numbers(rings, rows):
    X, y, expected = rings
    with no_hang():
        model = new_model(X).fit(rows, y)
        np.testing.assert_allclose(model.predict_proba(rows).compute(), expected, atol=1e-8)


def fails_clearly(rings, rows, match):
    """One error of ours, and a model that is not fitted."""
    X, y, _ = rings
    model = new_model(X)
    with no_hang(), pytest.raises(ClusterError, match=match):
        model.fit(rows, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@full
def test_workers_killed_and_restarted_at_any_moment(rings, tmp_path):
    """By their nannies, one after the other or both at once."""
    X = rings[0]
    rows = lazy(X, slow(0.1))
    with running(tmp_path, settings=ONCE) as (_, client):

        def kill(count):
            try:
                pids = list(client.run(os.getpid).values())[:count]
            except Exception:  # one of them is just being started again
                return
            for pid in pids:
                os.kill(pid, signal.SIGKILL)

        for number, moment in enumerate(moments("restarted")):
            client.wait_for_workers(1, timeout=60)
            with later(moment, lambda count=1 + number % 2: kill(count)):
                has_numpys_numbers(rings, rows)


@full
def test_workers_that_come_back_in_time(rings, tmp_path):
    """All workers die, and others join."""
    X = rings[0]
    rows = lazy(X, slow(0.1))
    with running(tmp_path, "--no-nanny", n_workers=1, settings=ONCE) as (cluster, _):

        def replace():
            cluster.workers[-1].kill()
            cluster.add_worker("--no-nanny")

        for moment in moments("replaced"):
            with later(moment, replace):
                has_numpys_numbers(rings, rows)


def test_a_cluster_without_workers_is_an_error_in_time(rings, tmp_path):
    X = rings[0]
    rows = lazy(X, slow(0.1))
    with running(tmp_path, "--no-nanny", n_workers=1, settings=ONCE) as (cluster, client):
        for moment in moments("none left", 1.0):
            with (
                dask.config.set({"flgp.no-workers-timeout": LIMIT}),
                later(moment, cluster.workers[-1].kill),
            ):
                fails_clearly(rings, rows, "no worker for 2 s")
            cluster.add_worker("--no-nanny")
            client.wait_for_workers(1, timeout=60)
        has_numpys_numbers(rings, lazy(X, slow(0.0)))  # the cluster works on, with the worker that joined


def test_a_lost_scheduler_is_an_error_at_once(rings, tmp_path):
    X = rings[0]
    rows = lazy(X, slow(0.1))
    for number, moment in enumerate(moments("scheduler", 1.0)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with (
            running(folder, "--no-nanny", n_workers=1, settings=ONCE) as (cluster, _),
            later(moment, cluster.scheduler.kill),
        ):
            fails_clearly(rings, rows, "connection to the Dask scheduler was lost")


@full
@pytest.mark.parametrize("frozen", ["scheduler", "worker"])
def test_what_does_not_answer_ends_with_the_limit_of_a_pass(rings, tmp_path, frozen):
    """SIGSTOP: connections stay open, and nothing moves."""
    X = rings[0]
    rows = lazy(X, slow(0.1))
    with running(tmp_path, "--no-nanny", n_workers=1, settings=ONCE) as (cluster, _):
        for moment in moments(frozen, 1.0):
            process = cluster.scheduler if frozen == "scheduler" else cluster.workers[-1]
            with (
                dask.config.set({"flgp.pass-timeout": "3 s"}),
                later(moment, lambda process=process: process.send_signal(signal.SIGSTOP)),
            ):
                fails_clearly(rings, rows, "more than 3 s")
            process.send_signal(signal.SIGCONT)


def hungry(folder, times):
    """A function that takes more memory than a worker has, the first few times that chunk 2 is read."""

    def read(block, block_info=None):
        number = block_info[0]["chunk-location"][0] if block_info else 0
        taken = os.path.join(folder, "taken")
        before = os.path.getsize(taken) if os.path.exists(taken) else 0
        if number == 2 and before < times:
            with open(taken, "ab") as file:
                file.write(b"x")
            hoard = np.ones(150_000_000)  # 1.2 GB, above the limit
            time.sleep(20.0)  # until the nanny has seen it
            return block + 0.0 * hoard[0]
        return block

    return read


@full
def test_out_of_memory_once_changes_nothing_and_always_is_an_error(rings, tmp_path):
    X = rings[0]
    with running(tmp_path, "--memory-limit", "700MB", n_workers=1, settings=SETTINGS) as (_, client):
        for number in range(max(ROUNDS // 4, 1)):
            for times in (1, 100):
                folder = tmp_path / f"{number}-{times}"
                folder.mkdir()
                client.wait_for_workers(1, timeout=60)
                rows = lazy(X, hungry(str(folder), times))
                if times == 1:
                    has_numpys_numbers(rings, rows)
                else:
                    fails_clearly(rings, rows, "ran out of memory")
                assert (folder / "taken").stat().st_size >= min(times, 2)


def test_limits_that_are_no_times_are_refused(rings):
    from distributed import Client

    X, y, _ = rings
    with (
        Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"),
        dask.config.set({"flgp.pass-timeout": "soon"}),
        pytest.raises(ValueError, match=r"flgp\.pass-timeout='soon'"),
    ):
        new_model(X).fit(lazy(X, slow(0.0)), y)


def test_nothing_of_these_tests_is_left_running():
    """Processes of a test end with it."""
    found = subprocess.run(
        ["ps", "-o", "pid,args", "--ppid", str(os.getpid())], capture_output=True, text=True
    )
    assert "distributed.cli" not in found.stdout
