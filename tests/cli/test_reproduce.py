"""The command line as a user sees it."""

import json
import subprocess
import sys

import pytest

from conftest import run_command
from flgp import __version__
from flgp.cli.reproduce import _command


def run(capsys, *arguments):
    return (run_command(*arguments), *capsys.readouterr())


def spiral(out, *more):
    return ("reproduce", "spiral", "--n", 300, "--repeats", 1, "--methods", "lk", "--out", out, *more)


def test_a_table_and_its_files(tmp_path, capsys):
    code, out, _ = run(capsys, *spiral(tmp_path / "r", "--figures", "none"))
    assert code == 0
    assert "LKFLGP" in out
    assert "method=lk model=ours repeat=0: rmse" in out
    names = {path.name for path in (tmp_path / "r").iterdir()}
    assert names == {"run.json", "rows.csv", "spiral-300.csv", "tables.md"}
    assert "| LKFLGP |" in (tmp_path / "r" / "tables.md").read_text(encoding="utf-8")


def test_a_second_run_has_nothing_to_do_and_says_so(tmp_path, capsys):
    run(capsys, *spiral(tmp_path, "--figures", "none"))
    before = (tmp_path / "rows.csv").read_text()
    _, out, _ = run(capsys, *spiral(tmp_path, "--figures", "none"))
    assert "2 of 2 rows are already done." in out
    assert (tmp_path / "rows.csv").read_text() == before


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nothing"], "Known: spiral, circles"),
        (["spiral", "--methods", "lk,zz"], "Unknown method zz. Known here: egp"),
        (["spiral", "--models", "zz"], "Known here: paper, ours"),
        (["spiral", "--n", "many"], "not a list of integers"),
        (["spiral", "--repeats", "0"], "must be at least 1"),
        (["circles", "--n", "900000", "--methods", "glgp"], "Nothing to compute"),
    ],
)
def test_bad_arguments_are_one_sentence(tmp_path, capsys, monkeypatch, arguments, expected):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "reproduce", *arguments)
    assert code == 2
    assert expected in err
    assert len(err.strip().splitlines()) == 1
    assert out == ""


def mnist(folder):
    return ("reproduce", "mnist", "--quick", "--data-dir", folder, "--out", folder / "r")


def test_missing_mnist_says_where_it_looked(tmp_path, capsys):
    code, _, err = run(capsys, *mnist(tmp_path))
    assert code == 2
    assert str(tmp_path) in err
    assert "FLGP_MNIST_DIR" in err


def test_a_damaged_file_is_named(tmp_path, capsys):
    for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        (tmp_path / f"{name}-ubyte").write_bytes(b"\0\0\x08")
    code, _, err = run(capsys, *mnist(tmp_path))
    assert code == 2
    assert "train-images-idx3-ubyte" in err


def test_results_of_another_version_are_refused(tmp_path, capsys):
    run(capsys, *spiral(tmp_path, "--figures", "none"))
    header = tmp_path / "run.json"
    header.write_text(json.dumps({**json.loads(header.read_text()), "flgp": "0.0.1"}))
    code, _, err = run(capsys, *spiral(tmp_path, "--figures", "none"))
    assert code == 2
    assert "flgp = '0.0.1'" in err


def test_the_record_shows_no_folders_of_the_user():
    typed = ["reproduce", "mnist", "--data-dir", "/home/me", "--n", "7000", "--out=/tmp/x", "--seed", "1"]
    typed += ["--maps", "/home/me/maps"]
    assert _command(typed) == "flgp reproduce mnist --n 7000 --seed 1"


def test_version_and_module():
    done = subprocess.run(
        [sys.executable, "-m", "flgp", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"flgp {__version__}"
