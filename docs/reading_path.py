"""The table in docs/contributing.md: the lines to read to follow one fit.

Run: .venv/bin/python docs/reading_path.py [--write]
It prints the count; with --write it also brings the page up to date. A test compares the two.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "flgp"
PAGE = ROOT / "docs" / "contributing.md"

# In the order of reading: a file, and its functions, classes and methods on the path.
PATH = {
    "estimators/regressor.py": "FLGPRegressor.fit FLGPRegressor._problem",
    "estimators/_model.py": "HeatKernelModel._validated HeatKernelModel._geometry "
    "HeatKernelModel._roles HeatKernelModel._fit_geometry HeatKernelModel._keep_geometry",
    "estimators/_fitting.py": "fit_model _attempt _settings _terms_on _labeled_inputs _finish",
    "geometry/base.py": "Eigenbasis FittedGeometry",
    "geometry/point_cloud/cloud.py": "PointCloud.fit FittedCloud.locate FittedCloud.basis CloudBasis",
    "terms/base.py": "Inputs Term Terms",
    "terms/manifold.py": "Manifold",
    "process/learning.py": "learn learn_on learn_function evidence_of make_inference",
    "process/evidence.py": "Target HyperSpace Evidence",
    "process/search.py": "starting_points maximize",
    "inference/gaussian.py": "GaussianInference",
    "process/posterior.py": "make_process _component _gaussian",
}


def lines_of(file: str, names: str) -> int:
    """Lines of some definitions of a file, decorators, docstrings, comments and blank lines included."""
    found = {}
    for node in ast.parse((SOURCE / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            own = {
                f"{node.name}.{part.name}": part for part in node.body if isinstance(part, ast.FunctionDef)
            }
            found |= {node.name: node, **own}
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = node
    total = 0
    for name in names.split():
        node = found[name]
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        total += node.end_lineno - first + 1
    return total


def table() -> str:
    """The rows of the page's table."""
    counts = {file: lines_of(file, names) for file, names in PATH.items()}
    rows = []
    for place, (file, names) in enumerate(PATH.items(), 1):
        read = ", ".join(f"`{name}`" for name in names.split())
        rows.append(f"| {place} | `src/flgp/{file}` | {read} | {counts[file]} |")
    total = f"| | {len(counts)} files | | {sum(counts.values()):,} |"
    return "\n".join([*rows, total]) + "\n"


def updated(page: str) -> str:
    """The page with this table."""
    pattern = r"(\| \| file \| read \| lines \|\n\| .*\n)(\|.*\n)*"
    return re.sub(pattern, lambda found: found[1] + table(), page, count=1)


def main() -> None:
    print(table())
    if "--write" in sys.argv[1:]:
        PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
