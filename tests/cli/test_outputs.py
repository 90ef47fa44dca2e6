"""Files that commands write: never their own inputs, never half of one, never a device."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

from conftest import ring

pandas = pytest.importorskip("pandas")
pytest.importorskip("typer")
from flgp.cli import main  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    X, angle = ring(120, noise=0.02)
    pandas.DataFrame({"u": X[:, 0], "v": X[:, 1], "y": np.sin(angle)}).to_csv(tmp_path / "d.csv", index=False)
    assert run("fit", tmp_path / "d.csv", "--target", "y", "-o", tmp_path / "m.flgp") == 0
    return tmp_path


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([*(str(argument) for argument in arguments), "--quiet"])
    return ended.value.code or 0


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
