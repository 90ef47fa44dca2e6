"""Columns of a table to columns of X."""

from __future__ import annotations

from datetime import time

import numpy as np
import pytest

from flgp.tables import Schema, TableError, read_table, write_table
from flgp.tables.guards import suspicions
from flgp.tables.model import labels, numbers
from flgp.tables.prepare import prepare

pandas = pytest.importorskip("pandas")


@pytest.fixture
def frame():
    return pandas.DataFrame(
        {
            "a": [1.0, 2.0, 3.0, 6.0],
            "k": ["x", "y", "x", "y"],
            "b": [True, False, True, True],
            "y": [1, 2, 3, 4],
        }
    )


def test_scalings(frame):
    X = Schema.of(frame, "y", ["a"]).matrix(frame)
    np.testing.assert_allclose([X.mean(), X.std()], [0, 1], atol=1e-12)
    X = Schema.of(frame, "y", ["a"], "range").matrix(frame)
    np.testing.assert_allclose(X[:, 0], [0, 0.2, 0.4, 1])
    X = Schema.of(frame, "y", ["a"], "none").matrix(frame)
    np.testing.assert_array_equal(X[:, 0], frame["a"])


def test_new_rows_are_scaled_as_the_fitted_ones(frame):
    schema = Schema.of(frame, "y")
    shifted = schema.matrix(frame.assign(a=frame["a"] + 10))
    np.testing.assert_allclose(shifted[:, 0] - schema.matrix(frame)[:, 0], 10 / frame["a"].std(ddof=0))


def test_huge_numbers_do_not_overflow():
    frame = pandas.DataFrame({"a": [1e300, -1e300, 5e299], "y": [1, 2, 3]})
    X = Schema.of(frame, "y").matrix(frame)
    np.testing.assert_allclose([X.mean(), X.std()], [0, 1], atol=1e-12)


def test_categories_are_indicators(frame):
    schema = Schema.of(frame, "y")
    assert schema.feature_names == ["a", "k=x", "k=y", "b"]
    np.testing.assert_array_equal(schema.matrix(frame)[:, 1:3], [[1, 0], [0, 1], [1, 0], [0, 1]])
    notes: list[str] = []
    new = schema.matrix(frame.assign(k="z"), notes)
    np.testing.assert_array_equal(new[:, 1:3], 0)
    assert "4 row(s)" in notes[0]


def test_useless_columns_are_left_out_with_a_note(frame):
    schema = Schema.of(frame.assign(c=1.0, d="same", e=np.nan), "y")
    assert schema.feature_names == ["a", "k=x", "k=y", "b"]
    assert sum("left out" in note for note in schema.notes) == 3


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda f: f.assign(a=[1, 2, np.nan, 4]), "Column 'a' has 1 missing"),
        (lambda f: f.assign(a=[1, 2, np.inf, 4]), "Column 'a' has 1 infinite"),
        (lambda f: f.assign(k=["x", None, "x", "y"]), "Column 'k' has 1 missing"),
        (lambda f: f[["y"]], "no column besides the target"),
        (lambda f: f.assign(a=1.0)[["a", "y"]], "No column can be a feature"),
        (lambda f: pandas.concat([f, f[["a"]]], axis=1), "same name"),
    ],
)
def test_what_cannot_be_used_is_refused(frame, change, match):
    with pytest.raises(TableError, match=match):
        Schema.of(change(frame), "y", missing="error")


def test_identifiers_are_refused():
    frame = pandas.DataFrame({"id": [f"p{i}" for i in range(60)], "y": range(60)})
    with pytest.raises(TableError, match="looks like an identifier"):
        Schema.of(frame, "y")


def test_a_number_that_became_text_is_refused(frame):
    schema = Schema.of(frame, "y")
    with pytest.raises(TableError, match="something else now, such as"):
        schema.matrix(frame.assign(a=["1", "2", "3", "four"]))


