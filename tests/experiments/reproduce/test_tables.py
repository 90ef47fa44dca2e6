"""Cells and formats."""

import numpy as np
import pytest

from flgp.experiments.reproduce.published import CIRCLES, bar
from flgp.experiments.reproduce.tables import Table, cell, number, summarize

ROWS = [{"n": 1, "x": 1.0}, {"n": 1, "x": 3.0}, {"n": 2, "x": 5.0}, {"n": 2, "x": ""}]


def test_summaries_are_means_and_standard_deviations():
    found = summarize(ROWS, "x", n=1)
    assert found.mean == 2.0
    assert found.sd == pytest.approx(np.std([1, 3], ddof=1))
    assert cell(found, 2) == "2.00(1.41)"
    assert cell(summarize(ROWS, "x", n=2)) == "5.0"
    assert cell(summarize(ROWS, "x", n=3)) == number(None) == "–"


def test_markdown_and_csv():
    table = Table("t", "Title", ("a", "b|c"), [("1", "2,3")], "Note.")
    assert table.markdown() == "### Title\n\n| a | b\\|c |\n| --- | --- |\n| 1 | 2,3 |\n\nNote.\n"
    assert table.csv() == 'a,b|c\n1,"2,3"\n'


def test_bars():
    published = CIRCLES["lk"][3000]  # 5.8(3.3), 20 repeats
    assert bar("lk", 5.8 + 1.4, published, 20) == "met"
    assert bar("lk", 5.8 + 1.6, published, 20) == "not met"
    assert bar("lr", 29.1 + 9.1, CIRCLES["lr"][3000], 20) == "met"
