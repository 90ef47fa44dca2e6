"""The commands on one's own data, from a table to a report, and every error in one sentence."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flgp
from conftest import ring, run_command
from flgp import FLGPRegressor, HeatKernelFeatures

pandas = pytest.importorskip("pandas")
pytest.importorskip("typer")
from flgp.cli import app  # noqa: E402
from flgp.cli.fit import _folds  # noqa: E402
from flgp.cli.predict import rounded  # noqa: E402


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The same points in every format, with a number and a class to predict."""
    folder = tmp_path_factory.mktemp("tables")
    X, angle = ring(400, noise=0.02)
    known = np.arange(400) % 8 == 0
    frame = pandas.DataFrame({"u": 100 * X[:, 0], "v": X[:, 1]})
    frame["height"] = np.where(known, np.sin(angle), np.nan)
    frame.to_csv(folder / "n.csv", index=False)
    frame.to_csv(folder / "n.tsv", index=False, sep="\t")
    frame.to_parquet(folder / "n.parquet")
    frame.to_feather(folder / "n.feather")
    np.savez(folder / "n.npz", X=frame[["u", "v"]].to_numpy(), height=frame["height"])
    np.save(folder / "n.npy", frame.to_numpy())
    classes = frame.drop(columns="height")
    classes["side"] = np.where(X[:, 0] > 0, "east", "west")
    classes["zone"] = np.where(known, np.array(["a", "b", "c"])[(angle / 2.1).astype(int)], None)
    classes.to_csv(folder / "c.csv", index=False)
    return folder, frame, classes


def run(capsys, *arguments):
    """Exit code, standard output and standard error of a command."""
    return (run_command(*arguments), *capsys.readouterr())


def succeed(capsys, *arguments):
    code, out, err = run(capsys, *arguments)
    assert code == 0, err
    return out, err


def refuse(capsys, message, *arguments):
    """A command ends with one sentence that holds the message."""
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


@pytest.fixture(scope="module")
def model(tables):
    folder, _, _ = tables
    run_command("fit", folder / "n.csv", "--target", "height", "-o", folder / "m.flgp", "--quiet")
    return folder / "m.flgp"


def test_from_table_to_predictions(tables, tmp_path, capsys):
    folder, frame, _ = tables
    out, err = succeed(capsys, "fit", folder / "n.csv", "--target", "height", "-o", tmp_path / "m.flgp")
    assert "400 rows, 50 of them labelled; 2 features, scaling: standard." in out
    assert "'height' is a number: FLGPRegressor" in out
    assert "anchors for 400 points" in err
    out, _ = succeed(capsys, "predict", tmp_path / "m.flgp", folder / "n.tsv", "-o", tmp_path / "p.csv")
    found = pandas.read_csv(tmp_path / "p.csv")
    assert list(found) == ["prediction", "std", "lower", "upper", "distance"]
    X = frame[["u", "v"]].to_numpy()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    direct = FLGPRegressor(random_state=0).fit(X, frame["height"])
    # Six significant digits are written.
    np.testing.assert_allclose(found["prediction"], direct.predict(X), rtol=1e-5)
    np.testing.assert_allclose(found["std"], direct.predict(X, return_std=True)[1], rtol=1e-5)
    np.testing.assert_allclose(found[["lower", "upper"]], direct.predict_interval(X), rtol=1e-5)
    assert max(len(cell.lstrip("-0.").replace(".", "")) for cell in _cells(tmp_path / "p.csv")) <= 10
    succeed(
        capsys, "predict", tmp_path / "m.flgp", folder / "n.tsv", "-o", tmp_path / "p.csv", "--digits", 17
    )
    found = pandas.read_csv(tmp_path / "p.csv")
    np.testing.assert_allclose(found["prediction"], direct.predict(X), atol=1e-9)


def _cells(path):
    return [cell for line in path.read_text().splitlines()[1:] for cell in line.split(",") if "e" not in cell]


@pytest.mark.parametrize("ending", ["tsv", "parquet", "feather", "npz", "npy"])
def test_every_format_gives_the_same_predictions(tables, model, tmp_path, capsys, ending):
    folder, _, _ = tables
    names = {"npz": "height", "npy": "x2"}
    target = names.get(ending, "height")
    succeed(capsys, "fit", folder / f"n.{ending}", "--target", target, "-o", tmp_path / "o.flgp", "-q")
    out = "p.npz" if ending == "npy" else f"p.{ending}"
    succeed(capsys, "predict", tmp_path / "o.flgp", folder / f"n.{ending}", "-o", tmp_path / out, "-q")
    succeed(capsys, "predict", model, folder / "n.csv", "-o", tmp_path / "p.csv", "-q")
    found = flgp.tables.read_table(tmp_path / out)
    expected = pandas.read_csv(tmp_path / "p.csv")
    np.testing.assert_allclose(found["prediction"], expected["prediction"], atol=1e-6)


