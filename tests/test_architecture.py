"""The rules that keep the design: who may import whom, how deep classes go, what the core signatures say."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import flgp
import flgp.estimators
from flgp import baselines

SOURCE = Path(flgp.__file__).parent

# A package imports only from those before it in this list, lazily or not.
ORDER = [
    "_typing _words _versions",
    "_threads _progress _linalg _stored _files _arviz",
    "rows",
    "geometry",
    "kernels priors likelihoods",
    "terms",
    "inference",
    "process",
    "estimators",
    # Leaves: the core imports none of them.
    "datasets metrics baselines tables",
    "io model_selection views",
    "plotting",
    "neuro report",
    "experiments",
    "cli",
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names.split()}
CORE = [name for name in RANK if RANK[name] <= RANK["estimators"]]


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Every module of ours that a file imports, as (package, full name), wherever in the file it does."""
    inside = ["flgp", *path.relative_to(SOURCE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom):
            base = inside[: len(inside) - node.level + 1] if node.level else []
            module = [*base, *(node.module.split(".") if node.module else [])]
            names = [".".join(module)] if module != ["flgp"] else [f"flgp.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
            names = [node.args[0].value] if isinstance(node.args[0], ast.Constant) else []
        for name in names:
            if name.startswith("flgp."):
                yield name.split(".")[1], name


FILES = [path for path in SOURCE.rglob("*.py") if part_of(path) not in ("__init__", "__main__")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_package_imports_only_from_those_before_it(path):
    own = part_of(path)
    for target, name in imported(path):
        if target in RANK and target != own:
            assert RANK[target] < RANK[own], f"{path} imports {name}, which comes after {own}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_leading_underscore_stays_inside_its_package(path):
    own = part_of(path)
    for target, name in imported(path):
        inner = name.split(".")[2:]
        if target != own and target in RANK:
            assert not any(part.startswith("_") for part in inner), f"{path} imports {name}"


def test_every_package_has_a_place():
    known = {part_of(path) for path in FILES}
    assert known == set(RANK)


@pytest.mark.parametrize(
    "kind", [flgp.FLGPRegressor, flgp.FLGPClassifier, flgp.HeatKernelFeatures, baselines.GLGPRegressor]
)
def test_no_inheritance_deeper_than_two_below_scikit_learn(kind):
    def depth(cls):
        return max((1 + depth(base) for base in cls.__bases__ if issubclass(base, BaseEstimator)), default=0)

    assert depth(kind) - depth(BaseEstimator) <= 2


def test_no_function_of_the_core_takes_threads_or_messages():
    """Both are in a context, which whoever starts a computation opens."""
    for path in (path for path in FILES if part_of(path) in CORE):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                names = {argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]}
                assert not names & {"n_threads", "n_jobs"} or path.name == "_threads.py", (
                    f"{path}: {node.name}"
                )


@pytest.mark.parametrize("package", ["geometry", "terms", "inference", "process"])
def test_the_signatures_of_the_core_name_their_types(package):
    """`Any` stands for what users hand in, never for an object of ours: not below the estimators."""
    # Each basis has its own places, which a protocol cannot say; the others are what users hand in.
    allowed = {"places", "near", "X", "axes", "vertices", "faces", "adjacency"}
    for path in (path for path in FILES if part_of(path) == package):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                for argument in [*node.args.args, *node.args.kwonlyargs]:
                    kind = argument.annotation
                    if isinstance(kind, ast.Name) and kind.id == "Any":
                        assert argument.arg in allowed, f"{path}: {node.name}({argument.arg})"


def test_the_shared_keywords_stand_once():
    """Signatures come from the fields of dataclasses; `help`, `get_params` and type checkers see them all."""
    keywords = set(inspect.signature(flgp.FLGPClassifier).parameters)
    assert {"n_anchors", "geometry", "linear", "groups", "hyperparameters", "multi_class"} <= keywords
    for kind in (flgp.FLGPRegressor, flgp.FLGPClassifier, flgp.HeatKernelFeatures):
        assert "def __init__" not in inspect.getsource(kind)
        assert set(kind().get_params()) == set(inspect.signature(kind).parameters)


def test_the_reading_order_names_every_file_of_the_estimators():
    said = set(re.findall(r"\w+", flgp.estimators.__doc__))
    files = {path.stem for path in (SOURCE / "estimators").glob("*.py")}
    # Small helpers that explain themselves.
    assert files - {"__init__", "_docs", "validation", "noted", "fitted_rows", "prior"} <= said
