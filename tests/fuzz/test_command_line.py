"""Odd tables and options on the command line: an answer, or one sentence and exit code 2; no traceback."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pandas
import pytest
from fuzz_cases import few, is_own
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("typer")
from flgp.cli import main
from flgp.cli._learning import LIKELIHOODS

NAMES = ["x", "y", "height", "naïve", "a b", "", "1", "x.1", "target", "Unnamed: 0", "x,y", 'q"uote', "=1+1"]
ENDINGS = [".csv", ".csv", ".csv", ".tsv", ".parquet", ".feather", ".npz", ".npy", ".txt", ""]
CELLS = ["", "nan", "NA", "inf", "-inf", "1e400", "1e300", "abc", "1,5", "0x10", "True", "\x00", "é", " "]
KINDS = ["cloud", "ring", "whole", "constant", "empty", "text", "many", "bool", "huge", "date"]
BYTES = [b",", b"\n", b'"', b"\r", b"\xff", b"\t\t"]
SETTINGS = ["n_anchors=5", "n_neighbors=2", "n_anchors=x", "n_anchors", "bandwidth=-1", "anchors=[[0]]", "="]
SETTINGS += ["kernel=matern", "base_kernel=se", "residual=null", "unlabeled=3", "n_jobs=0", "nu={}"]
SETTINGS += ['anchors=[["a"]]', "mean=zero"]
WORDS = ["fit", "predict", "info", "report", "--help", "-o", "x.flgp", "x.csv", "--target", "--json", ""]
WORDS += ["-", "--", "nothing", "\0", "é"]


@st.composite
def columns(draw, n):
    """The values of one column."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(KINDS))
    return {
        "cloud": lambda: rng.standard_normal(n),
        "ring": lambda: np.cos(np.arange(n)),
        "whole": lambda: rng.integers(0, 4, n),
        "constant": lambda: np.ones(n),
        "empty": lambda: np.full(n, np.nan),
        "text": lambda: np.array(["a", "b", "c d"], dtype=object)[rng.integers(0, 3, n)],
        "many": lambda: np.array([f"id{i % 12}" for i in range(n)], dtype=object),
        "bool": lambda: rng.random(n) < 0.5,
        "huge": lambda: rng.standard_normal(n) * 10.0 ** draw(st.integers(-300, 300)),
        "date": lambda: np.array("2020-01-01", dtype="datetime64[D]") + np.arange(n),
    }[kind]()


@st.composite
def frames(draw):
    n = draw(st.integers(0, 30))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=draw(st.booleans())))
    frame = pandas.DataFrame({i: draw(columns(n)) for i in range(len(names))})
    frame.columns = names
    if n and draw(st.booleans()):  # some labels only
        last = frame.iloc[:, -1].astype(object)
        last[np.random.default_rng(0).random(n) < draw(st.sampled_from([0.3, 0.8, 1.0]))] = None
        frame = pandas.concat([frame.iloc[:, :-1], last.rename(names[-1])], axis=1)
    return frame


def write(frame, path, draw):
    """The table as a file, possibly a damaged one."""
    try:
        if path.suffix == ".parquet":
            frame.to_parquet(path)
        elif path.suffix == ".feather":
            frame.to_feather(path)
        elif path.suffix == ".npy":
            np.save(path, frame.select_dtypes("number").to_numpy())
        elif path.suffix == ".npz":
            np.savez(path, **{str(name): frame[name].to_numpy() for name in frame.columns})
        else:
            frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    except (ValueError, TypeError, AttributeError, OverflowError):
        path.write_bytes(b"")
    harm = draw(st.sampled_from(["none"] * 6 + ["cut", "flip", "cell", "insert", "gone", "folder", "latin"]))
    data = path.read_bytes()
    place = draw(st.integers(0, max(len(data) - 1, 0)))
    if harm == "cut":
        path.write_bytes(data[:place])
    elif harm == "flip" and data:
        path.write_bytes(data[:place] + bytes([data[place] ^ draw(st.integers(1, 255))]) + data[place + 1 :])
    elif harm == "cell":
        path.write_bytes(data.replace(b"1", draw(st.sampled_from(CELLS)).encode(), 1))
    elif harm == "insert":
        path.write_bytes(data[:place] + draw(st.sampled_from(BYTES)) + data[place:])
    elif harm == "latin":
        path.write_bytes("é".encode("latin-1") + data)
    elif harm in ("gone", "folder"):
        path.unlink()
        if harm == "folder":
            path.mkdir()