def test_targets():
    series = pandas.Series
    assert labels(series([1.0, np.nan, 3.0])).tolist() == [1, None, 3]
    assert labels(series(["a", None, " "])).tolist() == ["a", None, None]
    assert labels(series([True, False])).tolist() == [True, False]
    np.testing.assert_array_equal(numbers(series(["1.5", "", None]), "y"), [1.5, np.nan, np.nan])
    with pytest.raises(TableError, match="fractions"):
        labels(series([0.5, 1.0]))
    with pytest.raises(TableError, match="1 value"):
        numbers(series(["1", "two"]), "y")


def test_arrays_in_files(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.arange(6).reshape(3, 2), y=np.arange(3), more=np.ones((3, 2)))
    assert list(read_table(tmp_path / "t.npz")) == ["x0", "x1", "y", "more_0", "more_1"]
    np.savez(tmp_path / "u.npz", X=np.ones((3, 2)), y=np.ones(4))
    with pytest.raises(TableError, match="different lengths"):
        read_table(tmp_path / "u.npz")
    np.save(tmp_path / "c.npy", np.ones((2, 2, 2)))
    with pytest.raises(TableError, match="3 dimensions"):
        read_table(tmp_path / "c.npy")
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(TableError, match="cannot be read as NPY"):
        read_table(tmp_path / "o.npy")


def test_a_place_that_cannot_be_written(tmp_path, frame):
    with pytest.raises(TableError, match="cannot be written"):
        write_table(frame, tmp_path / "gone" / "t.csv")


def test_what_flgp_wrote_into_a_table_is_no_feature(frame):
    answered = frame.assign(flgp_prediction=frame["y"] + 0.1, flgp_std=[0.1, 0.2, 0.3, 0.4])
    schema = Schema.of(answered, "y")
    assert schema.feature_names == Schema.of(frame, "y").feature_names
    assert "'flgp_prediction', 'flgp_std'" in schema.notes[0]
    assert "flgp_std" in Schema.of(answered, "y", ["a", "flgp_std"]).feature_names


def test_codes_with_leading_zeros_are_categories(frame):
    schema = Schema.of(frame.assign(code=["01067", "80331", "01067", "20095"]), "y", ["code"])
    assert schema.feature_names == ["code=01067", "code=20095", "code=80331"]


@pytest.mark.parametrize(
    ("cells", "years"),
    [
        (["02.02.72", "04.05.75", "21.11.90"], [1972, 1975, 1990]),
        (["01.01.60", "01.06.98", "01.06.75", "01.06.76"], [1960, 1998, 1975, 1976]),
        (["31.12.98", "01.01.99", "13.02.02"], [1998, 1999, 2002]),
        (["31.12.19", "13.01.24"], [2019, 2024]),
        (["31.12.1919", "13.01.24"], [1919, 2024]),
    ],
)
def test_years_of_two_digits_are_of_one_century(tmp_path, cells, years):
    path = tmp_path / "dates.csv"
    path.write_text("day,y\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells)))
    notes: list[str] = []
    found = read_table(path, notes=notes)["day"]
    assert found.dt.year.tolist() == years
    assert any("two digits" in note for note in notes)


def test_a_cell_that_is_neither_yes_nor_no_is_missing():
    frame = pandas.DataFrame({"bio": ["ja", "nein"] * 20, "y": np.arange(40.0)})
    schema = Schema.of(frame, "y")
    new, notes = frame.copy(), []
    new.loc[3, "bio"] = "vielleicht"
    X = schema.matrix(new, notes)
    np.testing.assert_array_equal(np.delete(X, 3, axis=0), np.delete(schema.matrix(frame), 3, axis=0))
    assert "row 3 ('vielleicht') is not yes or no" in notes[0]
    with pytest.raises(TableError, match="something else now, such as"):
        schema.matrix(frame.assign(bio="vielleicht"))


def test_long_numbers_that_name_the_rows_are_noted():
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"a": rng.normal(size=30), "y": rng.normal(size=30)})
    customers = table.assign(customer=rng.integers(10**17, 10**18, size=30))
    assert any("'customer'" in note for note in suspicions(customers, "y", ["a", "customer"]))
    sales = table.assign(sales=rng.integers(0, 10**9, size=30))  # a few of them are small
    sales.loc[0, "sales"] = 12
    assert not suspicions(sales, "y", ["a", "sales"])


