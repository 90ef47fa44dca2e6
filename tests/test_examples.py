"""The examples run, and show what they say."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_uncertainty_sampling_needs_fewer_labels(capsys):
    example = runpy.run_path(str(EXAMPLES / "active_learning.py"))
    curves = example["main"](runs=2)
    chosen, random = curves["least certain"], curves["random"]
    assert chosen[10] > 0.95
    assert chosen[5:15].mean() > random[5:15].mean() + 0.05
    assert len(capsys.readouterr().out.splitlines()) == 8
