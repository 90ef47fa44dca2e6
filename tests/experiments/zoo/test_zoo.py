"""The zoo: its registry, a tiny run with resume, its ranks and its Markdown."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

import numpy as np
import pytest

from flgp.experiments.zoo import main, parser
from flgp.experiments.zoo.classifiers import CLASSIFIERS, SIMPLE
from flgp.experiments.zoo.problem import Labels, make_problem
from flgp.experiments.zoo.ranks import critical_difference, error_losses, losses, means
from flgp.experiments.zoo.regressors import REGRESSORS
from flgp.experiments.zoo.run import FIRST_SEED, NEEDS, Row, Store, all_methods, installed
from flgp.experiments.zoo.sets import built_in, find_sets
from flgp.experiments.zoo.table import page

TINY = "--quick --sets iris,diabetes --methods flgp,k-NN,ridge --out {}"


def row(set_name, method, *, draw=0, **scores):
    task = "numbers" if "rmse" in scores else "classes"
    return Row(task, set_name, "5 per class", "full", draw, method, 100, 4, 15, **scores)


def test_the_registry():
    assert list(CLASSIFIERS)[:2] == ["flgp", "flgp one-vs-rest"]
    assert list(REGRESSORS)[:2] == ["flgp", "flgp no linear"]
    assert set(SIMPLE) < set(CLASSIFIERS)
    assert set(NEEDS) < set(all_methods())
    assert installed("flgp")
    tasks = {name: data.task for name, data in built_in().items()}
    assert [name for name, task in tasks.items() if task == "classes"] == (
        ["digits", "iris", "wine", "breast_cancer", "circles", "moons", "gaussians", "swiss-roll"]
    )
    assert [name for name, task in tasks.items() if task == "numbers"] == (
        ["diabetes", "friedman1", "spiral", "folded-sheet"]
    )
    assert FIRST_SEED == 100


def test_sets_in_folders_are_found_or_noted(tmp_path, monkeypatch, rng):
    monkeypatch.delenv("FLGP_MNIST_DIR", raising=False)
    (tmp_path / "uci" / "airfoil").mkdir(parents=True)
    table, masks = rng.standard_normal((60, 3)), np.zeros((60, 2), dtype=int)
    masks[:20, 1] = 1
    np.savetxt(tmp_path / "uci" / "airfoil" / "data.csv.gz", table, delimiter=",")
    np.savetxt(tmp_path / "uci" / "airfoil" / "test_mask.csv.gz", masks, delimiter=",", fmt="%d")
    np.savez(tmp_path / "mine.npz", X=rng.standard_normal((30, 2)), y=np.arange(30) % 3)
    sets, notes = find_sets(tmp_path, tmp_path)
    assert {"airfoil", "mine"} <= set(sets)
    assert {note.split(":")[0] for note in notes} >= {"orl", "mnist", "bike"}
    problem = sets["airfoil"].problem(sets["airfoil"].labels[0], 1, seed=101, quick=False)
    assert problem.rest.tolist() == list(range(20))
    assert problem.X.shape == (60, 2)
    assert sets["mine"].problem(Labels(2, per_class=True), 0, seed=100, quick=False).n_classes == 3


def test_labels_and_columns(rng):
    y = np.repeat([3, 5, 9], [200, 30, 2])
    X = np.column_stack([rng.normal(4, 7, 232), np.ones(232)])
    problem = make_problem(X, y, "classes", Labels(20), 100, rows=1_000)
    assert np.bincount(problem.y[problem.labeled], minlength=3).min() >= 1
    assert len(problem.labeled) == 20
    assert len(problem.rest) == 212
    assert problem.X.shape == (232, 1)  # a constant column is left out
    assert problem.X.std() == pytest.approx(1)
    few = make_problem(X, y, "classes", Labels(2, per_class=True), 100, rows=1_000)
    assert np.bincount(few.y[few.labeled]).tolist() == [2, 2, 2]
    again = make_problem(X, y, "classes", Labels(20), 100, rows=1_000)
    other = make_problem(X, y, "classes", Labels(20), 101, rows=1_000)
    assert problem.labeled.tolist() == again.labeled.tolist() != other.labeled.tolist()


def test_a_tiny_run_and_its_resumption(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    main(TINY.format(tmp_path).split())
    said = capsys.readouterr()
    assert said.err.count("flgp: ") == 3  # iris with two ways of labelling, diabetes
    rows = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))
    assert len(rows) == 9
    assert {line["status"] for line in rows} == {"ok"}
    assert all(float(line["error"]) < 0.3 for line in rows if line["task"] == "classes")
    assert all(math.isnan(float(line["log_loss"])) for line in rows if line["method"] == "ridge")
    assert "mean rank, Error" in said.out
    assert (tmp_path / "ranks.png").stat().st_size > 5_000
    text = (tmp_path / "classes.md").read_text()
    assert "| iris | 5 per class |" in text
    assert "| GraphLearning Poisson | not installed (graphlearning) | |" in text or installed(
        "GraphLearning Poisson"
    )
    assert "Coverage of 95 % intervals" in (tmp_path / "numbers.md").read_text()

    before = (tmp_path / "rows.csv").read_text()
    main(TINY.format(tmp_path).split())
    assert (tmp_path / "rows.csv").read_text() == before
    assert "flgp: " not in capsys.readouterr().err
    assert len(Store(tmp_path).rows) == 9


def test_a_failure_is_a_row_and_is_tried_again(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    command = f"--quick --sets iris --methods k-NN,ridge --out {tmp_path}".split()
    with monkeypatch.context() as patch:
        patch.setitem(CLASSIFIERS, "ridge", lambda problem: 1 / 0)
        main(command)
    assert "ZeroDivisionError" in (tmp_path / "classes.md").read_text()
    main(command)
    assert "ZeroDivisionError" not in (tmp_path / "classes.md").read_text()
    assert capsys.readouterr().err.count("ridge") == 4


def test_ranks_and_losses():
    rows = [
        row("a", "flgp", error=0.10, log_loss=0.3),
        row("a", "flgp", error=0.20, log_loss=0.3, draw=1),
        row("a", "1-NN", error=0.12, log_loss=0.4),
        row("a", "1-NN", error=0.12, log_loss=0.4, draw=1),
        row("b", "flgp", error=0.105, log_loss=0.3),
        row("b", "1-NN", error=0.10, log_loss=0.2),
        row("c", "flgp", error=0.1),  # without 1-NN: not ranked
    ]
    found = means(rows, "classes", "error")
    assert [name for name, _ in found.settings] == ["a", "b"]
    assert found.ranks() == {"1-NN": 1.0, "flgp": 2.0}
    assert [lost[0][0] for lost in error_losses(rows)] == ["a"]  # on b within a point
    assert [lost[0][0] for lost in losses(means(rows, "classes", "log_loss"), 0.0)] == ["b"]
    failed = [*rows[4:6], row("b", "ridge", status="ValueError: no")]
    assert means(failed, "classes", "error").ranks() == {"1-NN": 1.0, "flgp": 2.0}
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.01)


def test_the_markdown():
    rows = [
        row("a", "flgp", rmse=0.5, nll=1.0, coverage=0.94),
        row("a", "ridge", rmse=0.4, nll=1.1, coverage=0.99),
    ]
    text = page(rows, "numbers")
    assert "| a | 5 per class | 0.500 | **0.400** |" in text
    assert "| a | 5 per class | **94.0** | 99.0 |" in text
    assert "| a | 5 per class | 0.500 | ridge | 0.400 |" in text
    widths = {line.count("|") for line in text.split("## RMSE")[1].split("##")[0].splitlines() if line}
    assert len(widths - {0}) == 1


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"Unknown data set 'irises'. Known: digits"):
        main(["--sets", "irises"])
    with pytest.raises(ValueError, match=r"Unknown method 'best'. Known: flgp"):
        main(["--methods", "best"])
    with pytest.raises(ValueError, match="--draws 0"):
        main(["--draws", "0"])


def test_the_command_hands_its_options_on(capsys):
    pytest.importorskip("typer")
    from flgp.cli import main as command_line

    with pytest.raises(SystemExit) as end:
        command_line(["bench", "zoo", "--help"])
    assert end.value.code == 0
    assert "usage: flgp bench zoo" in capsys.readouterr().out


def test_the_commands_of_the_page_can_be_parsed():
    text = (Path(__file__).parents[3] / "docs" / "zoo.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ flgp bench zoo ?(.*)$", text, re.MULTILINE)
    assert commands
    for command in commands:
        parser().parse_args(command.split())
