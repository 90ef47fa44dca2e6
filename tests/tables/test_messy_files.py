"""Tables as people have them: each is read right, or refused in one sentence; nothing is misread in silence.

Every case writes a file and says what its cells mean.
"""

from __future__ import annotations

import gzip
import io
import json
import sys

import numpy as np
import pytest

from conftest import run_command
from flgp.tables import ReadOptions, Schema, TableError, prepare, read_blocks, read_table

pandas = pytest.importorskip("pandas")
nan = np.nan


def table(path, options=None):
    """The frame and what was said about it."""
    notes: list[str] = []
    return read_table(path, options, notes), " | ".join(notes)


# name: (extension, content, expected columns, parts of the notes)
READ = {
    "plain": (".csv", "a,b\n1,2.5\n3,4\n", {"a": [1, 3], "b": [2.5, 4]}, []),
    "byte-order mark": (".csv", b"\xef\xbb\xbfa,b\n1,2\n", {"a": [1], "b": [2]}, []),
    "utf-16": (".csv", "größe,b\n1,2\n".encode("utf-16"), {"größe": [1], "b": [2]}, ["UTF-16"]),
    "utf-16 without mark": (
        ".csv",
        ("alpha,beta\n" + "1,2\n" * 20).encode("utf-16-le"),
        {"alpha": [1] * 20, "beta": [2] * 20},
        ["UTF-16-LE"],
    ),
    "latin-1": (
        ".csv",
        "straße,größe\nMüllerweg,1\nKöln,2\n".encode("latin-1"),
        {"straße": ["Müllerweg", "Köln"], "größe": [1, 2]},
        ["not UTF-8 and was read as cp1252"],
    ),
    "cyrillic": (
        ".csv",
        ("город,население\n" + "Москва,12\nКазань,1\nПсков,2\n" * 5).encode("cp1251"),
        {"население": [12, 1, 2] * 5},
        ["not UTF-8", "cp1251"],
    ),
    "semicolons": (".csv", "a;b\n1;2.5\n3;4.5\n", {"a": [1, 3], "b": [2.5, 4.5]}, ["by semicolon"]),
    "decimal commas": (
        ".csv",
        "a;b\n1,5;x\n3,25;y\n",
        {"a": [1.5, 3.25], "b": ["x", "y"]},
        ["semicolon", "decimals are written with ','"],
    ),
    "thousands and decimal commas": (
        ".csv",
        "a;b\n1.234,5;1\n12,5;2\n1.000.000,0;3\n",
        {"a": [1234.5, 12.5, 1e6], "b": [1, 2, 3]},
        ["'.' was read as thousands mark"],
    ),
    "points among decimal commas": (
        ".csv",
        "a;b\n1,5;3.14\n2,5;2.71\n",
        {"a": [1.5, 2.5], "b": [3.14, 2.71]},
        ["column 'b': '.' was read as decimal mark"],
    ),
    "quoted thousands": (
        ".csv",
        'a,b\n"1,234",x\n"12,345.5",y\n7,z\n',
        {"a": [1234, 12345.5, 7]},
        ["column 'a': ',' was read as thousands mark"],
    ),
    "quoted decimal commas": (
        ".csv",
        'a,b\n"1,5",x\n"2,75",y\n',
        {"a": [1.5, 2.75]},
        ["column 'a': ',' was read as decimal mark"],
    ),
    "spaces in thousands": (
        ".csv",
        "a;b\n1 234;x\n12 345 678;y\n9;z\n",
        {"a": [1234, 12345678, 9]},
        ["read as thousands mark"],
    ),
    "apostrophes": (".csv", "a,b\n1'234.5,x\n2'000,y\n", {"a": [1234.5, 2000]}, ["read as thousands mark"]),
    "signs": (
        ".csv",
        'a,b\n"$1,200",5%\n$300,7.5%\n',
        {"a": [1200, 300], "b": [5, 7.5]},
        ["$ was removed", "% was removed"],
    ),
    "tabs in csv": (".csv", "a\tb\n1\t2\n", {"a": [1], "b": [2]}, ["separated by tab"]),
    "commas in tsv": (".tsv", "a,b\n1,2\n", {"a": [1], "b": [2]}, ["separated by comma"]),
    "bars": (".txt", "a|b\n1|2\n3|4\n", {"a": [1, 3], "b": [2, 4]}, ["vertical bar"]),
    "spaces": (".dat", "a   b\n 1   2\n30   4\n", {"a": [1, 30], "b": [2, 4]}, ["separated by spaces"]),
    "blanks around cells": (".csv", " a , b \n 1 ,  x \n 2 , y\n", {"a": [1, 2], "b": ["x", "y"]}, []),
    "marks of missing": (
        ".csv",
        "a,b,c\n1,?,red\nn/a,2,-\n3,NA,blue\n,4,\n",
        {"a": [1, nan, 3, nan], "b": [nan, 2, nan, 4], "c": ["red", None, "blue", None]},
        ["read as missing: 'n/a' (1) in 'a'; '?' (1), 'NA' (1) in 'b'; '-' (1) in 'c'"],
    ),
    "words among numbers": (
        ".csv",
        "a,drug\n1,None\nunknown,A\n3,None\nnone,B\n",
        {"a": [1, nan, 3, nan], "drug": ["None", "A", "None", "B"]},
        ["'unknown' (1), 'none' (1) in 'a'"],
    ),
    "not stated, in German": (
        ".csv",
        "a;b\n1,5;x\nk.A.;y\n#NV;z\n",
        {"a": [1.5, nan, nan]},
        ["'k.A.' (1), '#NV' (1) in 'a'"],
    ),
    "a word in most cells of a column of numbers": (
        ".csv",
        "a,b\n" + "".join(f"{i}.5,x\nnot measured,y\nnot measured,y\n" for i in range(20)),
        {"a": [v for i in range(20) for v in (i + 0.5, nan, nan)]},
        ["column 'a': numbers, but 'not measured' in 40 rows, read as missing"],
    ),
    "few numbers and a word are classes": (
        ".csv",
        "a,b\n" + "1,x\n2,x\nother,y\n" * 10,
        {"a": ["1", "2", "other"] * 10},
        [],
    ),
    "errors of a spreadsheet": (
        ".csv",
        "a,b\n1,2\n#DIV/0!,3\n#N/A,4\n",
        {"a": [1, nan, nan]},
        ["'#DIV/0!' (1)"],
    ),
    "a title above": (
        ".csv",
        "Export of 3 May\n\na,b,c\n1,2,3\n4,5,6\n",
        {"a": [1, 4], "b": [2, 5], "c": [3, 6]},
        ["1 line(s) above the header were skipped: 'Export of 3 May'"],
    ),
    "comments above": (".csv", "# made by x\n# y\na,b\n1,2\n", {"a": [1], "b": [2]}, ["2 line(s) above"]),
    "no header": (
        ".csv",
        "5.1,3.5\n4.9,3.0\n",
        {"x0": [5.1, 4.9], "x1": [3.5, 3.0]},
        ["the file has no header"],
    ),
    "wavelengths as names": (
        ".csv",
        "400,410,420\n0.1,0.2,0.3\n0.2,0.3,0.5\n",
        {"400": [0.1, 0.2], "420": [0.3, 0.5]},
        ["taken for the names", "use --no-header"],
    ),
    "separators at the end": (
        ".csv",
        "a,b\n1,2,\n3,4,\n",
        {"a": [1, 3], "b": [2, 4], "Unnamed: 2": [nan, nan]},
        [],
    ),
    "row names of R": (
        ".csv",
        '"a","b"\n"r1",1,2\n"r2",3,4\n',
        {"row": ["r1", "r2"], "a": [1, 3], "b": [2, 4]},
        ["first column holds row names"],
    ),
    "a column twice": (".csv", "a,b,a\n1,2,1\n3,4,3\n", {"a": [1, 3], "b": [2, 4]}, []),
    "postcodes": (
        ".csv",
        "code,b\n01234,1\n00501,2\n90210,3\n",
        {"code": ["01234", "00501", "90210"]},
        ["'code' has leading zeros and was read as text"],
    ),
    "line breaks in cells": (
        ".csv",
        'a,b\n1,"two\nlines"\n2,"x, y"\n',
        {"a": [1, 2], "b": ["two\nlines", "x, y"]},
        [],
    ),
    "windows line ends": (".csv", b"a,b\r\n1,2\r\n3,4\r\n", {"a": [1, 3], "b": [2, 4]}, []),
    "empty lines": (".csv", "\n\na,b\n1,2\n\n3,4\n\n", {"a": [1, 3], "b": [2, 4]}, []),
    "iso dates": (
        ".csv",
        "d,b\n2021-03-04,1\n2021-12-31,2\n",
        {"d": [np.datetime64("2021-03-04"), np.datetime64("2021-12-31")]},
        [],
    ),
    "dates with a day above 12": (
        ".csv",
        "d,b\n03/04/2021,1\n25/04/2021,2\n",
        {"d": [np.datetime64("2021-04-03"), np.datetime64("2021-04-25")]},
        [],
    ),
    "doubtful dates": (
        ".csv",
        "d,b\n03/04/2021,1\n05/06/2021,2\n",
        {"d": [np.datetime64("2021-03-04"), np.datetime64("2021-05-06")]},
        ["read with the month first; if that is wrong, use --dates day-first"],
    ),
    "german dates": (
        ".csv",
        "d;b\n03.04.2021;1\n05.06.2021;2\n",
        {"d": [np.datetime64("2021-04-03"), np.datetime64("2021-06-05")]},
        ["read with the day first"],
    ),
    "numbers but for one cell": (
        ".csv",
        "a,b\n" + "1,2\n" * 15 + "oops,3\n",
        {"a": ["1"] * 15 + ["oops"]},
        [],
    ),
    "lines of json": (
        ".jsonl",
        '{"a": 1, "b": "x"}\n{"a": null, "b": "?"}\n',
        {"a": [1, nan], "b": ["x", None]},
        ["'?' (1) in 'b'"],
    ),
    "an array of json": (".json", '[{"a": 1, "b": 2}, {"a": 3, "b": 4}]', {"a": [1, 3], "b": [2, 4]}, []),
}


