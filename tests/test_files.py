"""The one writer of files: complete or not at all, nothing special replaced, nothing left behind."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import flgp
from conftest import ring
from flgp import _files
from flgp._files import OutputError, check_target, move, replacing, write_bytes, write_figure, write_text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes, pipes and locks of POSIX")


@pytest.fixture(params=["without a name", "with a name"])
def either_way(request, monkeypatch):
    """Both ways of making a temporary file: not every file system can make one without a name."""
    if request.param == "with a name":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return request.param


def test_a_file_is_written_or_replaced(either_way, tmp_path):
    write_text(tmp_path / "a.txt", "one\r\ntwo\n")
    assert (tmp_path / "a.txt").read_bytes() == b"one\r\ntwo\n"
    write_bytes(tmp_path / "a.txt", b"x")
    assert (tmp_path / "a.txt").read_bytes() == b"x"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_an_error_leaves_the_old_file_and_nothing_else(either_way, tmp_path):
    write_text(tmp_path / "a", "old")

    def half_way(path):
        with replacing(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    for name in ("a", "b"):
        with pytest.raises(KeyboardInterrupt):
            half_way(tmp_path / name)
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_a_full_disk_leaves_the_old_file(either_way, tmp_path, monkeypatch):
    write_text(tmp_path / "a", "old")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space") as caught:
        write_text(tmp_path / "a", "new")
    assert caught.value.filename == str(tmp_path / "a")
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "old"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_an_existing_file_keeps_its_mode(either_way, tmp_path, mode):
    write_text(tmp_path / "a", "old")
    (tmp_path / "a").chmod(mode)
    write_text(tmp_path / "a", "new")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


def test_a_new_file_has_the_mode_that_any_other_would_have(either_way, tmp_path):
    (tmp_path / "other").touch()
    write_text(tmp_path / "a", "new")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_the_longest_names_can_be_written(either_way, tmp_path):
    for length in (245, 255):
        write_text(tmp_path / ("n" * length), "x")
    assert len(os.listdir(tmp_path)) == 2


def test_links_are_followed(either_way, tmp_path):
    (tmp_path / "link").symlink_to("target")
    write_text(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "x"


def test_special_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("pipe")
    for name, kind in (("pipe", "a pipe"), ("folder", "a folder"), ("link", "a pipe"), (os.devnull, "a dev")):
        with pytest.raises(OutputError, match=kind):
            write_text(tmp_path / name, "x")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_inputs_are_refused_by_any_name(tmp_path):
    write_text(tmp_path / "data.csv", "x")
    os.link(tmp_path / "data.csv", tmp_path / "same")
    (tmp_path / "link").symlink_to("data.csv")
    for name in ("data.csv", "same", "link", "./data.csv"):
        with pytest.raises(OutputError, match="input"):
            check_target(tmp_path / name, ["nowhere", tmp_path / "data.csv"])
    check_target(tmp_path / "other", [tmp_path / "data.csv"])


def test_what_killed_writers_leave_goes_with_the_next_write(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    (tmp_path / ".flgp-0123456789ab.tmp").touch()
    (tmp_path / ".flgp-of-the-user").touch()
    with replacing(tmp_path / "a") as slow:  # still being written: not to be swept away by others
        slow.write(b"slow")
        worker = threading.Thread(target=write_text, args=(tmp_path / "b", "fast"))
        worker.start()
        worker.join()
    assert sorted(os.listdir(tmp_path)) == [".flgp-of-the-user", "a", "b"]
    assert (tmp_path / "a").read_bytes() == b"slow"


def test_move_keeps_the_mode_and_refuses_special_files(tmp_path):
    write_text(tmp_path / "a", "old")
    (tmp_path / "a").chmod(0o600)
    write_text(tmp_path / "new", "new")
    move(tmp_path / "new", tmp_path / "a")
    assert (tmp_path / "a").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="a pipe"):
        move(tmp_path / "a", tmp_path / "pipe")


def test_figures_are_written_in_the_format_of_their_ending(tmp_path):
    figures = pytest.importorskip("matplotlib.figure")
    for ending, start in ((".png", b"\x89PNG"), (".PDF", b"%PDF"), (".svg", b"<?xml")):
        path = tmp_path / f"figure{ending}"
        write_figure(figures.Figure(), path)
        assert path.read_bytes().startswith(start)


# A child for each line of input: the imports are done once.
_WRITER = """
import os, pickle, sys
import flgp
with open(sys.argv[1], "rb") as file:
    model = pickle.load(file)
for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        print(os.getpid(), flush=True)
        while True:
            flgp.save(model, sys.argv[2])
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.slow
def test_kill_9_while_saving_leaves_a_whole_model_and_no_other_file(tmp_path):
    import pickle

    X, angle = ring(200)
    model = flgp.FLGPRegressor(random_state=0).fit(X, np.sin(angle))
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    folder = tmp_path / "out"
    folder.mkdir()
    rng = np.random.default_rng(0)
    command = [sys.executable, "-c", _WRITER, str(tmp_path / "model.pkl"), str(folder / "m.flgp")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as writers:
        for _ in range(int(os.environ.get("FLGP_FUZZ_CASES", "300")) // 100):
            writers.stdin.write("\n")
            writers.stdin.flush()
            child = int(writers.stdout.readline())
            time.sleep(rng.uniform(0.0, 0.1))
            os.kill(child, signal.SIGKILL)
            assert int(writers.stdout.readline()) == -signal.SIGKILL
            # A file without a name vanishes with its process, unless that dies in the moment of naming it.
            left = set(os.listdir(folder)) - {"m.flgp"}
            assert len(left) <= 1
            if (folder / "m.flgp").exists():
                np.testing.assert_array_equal(flgp.load(folder / "m.flgp").predict(X), model.predict(X))
        writers.stdin.close()
    flgp.save(model, folder / "m.flgp")
    assert os.listdir(folder) == ["m.flgp"]


def test_no_other_code_opens_files_for_writing():
    """One writer for every file: a new `open(..., "w")` would lose the old file on a full disk."""
    import re

    writes = re.compile(
        r"\.write_(text|bytes)\(|open\([^)]*[\"'](w|a|x|wb|ab|xb|w\+b)[\"']|savefig\(|np\.savez?\(path"
    )
    root = os.path.dirname(flgp.__file__)
    # Folders of their own, of which each file is new; and rows appended one by one, each with a checksum.
    allowed = {"_files.py", "cli/brain.py", "neuro/outputs.py", "experiments/zoo/run.py"}
    allowed |= {"experiments/bench/runner.py", "experiments/measure/out_of_core.py"}
    found = set()
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".py"):
                with open(path, encoding="utf-8") as file:
                    if writes.search(file.read()):
                        found.add(os.path.relpath(path, root))
    assert found <= allowed
    assert _files.__doc__
