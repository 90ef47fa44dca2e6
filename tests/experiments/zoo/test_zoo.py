"""The zoo: its registry, a tiny run with resume, its ranks and its Markdown."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

import numpy as np
import pytest

from conftest import run_command
from flgp.experiments.zoo import main, parser
from flgp.experiments.zoo.classifiers import CLASSIFIERS, GP_LABELS, SIMPLE, TOLD_SIZES
from flgp.experiments.zoo.compare import WELL_LABELLED_RIVALS, error_losses, losses, told_sizes, well_labelled
from flgp.experiments.zoo.labels import FIRST_SEED, Labels
from flgp.experiments.zoo.problem import SkippedError, make_problem
from flgp.experiments.zoo.ranks import critical_difference, means
from flgp.experiments.zoo.regressors import REGRESSORS
from flgp.experiments.zoo.run import NEEDS, Row, Store, all_methods, installed
from flgp.experiments.zoo.sets import built_in
from flgp.experiments.zoo.table import page

TINY = "--quick --sets iris,diabetes --methods flgp,k-NN,ridge --out {}"


def row(set_name, method, *, draw=0, labels="5 per class", **scores):
    task = "numbers" if "rmse" in scores else "classes"
    return Row(task, set_name, labels, "full", draw, method, 100, 4, 15, **scores)


def test_the_registry():
    assert list(CLASSIFIERS)[:3] == ["flgp", "flgp told sizes", "flgp one-vs-rest"]
    assert list(REGRESSORS)[:2] == ["flgp", "flgp no linear"]
    assert {*SIMPLE, *TOLD_SIZES} < set(CLASSIFIERS)
    assert set(WELL_LABELLED_RIVALS) < set(all_methods())
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


def test_a_tiny_run_and_its_resumption(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    main(TINY.format(tmp_path).split())
    said = capsys.readouterr()
    assert said.err.count("flgp: ") == 4  # iris with three ways of labelling, diabetes
    rows = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))
    assert len(rows) == 12
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
    assert len(Store(tmp_path).rows) == 12


def test_a_failure_is_a_row_and_is_tried_again(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    command = f"--quick --sets iris --methods k-NN,ridge --out {tmp_path}".split()
    with monkeypatch.context() as patch:
        patch.setitem(CLASSIFIERS, "ridge", lambda problem: 1 / 0)
        main(command)
    assert "ZeroDivisionError" in (tmp_path / "classes.md").read_text()
    main(command)
    assert "ZeroDivisionError" not in (tmp_path / "classes.md").read_text()
    assert capsys.readouterr().err.count("ridge") == 6


def test_slow_methods_are_skipped_and_not_tried_again(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")

    def slow(problem):
        while True:
            pass

    monkeypatch.setitem(CLASSIFIERS, "ridge", slow)
    command = f"--sets gaussians --methods ridge,1-NN --draws 2 --time-limit 0.3 --out {tmp_path}".split()
    main(command)
    statuses = [r.status for r in Store(tmp_path).rows.values() if r.method == "ridge"]
    assert statuses == ["skipped: took longer than 0.3 s", "skipped: another draw took too long"]
    assert "skipped: took longer than 0.3 s" in (tmp_path / "classes.md").read_text()
    capsys.readouterr()
    main(command)
    assert "ridge" not in capsys.readouterr().err


def test_the_process_declines_many_labels(rng):
    n = GP_LABELS + 30
    problem = make_problem(
        rng.standard_normal((n, 2)), np.arange(n) % 2, "classes", Labels(n - 25), 0, rows=n
    )
    with pytest.raises(SkippedError, match="more than 1500 labels"):
        CLASSIFIERS["GP"](problem)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["GP", "flgp told sizes", "Poisson-MBO told sizes"])
def test_classifiers_with_a_line_of_their_own(method, rng):
    if not installed(method):
        pytest.skip(f"{NEEDS[method]} is not installed")
    y = np.arange(90) % 3
    X = rng.normal(0, 0.3, (90, 2)) + np.array([[0, 0], [4, 0], [0, 4]])[y]
    problem = make_problem(X, y, "classes", Labels(3, per_class=True), 0, rows=90)
    assert problem.class_shares == pytest.approx([1 / 3] * 3)
    assert np.mean(CLASSIFIERS[method](problem).value == problem.y[problem.rest]) > 0.95


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["GP (ARD)", "GPBoost Vecchia"])
def test_processes_for_numbers(method, rng):
    if not installed(method):
        pytest.skip(f"{NEEDS[method]} is not installed")
    X = np.column_stack([rng.uniform(-2, 2, (120, 2)), np.arange(120) == 119])  # a column of zeros but one
    problem = make_problem(X, np.sin(2 * X[:, 0]), "numbers", Labels(0.7), 0, rows=120)
    answer = REGRESSORS[method](problem)
    assert np.sqrt(np.mean((answer.value - problem.y[problem.rest]) ** 2)) < 0.1
    assert (answer.sd > 0).all()


def test_ranks_and_losses():
    rows = [
        row("a", "flgp", error=0.10, log_loss=0.3),
        row("a", "flgp", error=0.20, log_loss=0.3, draw=1),
        row("a", "1-NN", error=0.12, log_loss=0.4),
        row("a", "1-NN", error=0.12, log_loss=0.4, draw=1),
        row("b", "flgp", error=0.105, log_loss=0.3),
        row("b", "1-NN", error=0.10, log_loss=0.2),
        row("c", "flgp", error=0.1),  # without 1-NN: not ranked
        row("a", "logistic", error=0.01),  # in few settings: not ranked, and only in its draws
        row("a", "logistic", error=0.01, draw=1),
        row("a", "flgp told sizes", error=0.0),
    ]
    found = means(rows, "classes", "error")
    assert [name for name, _ in found.settings] == ["a", "b", "c"]
    assert [name for name, _ in found.ranked().settings] == ["a", "b"]
    assert found.ranks() == {"1-NN": 1.0, "flgp": 2.0}
    assert found.standard_errors[0, 0] == pytest.approx(0.05)
    assert [lost.setting[0] for lost in error_losses(rows)] == ["a"]  # on b within a point
    assert [lost.setting[0] for lost in losses(means(rows, "classes", "log_loss"), 0.0)] == ["b"]
    failed = [*rows[4:6], row("b", "ridge", status="ValueError: no")]
    assert means(failed, "classes", "error").ranks() == {"1-NN": 1.0, "flgp": 2.0}
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.01)


def test_means_are_over_the_draws_that_all_have():
    rows = [row("a", "flgp", error=0.1 + draw, draw=draw) for draw in range(3)]
    assert means(rows, "classes", "error").values[0, 0] == pytest.approx(1.1)
    rows.append(row("a", "1-NN", error=0.3))
    assert means(rows, "classes", "error").values[0].tolist() == pytest.approx([0.1, 0.3])


def test_those_who_are_told_the_sizes_meet_each_other():
    ours, rival = TOLD_SIZES
    rows = [
        row("a", ours, error=0.1),
        row("a", rival, error=0.2),
        row("b", ours, error=0.3),
        row("b", rival, error=0.2),
        row("c", ours, error=0.3, labels="5-fold"),
        row("c", rival, error=0.2, labels="5-fold"),
        row("a", "flgp", error=0.15),
    ]
    assert [(duel.setting[0], duel.won) for duel in told_sizes(rows)] == [("a", True), ("b", False)]
    text = page(rows, "classes")
    assert "flgp told sizes: 1 win(s), 1 loss(es), 0 tie(s)." in text
    assert "| a | 5 per class | **10.0** | 20.0 |" in text
    assert means(rows, "classes", "error").methods == ["flgp"]


def test_five_folds_are_judged_by_the_standard_error():
    rows = [
        row(name, method, rmse=value + 0.01 * (-1) ** draw, draw=draw, labels="5-fold")
        for name, own in (("a", 0.505), ("b", 0.6))
        for method, value in (("flgp", own), ("ridge", 0.5), ("k-NN", 0.1))
        for draw in range(4)
    ]
    assert [duel.near for duel in well_labelled(rows, "numbers", "rmse")] == [True, False]
    text = page(rows, "numbers")
    assert "1 of 2." in text
    assert "| a | 0.505 | ridge | 0.500 | 0.006 | yes |" in text


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
    with pytest.raises(ValueError, match="--time-limit 0"):
        main(["--time-limit", "0"])
    with pytest.raises(ValueError, match=r"'orl' is not available: no faces/orl.npz in --data-dir"):
        main(["--sets", "orl"])


def test_the_command_hands_its_options_on(capsys):
    pytest.importorskip("typer")
    assert run_command("bench", "zoo", "--help") == 0
    assert "usage: flgp bench zoo" in capsys.readouterr().out


def test_the_commands_of_the_page_can_be_parsed():
    text = (Path(__file__).parents[3] / "docs" / "zoo.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ flgp bench zoo ?(.*)$", text, re.MULTILINE)
    assert commands
    for command in commands:
        parser().parse_args(command.split())
