"""The page for contributors counts the lines as they are, and one fit is short enough to read."""

from __future__ import annotations

import runpy

from pages import DOCS

reading = runpy.run_path(str(DOCS / "reading_path.py"), run_name="reading_path")
PAGE = (DOCS / "contributing.md").read_text(encoding="utf-8")


def test_the_page_counts_the_lines_as_they_are():
    remedy = "run python docs/reading_path.py --write"
    assert reading["updated"](PAGE) == PAGE, remedy


def test_from_fit_to_the_posterior_is_short():
    counts = [reading["lines_of"](file, names) for file, names in reading["PATH"].items()]
    assert len(counts) <= 12
    assert sum(counts) <= 1100