def test_classes_and_categories(tables, tmp_path, capsys):
    folder, _, classes = tables
    out, _ = succeed(capsys, "fit", folder / "c.csv", "--target", "zone", "-o", tmp_path / "m.flgp", "--json")
    said = json.loads(out)
    assert said["classes"] == ["a", "b", "c"]
    assert said["features"] == ["u", "v", "side=east", "side=west"]
    assert said["labelled"] == 50
    assert said["notes"][0] == "column 'side' is categorical: one indicator per value, 2 in total"
    again = ("predict", tmp_path / "m.flgp", folder / "c.csv", "--keep", "-o", tmp_path / "p.csv")
    succeed(capsys, *again, "--digits", 17)
    found = pandas.read_csv(tmp_path / "p.csv")
    known = classes["zone"].notna()
    assert (found["flgp_prediction"] == classes["zone"])[known].mean() > 0.95
    sums = found.filter(like="flgp_probability_").sum(axis=1)
    np.testing.assert_allclose(sums, 1.0)
    assert list(found["side"]) == list(classes["side"])


def test_new_categories_are_noted(tables, tmp_path, capsys):
    folder, _, classes = tables
    succeed(capsys, "fit", folder / "c.csv", "--target", "zone", "-o", tmp_path / "m.flgp", "-q")
    classes.assign(side="north").to_csv(tmp_path / "new.csv", index=False)
    arguments = ("predict", tmp_path / "m.flgp", tmp_path / "new.csv", "-o", tmp_path / "p.csv", "--json")
    out, _ = succeed(capsys, *arguments)
    assert "column 'side' has new values in 400 row(s)" in json.loads(out)["notes"][0]


def test_the_screen_takes_predictions_too(tables, model, tmp_path, capsys):
    folder, _, _ = tables
    out, err = succeed(capsys, "predict", model, folder / "n.csv")
    assert out.splitlines()[0] == "prediction,std,lower,upper,distance"
    assert len(out.splitlines()) == 401
    assert err == ""
    away = tmp_path / "away.csv"
    pandas.DataFrame({"u": [1e6, 0.0], "v": [1e6, 1.0]}).to_csv(away, index=False)
    out, err = succeed(capsys, "predict", model, away)
    assert len(out.splitlines()) == 3
    assert "Note: 1 row(s) are far from all fitted points" in err
    assert succeed(capsys, "predict", model, away, "-q")[1] == ""


def test_quiet_is_quiet(tables, model, tmp_path, capsys):
    folder, _, _ = tables
    assert succeed(capsys, "report", model, folder / "n.csv", "-o", tmp_path / "r.html", "-q") == ("", "")


def test_report(tables, model, tmp_path, capsys):
    folder, _, _ = tables
    arguments = ("report", model, folder / "n.csv", "-o", tmp_path / "r.html", "--json", "--max-points", 300)
    out, _ = succeed(capsys, *arguments)
    assert json.loads(out)["points"] == 300
    text = (tmp_path / "r.html").read_text()
    assert "prediction of height" in text
    assert "Scaling: standard." in text
    assert "300 of the 400 points" in text


def test_info(model, capsys):
    out, _ = succeed(capsys, "info", model, "--json")
    said = json.loads(out)
    assert said["target"] == "height"
    assert said["features"] == ["u", "v"]
    assert said["versions"]["numpy"] == np.__version__
    out, _ = succeed(capsys, "info", model)
    assert "u; v" in out


def test_options_reach_the_estimator(tables, tmp_path, capsys):
    folder, _, _ = tables
    arguments = ["fit", folder / "n.csv", "--target", "height", "-o", tmp_path / "m.flgp", "-q"]
    arguments += ["--option", "n_anchors=33", "--option", "base_kernel=se", "--option", "bandwidth=0.5"]
    succeed(capsys, *arguments, "--features", "v,u", "--scaling", "none", "--likelihood", "student_t")
    model = flgp.load(tmp_path / "m.flgp")
    assert model.estimator.n_anchors == 33
    assert model.estimator.base_kernel == "se"
    assert model.estimator.likelihood_.name == "student_t"
    assert model.schema.feature_names == ["v", "u"]
    assert all(column.scale == 1.0 for column in model.schema.columns)


def test_a_model_saved_from_python_predicts_tables(tmp_path, capsys):
    X, angle = ring(200)
    frame = pandas.DataFrame(X, columns=["left", "right"])
    frame.assign(other=1.0)[["other", "right", "left"]].to_csv(tmp_path / "t.csv", index=False)
    model = FLGPRegressor(random_state=0).fit(frame, np.sin(angle))
    flgp.save(model, tmp_path / "m.flgp")
    succeed(capsys, "predict", tmp_path / "m.flgp", tmp_path / "t.csv", "-o", tmp_path / "p.csv")
    found = pandas.read_csv(tmp_path / "p.csv")["prediction"]
    np.testing.assert_allclose(found, model.predict(frame), rtol=1e-5)


