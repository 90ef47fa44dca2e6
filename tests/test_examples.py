"""The examples run, and show what they say."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_uncertainty_sampling_needs_fewer_labels(capsys):
    example = runpy.run_path(str(EXAMPLES / "active_learning.py"))
    curves = example["main"](runs=4)
    chosen, random = curves["least certain"], curves["random"]
    assert chosen[10] > 0.95
    assert chosen[5:15].mean() > random[5:15].mean() + 0.05
    assert len(capsys.readouterr().out.splitlines()) == 8


def test_labels_where_suggest_says_are_worth_more_than_any_others():
    """The curves of the page, on images that scikit-learn brings along."""
    pytest.importorskip("matplotlib.pyplot").switch_backend("Agg")
    errors = runpy.run_path(str(EXAMPLES / "suggest_curves.py"))["errors"]
    X, y = load_digits(return_X_y=True)
    chosen, random = (errors(X, y, rule, 3, most=60) for rule in ("coverage", "random"))
    assert list(chosen) == [10, 20, 30, 40, 50, 60]
    assert chosen[60] < 0.6 * random[60]


@pytest.fixture
def shown(capsys):
    """Run an example of the gallery; its names, and what it prints."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")

    def run(name):
        names = runpy.run_path(str(EXAMPLES / name))
        assert pyplot.get_fignums()
        return names, capsys.readouterr().out

    yield run
    pyplot.close("all")


def test_the_sphere_is_better_than_latitude_and_longitude(shown):
    _, said = shown("plot_11_globe.py")
    sphere, flat, held = map(float, re.findall(r"([\d.]+) (?:m\b|% of)", said))
    assert sphere < 0.8 * flat
    assert held > 90


def test_one_field_of_winds_is_better_than_two_maps(shown):
    _, said = shown("plot_15_winds.py")
    field, maps = map(float, re.findall(r"([\d.]+) m/s", said))
    assert field < 0.7 * maps
    assert int(re.search(r"hold (\d+) %", said)[1]) >= 92


@pytest.mark.slow
def test_surface_and_space_are_better_than_either(shown):
    pytest.importorskip("nilearn")
    _, said = shown("plot_12_mesh.py")
    surface, space, both = map(int, re.findall(r"(\d+) %", said))
    assert both > max(surface, space) + 2


def test_two_labels_split_the_karate_club(shown):
    names, said = shown("plot_13_graph.py")
    assert len(names["edges"]) == 78
    assert "33 of 34 right; wrong: [8]" in said


def test_groups_take_the_instruments_out_of_the_map(shown):
    names, _ = shown("plot_14_groups.py")
    truth = names["height"].ravel()
    error = {name: np.sqrt(np.mean((found - truth) ** 2)) for name, found in names["maps"].items()}
    assert error["with groups"] < 0.8 * error["without groups"]
    assert np.corrcoef(names["offset"], names["effect"])[0, 1] > 0.95


def test_boosting_and_the_river_are_better_than_either(shown):
    names, _ = shown("plot_18_correct_and_smooth.py")
    errors = names["errors"]
    assert errors["both"] < 0.85 * min(errors["boosting"], errors["river"])
    assert 0.85 < names["inside"] < 0.96


def test_the_notebook_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("pandas")
    pyplot.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "from_table_to_answer.ipynb").read_text(encoding="utf-8"))
    names: dict = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []  # nothing stale
            exec("".join(cell["source"]), names)
    pyplot.close("all")
    said = capsys.readouterr()
    assert "labelled rows, each predicted without its own label" in said.out
    assert "anchors for 178 points" in said.err
    assert names["right"] > 0.9
    assert (tmp_path / "wine.html").stat().st_size > 50_000
    assert (tmp_path / "wine_small.flgp").stat().st_size < (tmp_path / "wine.flgp").stat().st_size