@pytest.mark.parametrize(
    ("cells", "hours"),
    [
        (["08:30", "23:59:30", "0:00"], [8.5, 23 + 59.5 / 60, 0.0]),
        (["8:30 am", "12:15 AM", "12:00 p.m."], [8.5, 0.25, 12.0]),
        (["08:30 Uhr", "18:45 Uhr", "7:00 Uhr"], [8.5, 18.75, 7.0]),
        ([time(8, 30), time(18, 45, 36), time(0, 0)], [8.5, 18.76, 0.0]),
    ],
)
def test_times_of_day_are_places_on_a_circle(cells, hours):
    frame = pandas.DataFrame({"start": cells, "y": [1, 2, 3]})
    schema = Schema.of(frame, "y")
    assert schema.feature_names == ["start (day, sin)", "start (day, cos)"]
    assert "'start' is a time of day" in schema.notes[0]
    angle = 2 * np.pi * np.array(hours) / 24
    np.testing.assert_allclose(
        schema.matrix(frame), np.column_stack([np.sin(angle), np.cos(angle)]), atol=1e-12
    )


def test_missing_and_broken_times():
    cells = ["23:00", "01:00"] * 6 + [None, "25:00"]
    frame = pandas.DataFrame({"start": cells, "y": range(14)}, index=range(2, 16))
    schema = Schema.of(frame, "y")
    said = " ".join(schema.notes)
    assert "row 15 ('25:00') is not a time of day: taken as missing" in said
    assert "replaced by the middle time 00:00" in said
    X = schema.matrix(frame)
    np.testing.assert_allclose(X[-2:], [[0, 1, 1], [0, 1, 1]], atol=1e-9)
    with pytest.raises(TableError, match="was a time of day when"):
        schema.matrix(pandas.DataFrame({"start": ["x", "y"]}))
    lengths = pandas.DataFrame({"t": pandas.to_timedelta([90, 30, 60], unit="min"), "y": [1, 2, 3]})
    schema = Schema.of(lengths, "y", scaling="none")
    np.testing.assert_allclose(schema.matrix(lengths)[:, 0], [1.5, 0.5, 1.0])


def test_nearly_constant_columns_and_copies_are_noted():
    rng = np.random.default_rng(0)
    n = 400
    frame = pandas.DataFrame({"a": rng.normal(size=n), "y": rng.normal(size=n)})
    frame["firmware"] = np.where(np.arange(n) < 2, 3.0, 7.0)
    frame["flag"] = np.arange(n) % 10 == 0  # one row in ten is a class, not an oversight
    frame["again"] = frame["a"]
    notes = " ".join(suspicions(frame, "y", ["a", "firmware", "flag", "again"]))
    assert "'firmware' (all but 2)" in notes
    assert "columns 'a' and 'again' hold the same" in notes
    assert "'flag'" not in notes
    assert "nearly all rows" not in " ".join(suspicions(frame[:50], "y", ["firmware"]))


def test_a_column_that_is_empty_at_prediction_is_noted():
    frame = pandas.DataFrame(
        {"a": [1.0, 2.0, np.nan, 4.0], "b": [1.0, 3.0, 2.0, 5.0], "y": [0.0, 1.0, 0.0, 1.0]}
    )
    schema, notes = Schema.of(frame, "y"), []
    schema.matrix(frame, notes)
    assert not notes
    schema.matrix(frame.assign(a=np.nan), notes)
    assert notes == ["column 'a' is empty in all rows: replaced by the median 2"]


def test_what_was_done_to_the_target_is_kept_with_the_model():
    frame = pandas.DataFrame({"a": np.arange(20.0) ** 2, "y": [*map(str, range(19)), "18.9 mg"]})
    found = prepare(frame, "y", task="regression")
    assert any("18.9 mg" in note for note in found.schema.notes)
