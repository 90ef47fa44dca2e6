"""The README's lines work as typed, and the layers import only from those before them."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "flgp"

# What each part of the core may import, in the order of the data flow.
FLOW = [
    ("_typing", "_threads", "_progress"),
    ("blocks",),
    ("arrow", "sources"),
    ("graph",),
    ("eigensolvers",),
    ("spectrum", "kernels", "intrinsic_dimension"),
    ("feature_map",),
    ("likelihoods",),
    ("inference",),
    ("residual",),
    ("estimators",),
]


@pytest.mark.filterwarnings("ignore")
def test_readme_examples_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert "accuracy 1.0" in capsys.readouterr().out


def test_the_core_imports_only_from_what_comes_before_it():
    rank = {name: position for position, names in enumerate(FLOW) for name in names}
    for path in SOURCE.rglob("*.py"):
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if part not in rank:
            continue
        depth = len(path.relative_to(SOURCE).parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or node.level != depth or not node.module:
                continue
            target = node.module.split(".")[0]
            assert target in rank, f"{path.name} of the core imports the leaf {target}"
            assert rank[target] <= rank[part], f"{path} imports {target}, which comes after it"


OPTIONAL = """matplotlib typer rich dask nibabel nilearn polyagamma pandas polars arviz pyarrow h5py zarr"""


def test_import_needs_no_optional_dependency():
    # scikit-learn imports pandas where it is installed: what counts is what flgp adds.
    code = (
        "import sys, sklearn.cluster, sklearn.metrics; before = set(sys.modules); import flgp; "
        f"print(sorted(set('{OPTIONAL}'.split()) & (set(sys.modules) - before)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
