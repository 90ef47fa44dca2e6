"""Results folders: resumed, never mixed."""

import json

import pytest

from flgp.experiments.reproduce import Experiment, Options, ResultsError, Store, Table


class Toy(Experiment):
    name = "toy"
    keys = ("n", "repeat")
    metrics = ("value", "note")
    methods = ("a", "b")

    def jobs(self, options):
        return [{"n": n, "repeat": k} for n in (1, 2) for k in range(2)]

    def run(self, job, options):
        return {"value": job["n"] / 3, "note": ""}

    def tables(self, rows, options):
        return [Table("toy", "Toy", ("n",), [("1",)])]


def filled(folder, count=4):
    store = Store(folder, Toy(), Options(), "flgp reproduce toy")
    for job in Toy().jobs(Options())[:count]:
        store.add({**job, **Toy().run(job, Options())})
    return store


def test_a_run_goes_on_where_it_stopped(tmp_path):
    filled(tmp_path, 3)
    again = Store(tmp_path, Toy(), Options())
    assert [row["value"] for row in again.rows] == pytest.approx([1 / 3, 1 / 3, 2 / 3], rel=1e-5)
    assert again.missing(Toy().jobs(Options())) == [{"n": 2, "repeat": 1}]


def test_half_a_line_is_forgotten(tmp_path):
    filled(tmp_path, 2)
    with (tmp_path / "rows.csv").open("a") as file:
        file.write("2,0")
    again = Store(tmp_path, Toy(), Options())
    assert len(again.rows) == 2
    again.add({"n": 2, "repeat": 0, "value": 0.5, "note": ""})
    assert len(Store(tmp_path, Toy(), Options()).rows) == 3


@pytest.mark.parametrize(("key", "value"), [("flgp", "0.0.0"), ("seed", 7), ("experiment", "other")])
def test_results_of_another_kind_are_refused(tmp_path, key, value):
    filled(tmp_path, 1)
    header = tmp_path / "run.json"
    header.write_text(json.dumps({**json.loads(header.read_text()), key: value}))
    with pytest.raises(ResultsError, match=f"{key} = "):
        Store(tmp_path, Toy(), Options())


def test_foreign_files_are_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n")
    with pytest.raises(ResultsError, match=r"no run\.json"):
        Store(tmp_path, Toy(), Options())
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(ResultsError, match="cannot be read"):
        Store(tmp_path, Toy(), Options())


def test_versions_and_the_command_are_kept(tmp_path):
    filled(tmp_path)
    Store(tmp_path, Toy(), Options(), "flgp reproduce toy")
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["commands"] == ["flgp reproduce toy"]
    assert set(record["libraries"]) == {"numpy", "scipy", "scikit-learn"}


def test_unknown_methods_are_named():
    with pytest.raises(ValueError, match=r"Unknown method c. Known here: a, b\."):
        Toy().check(Options(methods=("a", "c")))
    assert Toy().chosen_methods(Options(methods=("b", "a"))) == ("a", "b")
