"""Ctrl-C at any moment: limits are lifted, models are whole, commands end with one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from threadpoolctl import ThreadpoolController

import flgp
from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor, _threads
from flgp._threads import single_threaded_blas

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

MOMENTS = max(int(os.environ.get("FLGP_FUZZ_CASES", "300")) // 20, 200)


def blas_threads():
    return [library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()]


@pytest.fixture(autouse=True)
def two_threads():
    """More than one thread, so that a limit that stays can be seen."""
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    before = [library.get_num_threads() for library in libraries]
    for library in libraries:
        _threads._set_threads(library, 2)
    yield
    for library, count in zip(libraries, before, strict=True):
        _threads._set_threads(library, count)


def interrupted(function, after):
    """Run a function and send SIGINT after some seconds; whether it was interrupted."""
    previous = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        signal.setitimer(signal.ITIMER_REAL, max(after, 1e-6))
        function()
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        return False
    except KeyboardInterrupt:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)


def test_an_interrupt_inside_the_limiter_waits(monkeypatch):
    """Whatever moment of entering or leaving it hits, BLAS has its threads back afterwards."""
    steps = []
    real = _threads._set_threads

    def slow(library, count):
        steps.append(count)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.001)
        real(library, count)

    def enter():
        with single_threaded_blas():
            steps.append("inside")

    libraries = len(blas_threads())
    monkeypatch.setattr(_threads, "_set_threads", slow)
    with pytest.raises(KeyboardInterrupt):
        enter()
    assert steps == [1] * libraries + [2] * libraries
    assert set(blas_threads()) == {2}
    assert not _threads._blas.holds


def test_a_hold_that_is_not_left_ends_with_its_object():
    hold = single_threaded_blas()
    hold.__enter__()
    assert set(blas_threads()) == {1}
    del hold
    assert set(blas_threads()) == {2}


def test_a_hold_that_ended_has_nothing_to_do_when_it_is_collected():
    """An interrupt while it does would be lost."""
    hold = single_threaded_blas()
    assert hasattr(type(hold), "__del__")
    with hold:
        pass
    assert not hasattr(type(hold), "__del__")


def test_holds_of_several_threads():
    inside, leave = threading.Barrier(3), threading.Event()

    def work():
        with single_threaded_blas():
            inside.wait()
            leave.wait()

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    inside.wait()
    with single_threaded_blas():
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {1}
    leave.set()
    for worker in workers:
        worker.join()
    assert set(blas_threads()) == {2}


@pytest.mark.slow
def test_random_interrupts_of_fit_predict_and_update():
    X, angle = ring(300, noise=0.02)
    y = np.where(np.arange(300) < 40, np.sin(angle), np.nan)
    classes = np.where(np.arange(300) < 40, (angle > 3).astype(int), -1)
    small = {"n_anchors": 40, "n_eigenpairs": 20, "random_state": 0, "n_jobs": 2}
    regressor = FLGPRegressor(**small).fit(X, y)
    expected = regressor.predict(X)
    before = signal.getsignal(signal.SIGINT)

    def update():
        return regressor.update(X[50:52], [0.1, 0.2])

    def fit():
        return FLGPRegressor(**small).fit(X, y)

    classifier = FLGPClassifier(**small)
    rng = np.random.default_rng(0)
    actions = {"fit": fit, "refit": lambda: classifier.fit(X, classes), "update": update}
    actions["predict"] = lambda: [regressor.predict(X, return_std=True) for _ in range(5)]

    def seconds(action):
        started = time.perf_counter()
        action()
        return time.perf_counter() - started

    # The shorter of two: on a busy machine one of them may be long, and most interrupts would come too late.
    longest = {name: min(seconds(action) for _ in range(2)) for name, action in actions.items()}
    regressor.fit(X, y)
    stopped = 0
    for number in range(MOMENTS):
        name = list(actions)[number % len(actions)]
        hit = interrupted(actions[name], float(rng.uniform(0.0, longest[name])))
        stopped += hit
        assert set(blas_threads()) == {2}, name
        assert signal.getsignal(signal.SIGINT) is before
        if name == "update":
            if not hit:
                regressor.fit(X, y)
            # Interrupted in the last moment an update may be complete; it is never half of one.
            if len(regressor._labels_) == 42:
                regressor.fit(X, y)
            np.testing.assert_array_equal(regressor.predict(X), expected)
        elif name == "refit":
            try:
                assert len(classifier.predict(X)) == 300
            except NotFittedError:
                assert not [key for key in vars(classifier) if key.endswith("_")]
    assert stopped > MOMENTS // 4


_COMMAND = """
import sys
print("ready", flush=True)
from flgp.__main__ import main
main()
"""


def started(*arguments, **options):
    """A command whose interpreter is ready: what happens before is not in our hands."""
    run = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    assert run.stdout.readline() == "ready\n"
    return run


def ended(run):
    """What a command said; one that does not end is killed."""
    try:
        return run.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        run.kill()
        raise


@pytest.mark.slow
def test_the_command_line_ends_with_one_sentence_at_any_moment(tmp_path):
    """From the first import on: exit code 130, one sentence, no traceback."""
    pytest.importorskip("typer")
    X, angle = ring(400, noise=0.02)
    table = np.column_stack([X, np.sin(angle)])
    np.savez(tmp_path / "d.npz", u=table[:, 0], v=table[:, 1], y=table[:, 2])
    command = ["fit", str(tmp_path / "d.npz"), "--target", "y", "-o", str(tmp_path / "m.flgp")]
    beginning = time.perf_counter()
    whole = started(*command)
    ended(whole)
    assert whole.returncode == 0
    longest = time.perf_counter() - beginning
    (tmp_path / "m.flgp").unlink()
    rng = np.random.default_rng(0)
    for _ in range(MOMENTS // 40):
        run = started(*command)
        time.sleep(float(rng.uniform(0.1, longest)))  # after the import of a file of ten lines
        run.send_signal(signal.SIGINT)
        out, err = ended(run)
        if run.returncode == 0:
            (tmp_path / "m.flgp").unlink()
            continue
        assert run.returncode == 130, (run.returncode, err)
        assert "Traceback" not in err, err
        assert err.count("Stopped") == 1, (out, err)
        assert "Aborted" not in err
        if (tmp_path / "m.flgp").exists():  # the model was written, and then its quality was measured
            flgp.load(tmp_path / "m.flgp")
            (tmp_path / "m.flgp").unlink()


def test_ctrl_c_after_the_last_word_changes_nothing():
    pytest.importorskip("typer")
    code = (
        "import atexit, os, signal, sys\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "sys.argv[1:] = ['--version']\n"
        "from flgp.__main__ import main\nmain()"
    )
    ready = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=ready)
    assert run.returncode == 0, run
    assert "Stopped" not in run.stderr


@pytest.mark.slow
def test_parallel_rows_stop_within_seconds(tmp_path):
    pytest.importorskip("typer")
    options = [
        "--jobs",
        "2",
        "--n",
        "900000",
        "--repeats",
        "4",
        "--out",
        str(tmp_path / "out"),
        "--figures",
        "none",
    ]
    run = started("reproduce", "circles", *options, start_new_session=True)
    time.sleep(8)
    before = time.perf_counter()
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    _, err = ended(run)
    took = time.perf_counter() - before
    assert run.returncode == 130, err
    assert took < 5, took
    assert "Traceback" not in err, err
    assert "Stopped." in err
