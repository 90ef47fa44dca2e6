"""Files that commands write: never their own inputs, never half of one, never a device."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

from conftest import ring, run_command

pandas = pytest.importorskip("pandas")
pytest.importorskip("typer")


@pytest.fixture
def folder(tmp_path):
    X, angle = ring(120, noise=0.02)
    pandas.DataFrame({"u": X[:, 0], "v": X[:, 1], "y": np.sin(angle)}).to_csv(tmp_path / "d.csv", index=False)
    assert run("fit", tmp_path / "d.csv", "--target", "y", "-o", tmp_path / "m.flgp") == 0
    return tmp_path


def run(*arguments):
    return run_command(*arguments, "--quiet")


def test_inputs_are_not_overwritten(folder, capsys):
    (folder / "d.html").symlink_to("d.csv")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    d, m = folder / "d.csv", folder / "m.flgp"
    for command in (
        ["fit", d, "--target", "y", "-o", d],
        ["predict", m, d, "-o", d],
        ["report", m, d, "-o", folder / "d.html"],
    ):
        assert run(*command) == 2
        assert "is an input of this command" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("output", ["p.csv", "p.tsv", "p.parquet", "p.feather", "p.npy", "p.npz", "r.html"])
def test_a_full_disk_leaves_the_old_file(folder, output, capsys, monkeypatch):
    command = "report" if output.endswith("html") else "predict"
    arguments = [command, folder / "m.flgp", folder / "d.csv", "-o", folder / output]
    assert run(*arguments) == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert run(*arguments) == 2
    assert "No space left" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_special_files_are_refused(folder, capsys):
    for name in ("pipe.csv", "pipe.html", "pipe"):
        os.mkfifo(folder / name)
    d, m = folder / "d.csv", folder / "m.flgp"
    assert run("fit", d, "--target", "y", "-o", folder / "pipe") == 2
    assert run("predict", m, d, "-o", folder / "pipe.csv") == 2
    assert run("report", m, d, "-o", folder / "pipe.html") == 2
    assert capsys.readouterr().err.count("is a pipe, which is not replaced") == 3


def test_control_characters_from_a_file_are_spelled_out(tmp_path, capsys):
    X, angle = ring(60)
    name = "y\x1b[31m\u202e"
    pandas.DataFrame({"u": X[:, 0], "v": X[:, 1], name: np.sin(angle)}).to_csv(
        tmp_path / "d.csv", index=False
    )
    fit = ("fit", tmp_path / "d.csv", "-o", tmp_path / "m.flgp", "--target")
    run_command(*fit, name)
    run_command("info", tmp_path / "m.flgp")
    run_command(*fit, "\x1b]0;owned\x07")
    out, err = capsys.readouterr()
    assert "y\\x1b[31m\\u202e" in out
    assert not {"\x1b", "\u202e", "\x07"} & set(out + err)


def test_formulas_are_escaped_on_request_and_text_is_not_dropped(tmp_path, capsys):
    X, _ = ring(80)
    frame = pandas.DataFrame(
        {"u": X[:, 0], "v": X[:, 1], "k": np.where(X[:, 0] > 0, "=cmd|' /C calc'!A0", "b")}
    )
    frame.to_csv(tmp_path / "d.csv", index=False)
    m, d = tmp_path / "m.flgp", tmp_path / "d.csv"
    assert run("fit", d, "--target", "k", "-o", m) == 0
    assert run("predict", m, d, "-o", tmp_path / "p.csv") == 0
    assert pandas.read_csv(tmp_path / "p.csv").iloc[:, 0].str.startswith("=cmd").any()
    assert run("predict", m, d, "-o", tmp_path / "p.csv", "--escape-formulas") == 0
    text = (tmp_path / "p.csv").read_text()
    assert "'=cmd" in text
    assert ",=" not in text
    assert not text.startswith("=")
    assert "\n=" not in text
    assert run("predict", m, d, "-o", tmp_path / "p.npy") == 2
    assert "hold numbers only" in capsys.readouterr().err
    assert not (tmp_path / "p.npy").exists()
