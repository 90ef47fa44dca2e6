"""The extension that runs the code of pages when the site is built."""

from __future__ import annotations

import sys

import pytest
from pages import DOCS

pytest.importorskip("docutils")
sys.path.insert(0, str(DOCS / "_ext"))
from executed import run


def test_what_a_block_prints_and_its_last_value_are_shown():
    names: dict = {}
    assert run("x = 2\nprint('two')\nx + 1\n", names) == "two\n3\n"
    assert run("y = x\n", names) == ""  # names go on from block to block
    assert run("import sys\nprint('loud', file=sys.stderr)\n", names) == "loud\n"
    with pytest.raises(ZeroDivisionError):
        run("1 / 0", names)


def test_drawings_are_not_shown_as_text():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    assert run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\n", {}) == ""
    pyplot.close("all")


def test_the_pages_that_are_run_exist():
    conf = (DOCS / "conf.py").read_text(encoding="utf-8")
    names = conf.split("executed_pages = [")[1].split("]")[0].replace('"', "").split(",")
    for name in names:
        assert (DOCS / f"{name.strip()}.md").is_file()