def test_whole_numbers_are_classes_unless_told(tmp_path, capsys):
    X, angle = ring(200)
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "k": (angle > 3).astype(float)})
    frame.loc[::2, "k"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    out, _ = succeed(capsys, "fit", tmp_path / "t.csv", "--target", "k", "-o", tmp_path / "m.flgp", "--json")
    assert json.loads(out)["classes"] == [0, 1]
    assert "treated as classes" in json.loads(out)["notes"][0]
    arguments = ("fit", tmp_path / "t.csv", "--target", "k", "-o", tmp_path / "m.flgp", "--json")
    out, _ = succeed(capsys, *arguments, "--likelihood", "gaussian")
    assert json.loads(out)["classes"] is None


ERRORS = {
    "no table": (["fit", "none.csv", "--target", "y"], "There is no file none.csv"),
    "no column": (["fit", "{n}", "--target", "weight"], "There is no column 'weight'"),
    "no feature": (["fit", "{n}", "--target", "height", "--features", "q"], "There is no column 'q'"),
    "target as feature": (["fit", "{n}", "--target", "u", "--features", "u,v"], "cannot be a feature too"),
    "likelihood": (
        ["fit", "{n}", "--target", "height", "--likelihood", "cauchy"],
        "--likelihood='cauchy' is not known",
    ),
    "scaling": (["fit", "{n}", "--target", "height", "--scaling", "log"], "--scaling='log' is not known"),
    "bad count": (["fit", "{n}", "--target", "height", "--likelihood", "poisson"], "whole numbers"),
    "fractions": (["fit", "{n}", "--target", "height", "--likelihood", "classes"], "cannot be a class"),
    "text": (
        ["fit", "{c}", "--target", "zone", "--likelihood", "gaussian"],
        "that are not numbers, such as 'b'",
    ),
    "option": (["fit", "{n}", "--target", "height", "--option", "n_anchors"], "must be NAME=VALUE"),
    "option value": (["fit", "{n}", "--target", "height", "--option", "n_anchors=-3"], "at least 1"),
    "missing": (["fit", "{n}", "--target", "u", "--missing", "error"], "Column 'height' has 350 missing"),
    "missing rule": (["fit", "{n}", "--target", "u", "--missing", "drop"], "--missing='drop' is not known"),
    "task": (["fit", "{n}", "--target", "height", "--task", "guess"], "--task='guess' is not known"),
    "two tasks": (
        ["fit", "{n}", "--target", "height", "--task", "counts", "--likelihood", "classes"],
        "contradict each other",
    ),
    "near column": (["fit", "{n}", "--target", "Heigth"], "Did you mean 'height'?"),
    "separator": (["fit", "{n}", "--target", "height", "--sep", "::"], "is not one character"),
    "decimal": (["fit", "{n}", "--target", "height", "--decimal", "x"], "is not a decimal mark"),
    "encoding": (["fit", "{n}", "--target", "height", "--encoding", "martian"], "is unknown"),
    "dates": (
        ["fit", "{n}", "--target", "height", "--dates", "year-first"],
        "'year-first' is not known",
    ),
    "excluded target": (["fit", "{n}", "--target", "height", "--exclude", "height"], "both wanted and excl"),
    "no folder": (
        ["fit", "{n}", "--target", "height", "-o", "gone/m.flgp"],
        "gone for m.flgp. Create it",
    ),
    "no model": (["predict", "none.flgp", "{n}"], "There is no file none.flgp"),
    "not a model": (["predict", "{n}", "{n}"], "is a table, not a model"),
    "coverage": (["predict", "{m}", "{n}", "--coverage", "95"], "not between 0 and 1"),
    "json and screen": (["predict", "{m}", "{n}", "--json"], "--json needs --output"),
    "ending": (["predict", "{m}", "{n}", "-o", "p.xls"], "unknown file extension"),
    "columns": (["predict", "{m}", "{z}", "-o", "p.csv"], "lacks the column(s) 'u', 'v'"),
    "not html": (["report", "{m}", "{n}", "-o", "r.pdf"], "ends in .html"),
    "garbage": (["fit", "{g}", "--target", "y"], "cannot be read as PARQUET"),
    "info": (["info", "{g}"], "is a table, not a model"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_one_sentence_without_a_traceback(name, tables, model, tmp_path, capsys, monkeypatch):
    folder, _, _ = tables
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.parquet").write_bytes(b"nonsense")
    pandas.DataFrame({"a": [1.0, 2.0]}).to_csv(tmp_path / "z.csv", index=False)
    places = {"n": folder / "n.csv", "c": folder / "c.csv", "m": model, "z": tmp_path / "z.csv"}
    places["g"] = tmp_path / "g.parquet"
    arguments, expected = ERRORS[name]
    code, out, err = run(capsys, *(part.format(**places) for part in arguments))
    assert code == 2
    assert out == ""
    assert err.splitlines()[-1].startswith("Error: ")
    assert expected in err
    assert "Traceback" not in err


def test_a_transformer_has_no_predictions(tmp_path, capsys):
    flgp.save(HeatKernelFeatures(random_state=0).fit(ring(100)[0]), tmp_path / "m.flgp")
    refuse(capsys, "cannot predict", "info", tmp_path / "m.flgp")


@pytest.fixture
def counts(tmp_path):
    """Counts with exposures, and successes of trials, on a ring."""
    X, angle = ring(300, noise=0.02)
    rng = np.random.default_rng(4)
    frame = pandas.DataFrame({"u": X[:, 0], "v": X[:, 1], "hours": rng.uniform(1, 9, 300)})
    frame["events"] = rng.poisson(frame["hours"] * np.exp(np.sin(angle))).astype(float)
    frame["tries"] = rng.integers(3, 9, 300)
    frame["hits"] = rng.binomial(frame["tries"], 0.5 + 0.4 * np.sin(angle)).astype(float)
    frame["care"] = rng.uniform(0.5, 2, 300)
    frame.loc[np.arange(300) % 3 != 0, ["events", "hits", "care"]] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv", frame, angle


@pytest.mark.parametrize(
    ("target", "likelihood", "option", "column", "argument"),
    [
        ("events", "poisson", "--exposure", "hours", "exposure"),
        ("hits", "binomial", "--trials", "tries", "trials"),
        ("events", "gaussian", "--weight", "care", "sample_weight"),
    ],
)
def test_columns_that_tell_about_the_labels(
    counts, tmp_path, capsys, target, likelihood, option, column, argument
):
    path, frame, _ = counts
    chosen = ("--features", "u,v", "--likelihood", likelihood, option, column)
    succeed(capsys, "fit", path, "--target", target, "-o", tmp_path / "m.flgp", *chosen, "-q")
    X = frame[["u", "v"]].to_numpy()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    direct = FLGPRegressor(likelihood=likelihood, random_state=0)
    direct.fit(X, frame[target], **{argument: frame[column]})
    found = flgp.load(tmp_path / "m.flgp").estimator
    np.testing.assert_allclose(found.predict(X), direct.predict(X), atol=1e-8)


@pytest.mark.parametrize(
    ("target", "likelihood", "argument", "column"),
    [("events", "poisson", "exposure", "hours"), ("hits", "binomial", "trials", "tries")],
)
def test_predictions_use_the_column_of_the_fit(
    counts, tmp_path, capsys, target, likelihood, argument, column
):
    path, frame, _ = counts
    model, out, option = tmp_path / "m.flgp", tmp_path / "p.csv", f"--{argument}"
    chosen = ("--features", "u,v", "--likelihood", likelihood, option, column, "-q")
    succeed(capsys, "fit", path, "--target", target, "-o", model, *chosen)

    def predicted(table, *more):
        succeed(capsys, "predict", model, table, "-o", out, "-q", "--digits", 17, *more)
        return pandas.read_csv(out)

    found = flgp.load(model)
    assert found.schema.about == {argument: column}
    X = found.schema.matrix(frame)
    own = {argument: frame[column]}
    mean, std = found.estimator.predict(X, return_std=True, **own)
    table = predicted(path)
    np.testing.assert_allclose(table["prediction"], mean, rtol=1e-8)
    np.testing.assert_allclose(table["std"], std, rtol=1e-8)
    np.testing.assert_allclose(table[["lower", "upper"]], found.estimator.predict_interval(X, **own))
    np.testing.assert_allclose(predicted(path, option, "1")["prediction"], found.estimator.predict(X))
    renamed = tmp_path / "renamed.csv"
    frame.rename(columns={column: "other"}).to_csv(renamed, index=False)
    np.testing.assert_allclose(predicted(renamed, option, "other")["prediction"], mean, rtol=1e-8)
    text, _ = succeed(capsys, "info", model, "--json")
    assert json.loads(text)[argument] == column
    frame.loc[3, column] = -1.0
    frame.to_csv(tmp_path / "negative.csv", index=False)
    errors = [
        ((renamed,), f"lacks the column {column!r} with the {argument}. Add it"),
        ((renamed, option, "0"), "is not positive"),
        ((path, "--trials" if argument == "exposure" else "--exposure", "1"), "does not use"),
        ((tmp_path / "negative.csv",), f"not positive in 1 row(s). Correct it, or use {option} 1."),
    ]
    for arguments, message in errors:
        refuse(capsys, message, "predict", model, *arguments, "-o", out)


def test_the_report_compares_labels_at_their_exposures(counts, tmp_path, capsys, monkeypatch):
    path, frame, _ = counts
    model = tmp_path / "m.flgp"
    chosen = ("--features", "u,v", "--likelihood", "poisson", "--exposure", "hours", "-q")
    succeed(capsys, "fit", path, "--target", "events", "-o", model, *chosen)
    frame.loc[frame["events"].isna(), "hours"] = np.nan  # only labels need one
    frame.to_csv(tmp_path / "t2.csv", index=False)
    asked = []
    plain = FLGPRegressor.predict_interval

    def seen(self, X, coverage=0.95, **sizes):
        asked.append(sizes)
        return plain(self, X, coverage, **sizes)

    monkeypatch.setattr(FLGPRegressor, "predict_interval", seen)
    succeed(capsys, "report", model, tmp_path / "t2.csv", "-o", tmp_path / "r.html", "-q")
    hours = frame["hours"][frame["events"].notna()]
    # Each label is predicted once, in one of the folds, at its own exposure.
    assert len(asked) == 5
    found = np.concatenate([sizes["exposure"] for sizes in asked])
    np.testing.assert_allclose(np.sort(found), np.sort(hours))
    assert "prediction of events (exposure 1)" in (tmp_path / "r.html").read_text()
    again = ("report", model, path, "-o", tmp_path / "r.html")
    refuse(capsys, "lacks the column 'days'", *again, "--exposure", "days")


def test_a_column_about_the_labels_is_no_feature_and_is_checked(counts, tmp_path, capsys):
    _, frame, _ = counts
    table = tmp_path / "small.csv"
    frame[["u", "v", "hours", "events"]].to_csv(table, index=False)
    start = ("fit", table, "--target", "events", "-o", tmp_path / "m.flgp", "--json")
    out, _ = succeed(capsys, *start, "--likelihood", "poisson", "--exposure", "hours")
    assert json.loads(out)["features"] == ["u", "v"]
    frame.assign(hours=np.where(frame["events"].notna(), 0.0, 1.0)).to_csv(tmp_path / "zero.csv", index=False)
    cases = [
        (("--exposure", "days"), "there is no column 'days'"),
        (("--weight", "events"), "already has another use"),
        (("--exposure", "hours", "--features", "u,hours"), "already has another use"),
        (("--likelihood", "classes", "--trials", "hours"), "Classes have no trials"),
        (("--likelihood", "gaussian", "--exposure", "hours"), "does not use exposure"),
    ]
    for arguments, message in cases:
        refuse(capsys, message, *start, *arguments)
    zero = ("fit", tmp_path / "zero.csv", "--target", "events", "--exposure", "hours", "--features", "u,v")
    refuse(capsys, "not positive in 100 labelled row(s)", *zero, "-q")


def test_evaluate(tables, tmp_path, capsys):
    folder, frame, _ = tables
    output = tmp_path / "held.csv"
    arguments = ("evaluate", folder / "n.csv", "--target", "height", "--cv", 4, "-o", output)
    out, err = succeed(capsys, *arguments)
    assert "ridge regression" in out
    assert "Most surprising rows:" in out
    assert "50 labelled rows, each predicted without its own label (4 folds)" in out
    assert "cross-validation with 4 folds" in err
    assert "posterior" not in err.split("cross-validation")[0].splitlines()[-1]
    held = pandas.read_csv(output)
    known = np.flatnonzero(frame["height"].notna())
    assert held["flgp_row"].tolist() == (known + 2).tolist()
    np.testing.assert_allclose(held["flgp_label"], frame["height"][known])
    np.testing.assert_allclose(held["u"], frame["u"][known])
    out, _ = succeed(capsys, "evaluate", folder / "c.csv", "--target", "zone", "--json")
    said = json.loads(out)
    assert np.sum(said["confusion"]) == 50
    assert said["accuracy"] == said["scores"]["flgp"]["accuracy"] > 0.8
    assert len(said["worst"]) == 10
    assert "Rows of each class" in succeed(capsys, "evaluate", folder / "c.csv", "--target", "zone")[0]


def test_rounded_numbers_are_written_short():
    values = [1 / 3, -2e5 / 3, 1e-20 / 3, 2e30 / 3, 0.0, np.nan, np.inf, 5e-324]
    own = pandas.DataFrame({"prediction": values, "probability_a": values, "distance": values})
    shown = rounded(own, 6).to_csv(index=False).splitlines()[1:]
    assert [line.split(",")[0] for line in shown] == [
        "0.333333",
        "-66666.7",
        "3.33333e-21",
        "6.66667e+29",
        "0.0",
        "",
        "inf",
        "5e-324",
    ]
    assert shown[2].split(",")[1:] == ["0.0", "0.0"]
    pandas.testing.assert_frame_equal(rounded(own, 17), own)


def test_fit_and_evaluate_share_their_options():
    """What learns from a table is asked for once; `evaluate` shows what `fit` would do."""
    own = {"fit": {"output", "cv", "compact"}, "evaluate": {"output", "cv"}}
    commands = {
        c.callback.__name__: inspect.signature(c.callback).parameters for c in app.registered_commands
    }
    options = {name: {k: p.default for k, p in commands[name].items() if k not in own[name]} for name in own}
    assert options["fit"] == options["evaluate"]
    assert {"features", "task", "missing", "option", "sep"} <= options["fit"].keys()


def test_fit_ends_with_a_verdict(tables, tmp_path, capsys):
    folder, _, _ = tables
    start = ("fit", folder / "n.csv", "--target", "height", "-o", tmp_path / "m.flgp")
    out, _ = succeed(capsys, *start)
    assert "What predictions rest on: " in out
    assert "The best plain method is" in out
    out, _ = succeed(capsys, *start, "--cv", 0)
    assert "The best plain method is" not in out
    assert "How good is it? flgp evaluate" in out
    assert f"Next: flgp report {tmp_path / 'm.flgp'} {folder / 'n.csv'}" in out
    out, _ = succeed(capsys, *start, "--cv", 3, "--json")
    assert json.loads(out)["evaluation"]["folds"] == 3
    refuse(capsys, "leaves no label", *start, "--cv", 1)


def test_numbers_that_a_table_is_too_small_for_are_noted(tables, tmp_path, capsys):
    folder, _, _ = tables
    fit = ("fit", folder / "n.csv", "--target", "height", "-o", tmp_path / "m.flgp")
    arguments = (*fit, "--json", "--cv", 0)
    out, _ = succeed(capsys, *arguments, "--option", "n_anchors=5000")
    assert "n_anchors=5000 was reduced to 400" in " | ".join(json.loads(out)["notes"])
    out, _ = succeed(capsys, *arguments, "--option", "n_anchors=6", "--option", "n_neighbors=9")
    assert "n_neighbors=9 was reduced to the number of anchors, 6" in " | ".join(json.loads(out)["notes"])


def test_help_needs_no_scientific_library():
    """It must come at once: scikit-learn alone takes a second or more to import."""
    code = (
        "import sys, contextlib, io\nfrom flgp.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main(['--help'])\n"
        "print(sorted({'sklearn', 'scipy', 'pandas', 'matplotlib'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_label(tables, model, tmp_path, capsys):
    folder, frame, _ = tables
    start = ("label", model, folder / "n.csv", "-o", tmp_path / "next.csv")
    out, _ = succeed(capsys, *start, "-n", 7, "--json")
    found = pandas.read_csv(tmp_path / "next.csv")
    assert json.loads(out)["rows"] == found["flgp_row"].tolist()
    assert len(found) == 7
    assert frame["height"][found["flgp_row"] - 2].isna().all()
    np.testing.assert_allclose(found["u"], frame["u"][found["flgp_row"] - 2])
    assert {"height", "flgp_prediction"} <= set(found)
    refuse(capsys, "350 row(s) without a label", *start, "-n", 4000)
    refuse(capsys, "--strategy='best' is not known", *start, "--strategy", "best")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "csv.gz"])
def test_blocks_give_the_same_predictions(tables, model, tmp_path, capsys, ending):
    folder, _, _ = tables
    source = folder / ("n.parquet" if ending == "parquet" else "n.csv")
    start = ("predict", model, source, "--keep", "-q")
    succeed(capsys, *start, "-o", tmp_path / f"whole.{ending}")
    succeed(capsys, *start, "-o", tmp_path / f"parts.{ending}", "--block-rows", 150)
    whole, parts = (flgp.tables.read_table(tmp_path / f"{name}.{ending}") for name in ("whole", "parts"))
    assert len(parts) == 400
    pandas.testing.assert_frame_equal(whole, parts)
    assert not list(tmp_path.glob(".*"))  # nothing half-written is left


def test_drift_is_an_exit_code(tables, model, tmp_path, capsys):
    _, frame, _ = tables
    frame.assign(u=np.where(np.arange(400) < 40, 1e5, frame["u"])).to_csv(tmp_path / "new.csv", index=False)
    start = ("predict", model, tmp_path / "new.csv", "-o", tmp_path / "p.csv", "--json")
    code, out, _ = run(capsys, *start, "--max-far-share", 0.2)
    assert (code, json.loads(out)["far"], json.loads(out)["drift"]) == (0, 40, False)
    code, out, _ = run(capsys, *start, "--max-far-share", 0.05)
    assert code == 3
    assert json.loads(out)["far_share"] == 0.1
    assert "the data changed" in json.loads(out)["notes"][-1]
    code, out, _ = run(capsys, *start, "--max-far-share", 0.05, "--far", 1e9)
    assert (code, json.loads(out)["far"]) == (0, 0)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory as Linux tells it")
def test_prediction_of_a_long_file_needs_the_memory_of_a_block(tables, tmp_path, capsys):
    folder, frame, _ = tables
    model = tmp_path / "m.flgp"
    fit = ("fit", folder / "n.csv", "--target", "height", "-o", model, "-q", "--option", "n_anchors=50")
    succeed(capsys, *fit)
    pandas.concat([frame] * 400).to_csv(tmp_path / "long.csv", index=False)  # 160,000 rows
    code = (
        "import re, sys\nfrom flgp.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) / 1024)"
    )

    def megabytes(table, rows):
        command = ["predict", model, table, "-o", tmp_path / "p.csv", "-q", "--block-rows", rows]
        command = [sys.executable, "-c", code, *map(str, command)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    short, long, whole = (
        megabytes(folder / "n.csv", 4_000),
        megabytes(tmp_path / "long.csv", 4_000),
        megabytes(tmp_path / "long.csv", 10**6),
    )
    assert len(pandas.read_csv(tmp_path / "p.csv")) == 160_000
    assert long - short < 0.7 * (whole - short)


def test_a_table_with_predictions_in_it_is_predicted_and_labelled_again(tables, model, tmp_path, capsys):
    folder, _, _ = tables
    answer, again, chosen = tmp_path / "answer.csv", tmp_path / "again.csv", tmp_path / "to_label.csv"
    out, _ = succeed(capsys, "predict", model, folder / "n.csv", "--keep", "-o", answer)
    assert "flgp_prediction" in out
    succeed(capsys, "predict", model, answer, "--keep", "-o", again)
    assert answer.read_text() == again.read_text()
    succeed(capsys, "label", model, answer, "-n", 3, "-o", chosen)
    assert pandas.read_csv(chosen).columns.tolist() == ["flgp_row", "height", "u", "v", "flgp_prediction"]
    told = succeed(capsys, "fit", answer, "--target", "height", "-o", tmp_path / "second.flgp", "--cv", 0)
    assert "written by flgp" in " ".join("".join(told).split())


def test_fit_says_how_to_evaluate_the_same_model(tables, tmp_path, capsys):
    folder, _, _ = tables
    options = ("--exclude", "u", "--task", "regression", "--option", "n_anchors=50")
    out, _ = succeed(
        capsys, "fit", folder / "n.csv", "--target", "height", "--cv", 0, "-o", tmp_path / "m.flgp", *options
    )
    assert "--target height --exclude u --task regression --option n_anchors=50" in " ".join(out.split())


GERMAN = {
    "größe": ["1,50", "2,25", "-0,75", "10,00", "1.234,50"],
    "tag": ["03.01.2021", "25.12.2021", "14.02.2022", "01.07.2022", "31.12.2022"],
    "zeit": ["08:30", "23:45", "k.A.", "12:00", "07:15"],
    "straße": ["=Müllerweg", "Köln; Mitte", "?", "Süd", "n/a"],
}


def german(path, repeats=12):
    """A table as German Excel saves it, with a number to predict; returns its lines."""
    rng = np.random.default_rng(0)
    lines = ["größe;tag;zeit;straße;wert"]
    for i in range(5 * repeats):
        cells = [column[i % 5] for column in GERMAN.values()]
        cells[0] = f"{rng.uniform(0, 100):.2f}".replace(".", ",") if i >= 5 else cells[0]
        value = f"{rng.normal():.3f}".replace(".", ",") if i % 3 == 0 else "k.A."
        lines.append(";".join([f'"{cell}"' if ";" in cell else cell for cell in cells] + [value]))
    path.write_bytes("\n".join([*lines, ""]).encode("cp1252"))
    return lines


@pytest.mark.parametrize("block_rows", [7, 100])
def test_keep_keeps_the_cells_and_the_dialect(tmp_path, capsys, block_rows):
    path, model, out = tmp_path / "daten.csv", tmp_path / "m.flgp", tmp_path / "antwort.csv"
    lines = german(path)
    succeed(capsys, "fit", path, "--target", "wert", "-o", model, "--cv", 0, "-q")
    succeed(capsys, "predict", model, path, "--keep", "-o", out, "-q", "--block-rows", block_rows)
    written = out.read_bytes().decode("cp1252").splitlines()
    assert len(written) == len(lines)
    for before, after in zip(lines, written, strict=True):
        assert after.startswith(f"{before};")
    first = written[1].split(";")[5:]
    assert all(float(cell.replace(",", ".")) is not None and "." not in cell for cell in first)
    # Another round finds the same table; a format with types gets numbers and dates.
    succeed(capsys, "predict", model, out, "--keep", "-o", tmp_path / "again.csv", "-q")
    assert (tmp_path / "again.csv").read_bytes() == out.read_bytes()
    succeed(capsys, "predict", model, path, "--keep", "-o", tmp_path / "a.xlsx", "-q")
    book = pandas.read_excel(tmp_path / "a.xlsx")
    assert book["größe"][:5].tolist() == [1.5, 2.25, -0.75, 10.0, 1234.5]
    assert book["tag"][1] == pandas.Timestamp("2021-12-25")
    # Numbers are no formulas.
    succeed(capsys, "predict", model, path, "--keep", "-o", out, "-q", "--escape-formulas")
    third = out.read_bytes().decode("cp1252").splitlines()[1:4]
    assert third[0].split(";")[3] == "'=Müllerweg"
    assert third[2].startswith("-0,75;")


def test_every_written_table_has_the_dialect_of_the_one_read(tmp_path, capsys):
    path, model = tmp_path / "daten.csv", tmp_path / "m.flgp"
    lines = german(path)
    succeed(capsys, "fit", path, "--target", "wert", "-o", model, "--cv", 0, "-q")
    succeed(capsys, "label", model, path, "-n", 3, "-o", tmp_path / "l.csv", "-q")
    rows = (tmp_path / "l.csv").read_bytes().decode("cp1252").splitlines()
    assert rows[0] == "flgp_row;wert;größe;tag;zeit;straße;flgp_prediction"
    for row in rows[1:]:
        number, empty, *cells = row.split(";")
        assert empty == ""
        assert lines[int(number) - 1].startswith(";".join(cells[:2]))
        assert len(cells[-1]) <= 9  # six digits
    succeed(capsys, "evaluate", path, "--target", "wert", "-o", tmp_path / "e.csv", "-q")
    rows = (tmp_path / "e.csv").read_bytes().decode("cp1252").splitlines()
    assert rows[0].startswith("flgp_row;flgp_label;flgp_prediction;")
    assert rows[1].endswith(lines[1])
    out, _ = succeed(capsys, "predict", model, path)
    assert out.splitlines()[0] == "prediction;std;lower;upper;distance"
    path.write_text(
        "größe;tag;zeit;straße\n1,5;03.01.2021;8:00;Žižkov\n2,5;04.01.2021;9:00;x\n", encoding="cp1250"
    )
    code, _, err = run(
        capsys, "predict", model, path, "--keep", "-o", tmp_path / "p.csv", "--encoding", "cp1250"
    )
    assert code == 0, err


def test_label_writes_an_empty_target_where_the_table_has_none(tables, model, tmp_path, capsys):
    _, frame, _ = tables
    frame.drop(columns="height").to_csv(tmp_path / "new.csv", index=False)
    out, _ = succeed(capsys, "label", model, tmp_path / "new.csv", "-n", 4, "-o", tmp_path / "l.csv")
    found = pandas.read_csv(tmp_path / "l.csv")
    assert found.columns.tolist() == ["flgp_row", "height", "u", "v", "flgp_prediction"]
    assert found["height"].isna().all()
    assert "Fill in 'height'" in out


def test_levels_are_predicted_as_levels(counts, tmp_path, capsys):
    path, frame, angle = counts
    rng = np.random.default_rng(0)
    frame["grade"] = np.digitize(np.sin(angle) + 0.2 * rng.normal(size=300), [-0.5, 0.5]) + 1.0
    truth = frame["grade"].to_numpy(copy=True)
    frame.loc[np.arange(300) % 3 != 0, "grade"] = np.nan
    frame[["u", "v", "grade"]].to_csv(path, index=False)
    model, out = tmp_path / "m.flgp", tmp_path / "p.csv"
    succeed(capsys, "fit", path, "--target", "grade", "--likelihood", "ordinal", "-o", model, "-q")
    succeed(capsys, "predict", model, path, "-o", out, "-q", "--digits", 17)
    found = pandas.read_csv(out)
    each = ["probability_1", "probability_2", "probability_3"]
    assert found.columns.tolist() == ["prediction", "mean", *each, "distance"]
    assert found["prediction"].dtype.kind == "i"
    direct = flgp.load(model)
    X = direct.schema.matrix(frame)
    np.testing.assert_allclose(found[each], direct.estimator.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(found["mean"], direct.estimator.predict(X), atol=1e-9)
    np.testing.assert_array_equal(found["prediction"], found[each].to_numpy().argmax(axis=1) + 1)
    assert np.mean(found["prediction"] == truth) > 0.8
    frame["grade"] = frame["grade"].map({1.0: "low", 2.0: "fair", 3.0: "high"})
    frame[["u", "v", "grade"]].to_csv(path, index=False)
    code, _, err = run(capsys, "fit", path, "--target", "grade", "--likelihood", "ordinal", "-o", model)
    assert code == 2
    assert "Number the levels in their order" in err


def test_errors_name_rows_as_the_file_counts_them(counts, tmp_path, capsys):
    path, frame, _ = counts
    frame.loc[6, "events"] = 2.5
    frame[["u", "v", "events"]].to_csv(path, index=False)
    code, _, err = run(
        capsys, "fit", path, "--target", "events", "--task", "counts", "-o", tmp_path / "m.flgp"
    )
    assert code == 2
    assert "this fails in row 8." in err  # below the header, line 8


def test_a_class_that_the_encoding_of_the_table_lacks(tables, tmp_path, capsys):
    _, _, frame = tables
    wide = frame.assign(zone=frame["zone"].replace({"a": "Ω"}))
    wide.to_csv(tmp_path / "c.csv", index=False)
    succeed(capsys, "fit", tmp_path / "c.csv", "--target", "zone", "-o", tmp_path / "m.flgp", "--cv", 0, "-q")
    named = frame.assign(name="Köln").to_csv(index=False)
    (tmp_path / "new.csv").write_bytes(named.encode("cp1252"))
    again = ("predict", tmp_path / "m.flgp", tmp_path / "new.csv", "-o")
    code, _, err = run(capsys, *again, tmp_path / "p.csv")
    assert code == 2
    assert "cannot write 'Ω'" in err
    assert not (tmp_path / "p.csv").exists()
    succeed(capsys, *again, tmp_path / "p.xlsx")


def test_many_labels_of_many_classes_are_not_cross_validated_unasked():
    assert _folds(None, 900, 284, False) == 0
    assert _folds(None, 900, 10, False) == 5
    assert _folds(5, 900, 284, False) == 5


def test_a_table_in_the_place_of_the_model_and_one_row(tables, model, tmp_path, capsys):
    folder, _, _ = tables
    refuse(capsys, "Name a model first", "predict", folder / "n.csv", model)
    (tmp_path / "one.csv").write_text("a,b,y\n1,2,3\n")
    refuse(capsys, "The table has one row", "fit", tmp_path / "one.csv", "--target", "y")
