"""Each measurement at a tiny size, so that it cannot rot."""

from __future__ import annotations

import pytest

from conftest import run_command
from flgp.experiments.measure import MEASUREMENTS, main
from flgp.experiments.measure.coverage import coverage
from flgp.experiments.measure.neighbors import compare as searches
from flgp.experiments.measure.posterior_accuracy import Problem, compare

TINY = {
    "coverage": ("--replicates 1 --likelihood poisson heteroscedastic", "| heteroscedastic | auto |"),
    "dask-workers": ("--n 2e4 --repeats 1", "times as fast"),
    "evidence": ("--eigenpairs 30 --labels 60 --repeats 1", "M=30 m=60: evidence and gradient"),
    "geometries": ("groups --draws 1", "200 groups, n = 5,000, 1 draws: variance"),
    "imports": ("--repeats 1", "ratio"),
    "large-rank": ("--n 1000 --sizes 100:30", "| 100 | 30 |"),
    "neighbors": ("--n 600 --anchors 200", "| noise | flgp |"),
    "new-points": ("--n 600 --seeds 1", "| 600 | se |"),
    "out-of-core": ("--n 5e3", "error 0.0"),
    "posterior-accuracy": ("--draws 10 --only circles", "| circles, m = 50 | Laplace, one-vs-rest |"),
    "residual": ("spiral --seeds 1", "### Spiral, m = 200"),
}


def test_all_are_run():
    assert TINY.keys() == MEASUREMENTS.keys()


@pytest.mark.parametrize("name", TINY)
def test_it_runs_at_a_tiny_size(name, capsys):
    if name == "dask-workers":
        pytest.importorskip("distributed")
    arguments, expected = TINY[name]
    main(name, arguments.split())
    assert expected in capsys.readouterr().out


def test_integrated_intervals_cover_truths_from_the_prior():
    share, error, _ = coverage("gaussian", 40, from_prior=True, hyperparameters="integrate")
    assert abs(share - 0.9) < 0.03 + 2 * error


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_expectation_propagation_is_nearer_to_the_chains_than_laplace(rng):
    X = rng.standard_normal((90, 2)) + 6.0 * (y := rng.integers(0, 3, 90))[:, None]
    options = {"n_anchors": 30, "n_eigenpairs": 8}
    scores, worst = compare(Problem("clusters", X, y, 30, options), draws=60, with_coupled=True)
    assert set(scores) == {f"{name}, one-vs-rest" for name in ("Gibbs", "EP", "Laplace")} | {
        "Gibbs, coupled",
        "EP, coupled",
    }
    assert scores["EP, one-vs-rest"][0] < scores["Laplace, one-vs-rest"][0]
    assert scores["Gibbs, one-vs-rest"][0] == scores["Gibbs, coupled"][0] == 0.0
    assert worst > 0.9


def test_recall_is_that_of_the_nearest_anchors(rng):
    X = rng.standard_normal((300, 20))
    found = {row.method: row.recall for row in searches(X, X[:100])}
    assert found["flgp"] == 1.0


def test_unknown_parts_are_refused():
    with pytest.raises(ValueError, match="Use some of spiral"):
        main("residual", ["nothing"])


def test_the_command_hands_its_options_on(capsys):
    pytest.importorskip("typer")
    assert run_command("bench", "large-rank", "--n", "800", "--sizes", "60:20", "80:20") == 0
    assert "| 80 | 20 |" in capsys.readouterr().out
    assert run_command("bench", "large-rank", "--help") == 0
    assert "usage: flgp bench large-rank" in capsys.readouterr().out
    assert run_command("bench", "large-rank", "--nothing") == 2