@st.composite
def options(draw):
    found = []
    if draw(st.integers(0, 2)) == 0:
        found += ["--likelihood", draw(st.sampled_from([*LIKELIHOODS, "normal", ""]))]
    if draw(st.integers(0, 3)) == 0:
        found += ["--scaling", draw(st.sampled_from(["standard", "range", "none", "unit"]))]
    if draw(st.integers(0, 5)) == 0:
        found += ["--features", draw(st.sampled_from(["x", "x,y", ",", "height", " x , a b"]))]
    if draw(st.integers(0, 5)) == 0:
        found += ["--seed", draw(st.sampled_from(["0", "7", "-1", "4294967296", "x"]))]
    if draw(st.integers(0, 3)) == 0:
        found += ["--option", draw(st.sampled_from(SETTINGS))]
    return found + (["--json"] if draw(st.booleans()) else [])


def run(*arguments):
    """Exit code, output and complaint; fails unless the command ended as it should."""
    out, err, nothing = io.StringIO(), io.StringIO(), io.TextIOWrapper(io.BytesIO())  # to be read as "-"
    said = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with said[0], said[1], mock.patch.object(sys, "stdin", nothing), pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    code = ended.value.code or 0
    said = err.getvalue()
    assert "Traceback" not in said
    if code == 0:
        return 0, out.getvalue()
    assert code == 2, (code, said)
    # Those are the parser's, for options that are not numbers or have no value.
    if "Usage:" not in said + out.getvalue() and "─ Error ─" not in said:
        complaint = [line for line in said.splitlines() if line.startswith("Error: ")]
        assert len(complaint) == 1
        assert said.splitlines()[-1] == complaint[0]
        assert len(complaint[0]) > len("Error: ")
        assert is_own(ended.value.__context__), repr(ended.value.__context__)
    return 2, said


@few
@given(data=st.data())
def test_tables_and_options(data):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = []
        for part in ("train", "new"):
            frame = data.draw(frames())
            tables.append((frame, folder / (part + data.draw(st.sampled_from(ENDINGS)))))
            write(frame, tables[-1][1], data.draw)
        frame, path = tables[0]
        last = str(frame.columns[-1])
        target = data.draw(st.sampled_from([last, last, last, f"x{frame.shape[1] - 1}", "missing", ""]))
        model = folder / "m.flgp"
        code, said = run("fit", path, "--target", target, "-o", model, "--jobs", 1, *data.draw(options()))
        assert model.exists() == (code == 0)
        if code:
            return
        if said.startswith("{"):
            assert json.loads(said)["rows"] > 0
        assert run("info", model)[0] == 0
        for _, other in tables:
            output = folder / ("p" + data.draw(st.sampled_from([".csv", ".parquet", ".npz", ".xls"])))
            coverage = data.draw(st.sampled_from(["0.9", "0.5", "1", "nan"]))
            code, _ = run("predict", model, other, "-o", output, "--coverage", coverage)
            if code == 0:
                check(output)
            if other == path and code and output.suffix != ".xls":
                run("predict", model, other)


def check(output):
    """Every number in a table of predictions is one."""
    if output.suffix == ".csv":
        found = pandas.read_csv(output)
    elif output.suffix == ".parquet":
        found = pandas.read_parquet(output)
    else:
        found = pandas.DataFrame(dict(np.load(output)))
    assert len(found) > 0
    assert np.isfinite(found.select_dtypes("number").to_numpy()).all()


@few
@given(arguments=st.lists(st.sampled_from(WORDS), max_size=5))
def test_any_words(arguments):
    run(*arguments)
