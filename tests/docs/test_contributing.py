"""The page for contributors shows the source as it is, and the way of a fit is short enough to read."""

from __future__ import annotations

import runpy

import pytest
from pages import DOCS

reading = runpy.run_path(str(DOCS / "reading_path.py"), run_name="reading_path")
PAGE = (DOCS / "contributing.md").read_text(encoding="utf-8")


def test_the_page_shows_the_source_as_it_is():
    remedy = "run python docs/reading_path.py --write"
    assert reading["updated"](PAGE) == PAGE, remedy


@pytest.mark.parametrize("file", ["src/flgp/geometry/circle.py", "src/flgp/terms/groups.py"])
def test_a_whole_file_is_shown(file):
    text = (DOCS.parent / file).read_text(encoding="utf-8")
    assert f"```{{code-block}} python\n:caption: {file}\n\n{text}```\n" in PAGE


def test_from_fit_to_the_posterior_is_short():
    counts = [reading["lines_of"](file, names) for file, names in reading["PATH"].items()]
    assert len(counts) <= 12
    assert sum(counts) <= 1100
