"""The figures of README and pages are those of the rows in results/."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from flgp.experiments.summary import BLOCKS, renewed, summarize_results
from flgp.experiments.summary.__main__ import DOCUMENTS, main

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results"
here = pytest.mark.skipif(not RESULTS.exists(), reason="the sdist has no results")


@here
def test_the_summary_is_that_of_the_rows():
    assert (RESULTS / "summary.json").read_text(encoding="utf-8") == summarize_results(RESULTS).text(), (
        "results/ has changed: run `make summary`"
    )


@here
@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_say_what_the_summary_says(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "<!-- generated: " in text
    assert renewed(text, summarize_results(RESULTS)) == text, "run `make summary`"


@here
def test_every_block_stands_somewhere():
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in DOCUMENTS)
    assert all(f"<!-- generated: {name} -->" in text for name in BLOCKS)


@here
def test_statistics_are_numpys():
    with (RESULTS / "mnist" / "rows.csv").open(newline="") as file:
        case = {"n": "70000", "method": "lk", "model": "paper"}
        values = [
            float(row["error"]) for row in csv.DictReader(file) if all(row[key] == case[key] for key in case)
        ]
    cell = summarize_results(RESULTS).cell("mnist", "error", n=70_000, method="lk", model="paper")
    assert cell.count == len(values) > 3
    assert cell.mean == pytest.approx(np.mean(values), rel=1e-5)
    assert cell.sd == pytest.approx(np.std(values, ddof=1), rel=1e-5)
    assert cell.largest == pytest.approx(max(values), rel=1e-5)


def write_rows(folder, value):
    """A spiral experiment of two repeats."""
    (folder / "spiral").mkdir(parents=True, exist_ok=True)
    about = {"flgp": "0", "seed": 0, "python": "3", "libraries": {}}
    (folder / "spiral" / "run.json").write_text(json.dumps(about))
    lines = [f"4000,lk,paper,{i},{value + i},,1.5,2.0,0badc0de" for i in range(2)]
    head = "n,method,model,repeat,rmse,mse,nll,seconds,checksum"
    (folder / "spiral" / "rows.csv").write_text("\n".join([head, *lines, ""]))


def test_changed_rows_show(tmp_path):
    write_rows(tmp_path, 1.0)
    before = summarize_results(tmp_path)
    assert before.cell("spiral", "rmse", method="lk").mean == 1.5
    assert before.cell("spiral", "rmse", method="lk").count == 2
    with pytest.raises(KeyError):
        before.cell("spiral", "mse", method="lk")  # empty cells are not measured
    with pytest.raises(LookupError, match="no rows with"):
        before.cell("spiral", "rmse", method="egp")
    write_rows(tmp_path, 2.0)
    assert summarize_results(tmp_path).text() != before.text()


def test_unknown_blocks_are_named():
    with pytest.raises(LookupError, match="No block 'nothing'"):
        renewed("<!-- generated: nothing -->\nx\n<!-- end -->", summarize_results(Path("nowhere")))


@here
def test_the_command_writes_nothing_but_what_it_makes(tmp_path):
    import shutil

    shutil.copytree(
        RESULTS, tmp_path / "results", ignore=shutil.ignore_patterns("*.png", "*.pdf", "summary.json")
    )
    for name in DOCUMENTS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    main(tmp_path)
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert set(after) - set(before) == {tmp_path / "results" / "summary.json"}
    assert all(after[path] == before[path] for path in before)