@pytest.mark.parametrize("name", READ)
def test_read_right(name, tmp_path):
    ending, content, expected, said = READ[name]
    path = tmp_path / f"t{ending}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    frame, notes = table(path)
    for column, cells in expected.items():
        found = [None if pandas.isna(cell) else cell for cell in frame[column]]
        if frame[column].dtype.kind in "iuf":
            np.testing.assert_array_equal(np.array(found, float), np.array(cells, float))
        else:
            assert found == [pandas.Timestamp(c) if isinstance(c, np.datetime64) else c for c in cells]
    for part in said:
        assert part in notes
    if not said:
        assert notes == ""


# name: (extension, content, options, the sentence)
REFUSED = {
    "empty": (".csv", "", {}, "it is empty"),
    "blank": (".csv", "\n \n", {}, "it is empty"),
    "names only": (".csv", "a,b\n", {}, "has no rows"),
    "too many cells": (".csv", "a,b\n1,2\n3,4,5,6\n7,8\n", {}, "Expected 2 fields in line 3, saw 4"),
    "a quote without end": (".csv", 'a,b\n1,"2\n3,4\n', {}, "EOF inside string"),
    "two columns of one name": (".csv", "a,b,a\n1,2,3\n", {}, "Two columns have the same name, 'a'"),
    "not text": (".csv", b"a,b\n1,\x00\x01\n" * 3, {}, "it is not a text file"),
    "another encoding": (".csv", "größe,b\n1,2\n".encode("latin-1"), {"encoding": "utf-8"}, "not encoded as"),
    "old excel": (".xls", b"x", {}, "Save it as .xlsx"),
    "a picture": (".png", b"x", {}, "unknown file extension"),
    "no workbook": (".xlsx", b"PK nothing", {}, "cannot be read as XLSX"),
    "damaged gzip": (".csv.gz", b"\x1f\x8b no", {}, "cannot be read as CSV"),
    "broken json": (".jsonl", '{"a": 1\n', {}, "cannot be read as JSONL"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_sentence(name, tmp_path):
    ending, content, options, sentence = REFUSED[name]
    path = tmp_path / f"t{ending}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TableError) as caught:
        read_table(path, ReadOptions(**options))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_options_overrule_what_is_found(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,234;2\n5,678;3\n")
    frame, notes = table(path)
    assert frame["a"].tolist() == [1.234, 5.678]
    assert "decimals are written with ','" in notes
    assert table(path, ReadOptions(decimal="."))[0]["a"].tolist() == [1234, 5678]
    assert list(table(path, ReadOptions(sep="|"))[0]) == ["a;b"]
    path.write_text("7,8\n1,2\n")
    assert list(table(path)[0]) == ["7", "8"]
    assert table(path, ReadOptions(header=False))[0]["x0"].tolist() == [7, 1]
    path.write_text("d,e\n03/04/2021,-999\n05/06/2021,1\n")
    frame, notes = table(path, ReadOptions(dates="day-first", marks=("-999",)))
    assert frame["d"].dt.month.tolist() == [4, 6]
    assert np.isnan(frame["e"].iloc[0])
    assert "'-999' (1) in 'e'" in notes


def test_packed_text_workbooks_and_standard_input(tmp_path, monkeypatch):
    expected = pandas.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]}, index=[2, 3])
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write("a;b\n1,5;x\n2,5;y\n")
    pandas.testing.assert_frame_equal(table(tmp_path / "t.csv.gz")[0], expected, check_dtype=False)
    with pandas.ExcelWriter(tmp_path / "t.xlsx") as book:
        pandas.DataFrame([["A title", None], ["a", "b"], [1.5, " x "], [2.5, "y"]]).to_excel(
            book, sheet_name="first", index=False, header=False
        )
        pandas.DataFrame({"c": [1]}).to_excel(book, sheet_name="second", index=False)
    frame, notes = table(tmp_path / "t.xlsx")
    pandas.testing.assert_frame_equal(frame, expected.set_axis([3, 4]), check_dtype=False)
    assert "the first of 2 sheets was read, 'first'" in notes
    assert "1 row(s) above the header were skipped: 'A title'" in notes
    assert list(table(tmp_path / "t.xlsx", ReadOptions(sheet="second"))[0]) == ["c"]
    with pytest.raises(TableError, match=r"no sheet 'third'\. It has: first, second"):
        table(tmp_path / "t.xlsx", ReadOptions(sheet="third"))
    for content, first in (
        (b"a;b\n1,5;x\n2,5;y\n", 2),
        ((tmp_path / "t.xlsx").read_bytes(), 3),
        (b'{"a": 1.5, "b": "x"}\n{"a": 2.5, "b": "y"}\n', 1),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        rows = expected.set_axis([first, first + 1])
        pandas.testing.assert_frame_equal(table("-")[0], rows, check_dtype=False)


def test_blocks_are_the_table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"a": rng.normal(size=25), "k": rng.choice(["x", "?", "z"], 25)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    for name in ("t.csv", "t.parquet", "t.jsonl"):
        notes: list[str] = []
        blocks = list(read_blocks(tmp_path / name, 10, None, notes))
        assert [len(block.frame) for block in blocks] == [10, 10, 5]
        joined = pandas.concat([block.frame for block in blocks])
        pandas.testing.assert_frame_equal(joined, read_table(tmp_path / name), rtol=1e-9)
        assert any("'?'" in note for note in notes)


def test_rows_have_the_numbers_of_a_spreadsheet(tmp_path):
    """Below a header the first row is 2; titles, blank and empty rows count."""
    path = tmp_path / "t.csv"
    path.write_text("A title\n\na;b;c\n1;x;2\n\n3;y;oops\n;;\n5;z;4\n")
    frame = read_table(path)
    assert frame.index.tolist() == [4, 6, 8]
    assert frame["a"].tolist() == [1, 3, 5]
    assert [number for block in read_blocks(path, 2) for number in block.frame.index] == [4, 6, 8]
    path.write_text("1.5,2\n3.5,4\n")
    assert read_table(path).index.tolist() == [1, 2]
    pandas.DataFrame([["a", "b"], [1, 2], [None, None], [3, 4]]).to_excel(
        tmp_path / "t.xlsx", index=False, header=False, startrow=2
    )
    assert read_table(tmp_path / "t.xlsx").index.tolist() == [4, 6]
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n\n{"a": 2}\n')
    assert read_table(tmp_path / "t.jsonl").index.tolist() == [1, 3]
    assert [b.frame.index.tolist() for b in read_blocks(tmp_path / "t.jsonl", 2)] == [[1], [3]]
    path.write_text("a,y\n" + "".join(f"{i},{i}\n" for i in range(20)) + "\noops,3\n")
    assert "row 23 ('oops') is not a number" in " ".join(prepare(read_table(path), "y").notes)


# -- features ----------------------------------------------------------------------------------------------


def test_missing_features_are_filled_and_marked():
    frame = pandas.DataFrame({"a": [1.0, nan, 3.0, 8.0], "k": ["x", "x", None, "y"], "y": [1, 2, 3, 4]})
    schema = Schema.of(frame, "y", scaling="none")
    assert schema.feature_names == ["a", "a is missing", "k=x", "k=y", "k is missing"]
    X = schema.matrix(frame)
    np.testing.assert_array_equal(X[1], [3, 1, 1, 0, 0])
    np.testing.assert_array_equal(X[2], [3, 0, 1, 0, 1])
    assert "column 'a' has 1 missing value(s) of 4: replaced by the median 3" in schema.notes[0]
    # In a new table, columns that were complete may have holes; that is said.
    whole = Schema.of(frame.fillna({"a": 5.0, "k": "y"}), "y", scaling="none")
    notes: list[str] = []
    np.testing.assert_array_equal(whole.matrix(frame, notes)[1], [4, 1, 0])
    assert "though it had none in the fit: replaced by the median 4" in notes[0]
    refusing = Schema.of(frame.fillna({"a": 5.0, "k": "y"}), "y", missing="error")
    with pytest.raises(TableError, match="'a' has 1 missing"):
        refusing.matrix(frame)


def test_yes_and_no_dates_and_names_with_commas():
    days = pandas.date_range("2020-01-01", periods=800, freq="D")
    frame = pandas.DataFrame({"d": days, "ok": ["yes", "No"] * 400, "a, b": range(800), "y": range(800)})
    schema = Schema.of(frame, "y", ["d", "ok"], "none")
    assert schema.feature_names == [
        "d",
        "d (year, sin)",
        "d (year, cos)",
        "d (week, sin)",
        "d (week, cos)",
        "ok",
    ]
    X = schema.matrix(frame)
    np.testing.assert_array_equal(X[:4, 5], [1, 0, 1, 0])
    np.testing.assert_allclose(X[0, 3:5], X[7, 3:5], atol=1e-9)  # the same weekday
    np.testing.assert_allclose(np.hypot(X[:, 1], X[:, 2]), 1.0)
    new = pandas.DataFrame({"d": days[:2], "ok": [True, False]})
    np.testing.assert_array_equal(schema.matrix(new)[:, 5], [1, 0])
    found = prepare(frame, "y", features=["a, b,ok"], task="regression")
    assert found.schema.feature_names == ["a, b", "ok"]
    found = prepare(frame, "y", features=['"a, b"', "d"], exclude=["ok"], task="regression")
    assert [column.name for column in found.schema.columns] == ["a, b", "d"]
    assert prepare(frame, "y", exclude=["d,ok"], task="regression").schema.feature_names == ["a, b"]


def test_identifiers_and_mistakes_among_features_are_noted():
    rng = np.random.default_rng(0)
    n = 60
    frame = pandas.DataFrame(
        {
            "patient_id": rng.permutation(n) + 1000,
            "name": [f"p{i}" for i in range(n)],
            "x": [*rng.normal(size=n - 1).astype(str), "abc"],
            "code": [1.0, 2.0, nan] * (n // 3),
            "y": rng.normal(size=n),
        }
    )
    found = prepare(frame, "y", task="regression")
    said = " | ".join(found.notes)
    assert [column.name for column in found.schema.columns] == ["x", "code"]
    assert "'patient_id' has a different whole number in every row" in said
    assert "'name' is text with 60 different values" in said
    assert "'x' holds numbers, but row 59 ('abc') is not a number" in said
    assert "x is missing" in found.schema.feature_names
    # Categories that are numbers keep their names where a hole makes them floats.
    codes = frame.assign(code=["1", "2", "b"] * (n // 3))
    schema = Schema.of(codes, "y", ["code"])
    np.testing.assert_array_equal(schema.matrix(frame.head(2))[:, :2], [[1, 0], [0, 1]])


# -- the target --------------------------------------------------------------------------------------------


def target(cells, **options):
    values = pandas.Series(cells)
    frame = pandas.DataFrame({"x": np.random.default_rng(0).normal(size=len(values)), "y": values})
    return prepare(frame, "y", **options)


def test_a_target_of_numbers_with_a_few_other_cells_is_numbers():
    cells = [*np.linspace(0, 1, 30).astype(str), "broken", "12kg"]
    found = target(cells)
    assert found.likelihood == "gaussian"
    assert int(found.frame["y"].notna().sum()) == 30
    assert "row 30 ('broken'), row 31 ('12kg') are not a number: taken as unlabelled" in found.notes[-1]
    assert target(cells, task="classification").likelihood == "classes"


NOTED = {
    "0/1": ([0, 1] * 10, "classes", "has few distinct integers (0, 1) and is treated as classes"),
    "whole numbers": ([*range(30), 5, 5, 7], "gaussian", "if these are counts, use --task counts"),
    "words": (["a", "b"] * 10, "classes", None),
    "yes and no": (["yes", "no"] * 10, "classes", None),
    "fractions": (list(np.linspace(0, 1, 20)), "gaussian", None),
}


@pytest.mark.parametrize("name", NOTED)
def test_what_a_target_is(name):
    cells, likelihood, note = NOTED[name]
    found = target(cells)
    assert found.likelihood == likelihood
    assert (note in " ".join(found.notes)) if note else not found.notes


ASKED = {
    "one class": (["a"] * 20, "one class only, 'a'", "classification"),
    "names": ([f"person {i}" for i in range(40)], "looks like names", "classification"),
    "row numbers": (list(range(100, 140)), "numbers the rows", "regression"),
    "constant": ([2.5] * 20, "nothing to learn", "regression"),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_doubtful_target_is_a_question_that_task_answers(name):
    cells, sentence, task = ASKED[name]
    with pytest.raises(TableError) as caught:
        target(cells)
    assert sentence in str(caught.value)
    assert f"--task {task}" in str(caught.value)
    target(cells, task=task)


def test_dates_and_nothing_are_no_targets():
    with pytest.raises(TableError, match="holds dates"):
        target(pandas.date_range("2020-01-01", periods=9))
    with pytest.raises(TableError, match="empty in every row"):
        target([None] * 9)


def test_features_that_know_too_much_are_noted():
    rng = np.random.default_rng(0)
    y = rng.normal(size=40)
    known = np.arange(40) < 20
    frame = pandas.DataFrame(
        {
            "x": rng.normal(size=40),
            "fahrenheit": 32 + 1.8 * y,
            "paid": np.where(known, rng.normal(size=40), nan),
            "t": np.arange(40),
            "depth": np.where(np.arange(40) % 9 == 0, -999.0, rng.normal(size=40)),
            "y": np.where(known, y, nan),
        }
    )
    notes = prepare(frame, "y").notes
    assert any("'fahrenheit' determines the target" in note for note in notes)
    assert any("'paid' is known in exactly the labelled rows" in note for note in notes)
    assert any("'t' numbers the rows" in note for note in notes)
    assert any("'depth' has -999 in 5 row(s)" in note for note in notes)
    assert not any(note.startswith("column 'x'") for note in notes)
    classes = frame.assign(code=np.where(y > 0, "A", "B"), y=np.where(known, y > 0, None))
    assert any("'code' determines the target" in note for note in prepare(classes, "y").notes)


def test_the_command_line_tells_what_it_read(tmp_path, capsys):
    pytest.importorskip("typer")
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 200)
    lines = ["Größe;Datum;ok;y"]
    for i, a in enumerate(angle):
        label = f"{np.sin(a):.3f}".replace(".", ",") if i % 4 == 0 else "n/a"
        cell = "?" if i == 7 else f"{np.cos(a):.4f}".replace(".", ",")
        lines.append(f"{cell};{1 + i % 28:02d}.{1 + i % 12:02d}.2021;{'ja' if a > 3 else 'nein'};{label}")
    (tmp_path / "t.csv").write_bytes("\r\n".join(lines).encode("cp1252"))
    t, m, p = (tmp_path / name for name in ("t.csv", "m.flgp", "p.csv"))
    assert run_command("fit", t, "--target", "y", "-o", m, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["labelled"] == 50
    notes = " | ".join(said["notes"])
    for part in ("semicolon", "cp1252", "'n/a' (150) in 'y'", "'?' (1) in 'Größe'", "'Datum' is a date"):
        assert part in notes
    assert said["features"][:2] == ["Größe", "Größe is missing"]
    assert run_command("predict", m, t, "-o", p, "-q") == 0
    assert np.isfinite(pandas.read_csv(p, sep=";", decimal=",")["prediction"]).all()
