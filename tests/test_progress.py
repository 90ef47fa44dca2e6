"""Progress: what, how far, and the time left; interrupts say what they interrupted."""

from __future__ import annotations

import io
import logging
import re
import subprocess
import sys

import numpy as np
import pytest

from conftest import ring
from flgp import FLGPRegressor, _progress
from flgp._progress import advance, observed, stage, verbosity


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Recorder:
    def __init__(self):
        self.said = []

    def started(self, name):
        self.said.append(("started", name))

    def advanced(self, share, text):
        self.said.append(("advanced", share, text))

    def ended(self):
        self.said.append(("ended",))


@pytest.fixture
def clock(monkeypatch):
    """Time that goes on by a second whenever somebody looks."""
    ticks = iter(range(10_000))
    monkeypatch.setattr(_progress.time, "perf_counter", lambda: float(next(ticks)))


@pytest.mark.usefixtures("clock")
def test_a_terminal_shows_how_far_and_the_time_left(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with verbosity(1), stage("work"):
        for done in (1, 2, 3, 4):
            advance(done, 4, "rows")
    lines = screen.getvalue().split("\r\x1b[2K")
    assert lines[0] == "flgp: work …"
    assert lines[2] == "flgp: work … 2 of 4 rows, 3 s left"  # three seconds for the first half
    assert re.fullmatch(r"flgp: work … \d+\.00 s\n", lines[-1])


def test_a_log_file_gets_one_line_per_stage(capsys):
    with verbosity(1), stage("work"):
        for done in range(1000):
            advance(done, 1000)
    assert re.fullmatch(r"flgp: work … \d\.\d\d s\n", capsys.readouterr().err)


@pytest.mark.usefixtures("clock")
def test_an_observer_hears_of_everything(caplog):
    found = Recorder()
    with caplog.at_level(logging.DEBUG, "flgp"), observed(found), stage("outer"), stage("inner"):
        advance(1, 4, "parts")
    assert found.said == [
        ("started", "outer"),
        ("started", "inner"),
        ("advanced", 0.25, "1 of 4 parts"),
        ("ended",),
        ("ended",),
    ]
    assert [record.getMessage().split(":")[0] for record in caplog.records] == ["inner", "outer"]


def test_nothing_is_printed_unless_asked_for(capsys):
    advance(1, 2)
    with stage("silent"):
        advance(1, 2)
    assert capsys.readouterr() == ("", "")


def test_an_interrupt_says_what_it_interrupted():
    with pytest.raises(KeyboardInterrupt) as caught, stage("outer"), stage("inner"):
        raise KeyboardInterrupt
    assert [re.sub(r"\d+\.\d", "0", note) for note in caught.value.__notes__] == [
        "inner, after 0 s",
        "outer, after 0 s",
    ]
    with pytest.raises(ValueError, match="plain") as plain, stage("outer"):
        raise ValueError("plain")
    assert not hasattr(plain.value, "__notes__")


def test_fit_and_predict_of_many_rows_say_their_stages(capsys):
    X, angle = ring(20_000)
    y = np.where(np.arange(20_000) % 400 == 0, np.sin(angle), np.nan)
    model = FLGPRegressor(n_anchors=50, n_eigenpairs=20, residual=None, random_state=0, verbose=1).fit(X, y)
    model.predict(X[::-1])  # the fitted rows as they were would be known
    said = capsys.readouterr().err
    for text in ("anchors for 20,000 points", "spectrum", "transduction", "answers for 20,000 points"):
        assert text in said


def test_numbers_that_are_reduced_are_noted(capsys, caplog):
    X, angle = ring(30)
    y = np.sin(angle)
    with caplog.at_level(logging.INFO, "flgp"):
        FLGPRegressor(n_anchors=1000, n_neighbors=2, residual=None, random_state=0, verbose=1).fit(X, y)
        FLGPRegressor(n_anchors=4, n_neighbors=9, residual=None, random_state=0).fit(X, y)
        FLGPRegressor(n_anchors=20, n_neighbors=3, residual=None, random_state=0).fit(X, y)
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "n_anchors=1000 was reduced to 30, the number of distinct rows",
        "n_neighbors=9 was reduced to the number of anchors, 4",
    ]
    assert said[0] in capsys.readouterr().err


def test_ctrl_c_on_the_command_line_names_the_stage():
    code = (
        "import flgp.cli as cli\n"
        "from flgp._progress import stage\n"
        "def app(arguments):\n"
        "    with stage('anchors for 9 points'):\n"
        "        import os, signal\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        import time; time.sleep(5)\n"
        "cli.app = app\n"
        "cli.main([])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 130
    assert re.match(r"Stopped during anchors for 9 points, after \d+\.\d s\. Run the same", done.stderr)
