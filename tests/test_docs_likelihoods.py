"""The code of the page on likelihoods runs, and what it says about length is true."""

import re
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[1] / "docs" / "likelihoods.md"


def test_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    (definition,) = (block for block in blocks if "@dataclass" in block)
    own = definition[definition.index("@dataclass") :]
    assert len(own.strip().splitlines()) <= 20
    names: dict = {}
    # A dataclass looks its module up, so the names need one.
    names["__name__"] = "likelihoods_page"
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    rate = names["rate"]
    assert names["error"] < 0.35 * np.std(rate)
