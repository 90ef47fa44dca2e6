"""The README's lines work as typed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.filterwarnings("ignore")
def test_readme_examples_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert "accuracy 1.0" in said
    predicted, truth = re.search(r"five new points (\[.*?\]) truth (\[.*?\])", said).groups()
    assert predicted == truth


OPTIONAL = """matplotlib typer rich dask nibabel nilearn polyagamma pandas polars arviz pyarrow h5py zarr"""


def test_import_needs_no_optional_dependency():
    # scikit-learn imports pandas where it is installed: what counts is what flgp adds.
    code = (
        "import sys, sklearn.cluster, sklearn.metrics; before = set(sys.modules); import flgp; "
        f"print(sorted(set('{OPTIONAL}'.split()) & (set(sys.modules) - before)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
