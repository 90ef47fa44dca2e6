"""A small version of the benchmark, so that it cannot rot."""

from __future__ import annotations

import csv
import math
import sys

import numpy as np
import pytest

from conftest import run_command
from flgp.experiments.bench import CASES, Run, available_methods, fitted_slopes, run_case, table, write_csv
from flgp.experiments.bench import runner as runner_module
from flgp.experiments.measure import MEASUREMENTS


def run(case="circles", method="flgp-lk", n=1000, repeat=0, seconds=1.0, error=0.0, **more):
    return Run(case, method, n, repeat, 1, seconds, 2.0**20, error, cpu=2 * seconds, **more)


def test_small_circles_with_what_is_installed():
    methods = ["flgp-lk", "ckdtree", "label-spreading"]
    told = []
    runs = run_case(CASES["circles"], sizes=[1200], methods=methods, repeats=1, report=told.append)
    assert [one.method for one in runs] == methods
    assert told == runs
    assert all(one.status == "ok" and one.seconds > 0 for one in runs)
    ours, yardstick, peer = runs
    assert ours.error < 0.3
    assert math.isnan(yardstick.error)
    assert 0 <= peer.error <= 1
    assert ours.threads == 1


@pytest.mark.parametrize("method", ["flgp-lk", "gp-regressor"])
def test_small_spiral(method):
    (one,) = run_case(CASES["spiral"], sizes=[600], methods=[method], repeats=1)
    assert one.status == "ok"
    assert 0 < one.error < 4


@pytest.mark.parametrize(
    ("case", "method", "n"),
    [
        ("circles", "flgp", 600),
        ("baselines", "flgp-x", 300),
        ("baselines", "glgp", 300),
        ("baselines", "sparse-glgp", 600),
        ("volume", "flgp", 600),
        ("volume", "gpboost-vecchia", 600),
    ],
)
def test_small_runs_of_the_other_cases(case, method, n):
    if method == "gpboost-vecchia":
        pytest.importorskip("gpboost", exc_type=ImportError)
    (one,) = run_case(CASES[case], sizes=[n], methods=[method], repeats=1)
    assert one.status == "ok"
    assert one.cpu > 0
    assert one.error < (0.5 if case != "volume" else 1.5)


def test_methods_that_are_not_there_are_said_to_be(monkeypatch):
    monkeypatch.setattr(runner_module, "_imports", lambda python, package: package != "gpytorch")
    monkeypatch.setattr(runner_module, "r_package", lambda: False)
    found = available_methods(["flgp-lk", "gpytorch-svgp", "r-flgp-lk"])
    assert found == {"flgp-lk": sys.executable}
    monkeypatch.setattr(runner_module, "_imports", lambda python, package: python == "other")
    assert available_methods(["gpytorch-svgp"], "other") == {"gpytorch-svgp": "other"}
    monkeypatch.setattr(runner_module, "_imports", lambda python, package: False)
    runs = run_case(CASES["circles"], sizes=[600], methods=["label-spreading"], repeats=2)
    assert [one.status for one in runs] == ["not installed"]


def test_a_slow_or_failing_method_is_given_up():
    kind = CASES["circles"]
    runs = run_case(kind, sizes=[600], methods=["flgp-lk"], repeats=3, timeout=0.0)
    assert [one.status for one in runs] == ["more than 0 s"]
    broken = type(kind)("broken", kind.make, (600,), ("flgp-lk",), {**kind.settings, "n_neighbors": 0})
    (one,) = run_case(broken, repeats=1)
    assert one.status.startswith("failed: ValueError: n_neighbors")


def test_unknown_methods_are_refused():
    with pytest.raises(ValueError, match="unknown methods"):
        run_case(CASES["circles"], methods=["magic"])


def test_table_has_medians_ratios_and_slopes(tmp_path):
    runs = [run(n=n, repeat=r, seconds=n * t) for n in (10, 100) for r, t in enumerate([1.0, 2.0, 9.0])]
    runs += [run(method="label-spreading", n=10, seconds=60.0), run(method="ckdtree", status="n too large")]
    text = table(runs)
    assert "| circles | 10 | flgp-lk | 1 | 3 | 20.000 | 40.000 | 1.00 | 40.000 | 1.00 | 1 | 0.0000 |" in text
    assert (
        "| circles | 10 | label-spreading | 1 | 1 | 60.000 | 0.000 | 3.00 | 120.000 | 3.00 | 1 | 0.0000 |"
        in text
    )
    assert "n too large" in text
    assert "time grows as n^1.00" in text
    assert fitted_slopes(runs) == {("circles", "flgp-lk"): pytest.approx(1.0)}
    write_csv(runs, tmp_path / "runs.csv")
    with open(tmp_path / "runs.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["seconds"]) for row in rows] == [one.seconds for one in runs]


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    from flgp.experiments.bench.figure import plot_runs

    runs = [run(n=n, seconds=n / 10, error=0.1) for n in (10, 100)] + [run(method="ckdtree", error=np.nan)]
    figure = plot_runs(runs)
    left, right = figure.axes
    assert left.get_xscale() == left.get_yscale() == "log"
    assert "n^1.00" in left.get_legend().get_texts()[0].get_text()
    assert len(right.get_lines()) == 1
    with pytest.raises(ValueError, match="nothing to plot"):
        plot_runs([run(status="not installed")])


def test_the_command(tmp_path, capsys):
    pytest.importorskip("typer")
    files = ("--csv", tmp_path / "runs.csv", "--plot", tmp_path / "runs.png")
    assert (
        run_command("bench", "circles", "--n", "900", "--methods", "flgp-lk", "--repeats", "1", *files) == 0
    )
    assert "| circles | 900 | flgp-lk |" in capsys.readouterr().out
    assert (tmp_path / "runs.csv").exists()
    assert (tmp_path / "runs.png").exists()
    assert run_command("bench", "nothing") == 2
    assert "No such command 'nothing'" in capsys.readouterr().err


def test_the_command_without_a_name_lists_what_there_is(capsys):
    pytest.importorskip("typer")
    from flgp.cli.bench import CASES as LISTED

    assert list(LISTED) == list(CASES)
    assert run_command("bench") == 0
    out = capsys.readouterr().out
    assert all(name in out for name in (*CASES, *MEASUREMENTS))
