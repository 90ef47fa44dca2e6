"""Examples in docstrings run, and everything public has its place in the reference."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest
from pages import DOCS

import flgp

# Importing these runs a program, or is for the processes of a benchmark.
_PROGRAMS = ("flgp.__main__", "flgp.experiments.bench.child")
MODULES = [
    name for _, name, _ in pkgutil.walk_packages(flgp.__path__, "flgp.") if not name.startswith(_PROGRAMS)
]
PUBLIC = (
    "flgp",
    "flgp.geometry",
    "flgp.likelihoods",
    "flgp.datasets",
    "flgp.metrics",
    "flgp.plotting",
    "flgp.model_selection",
    "flgp.baselines",
    "flgp.neuro",
)


def examples(name):
    pytest.importorskip("matplotlib").use("Agg")
    module = importlib.import_module(name)
    return [test for test in doctest.DocTestFinder().find(module, name) if test.examples]


@pytest.mark.parametrize("name", ["flgp", *MODULES])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_examples_of_a_module_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    for test in examples(name):
        runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_public_is_in_the_reference(name):
    module = importlib.import_module(name)
    reference = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md"))
    public = getattr(module, "__all__", None) or [
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and inspect.isroutine(value) and value.__module__ == name
    ]
    for key in public:
        if key != "__version__":
            assert f"{name}.{key}\n" in reference, f"{name}.{key} is not in docs/api"


@pytest.mark.parametrize(
    "name", ["flgp", "flgp.likelihoods", "flgp.metrics", "flgp.plotting", "flgp.model_selection"]
)
def test_what_is_public_has_an_example(name):
    module = importlib.import_module(name)
    public = [key for key in getattr(module, "__all__", vars(module)) if not key.startswith("_")]
    for key in public:
        value = getattr(module, key)
        mine = getattr(value, "__module__", "").startswith("flgp")
        result = inspect.isclass(value) and (issubclass(value, tuple | Exception) or key == "Observations")
        if mine and not result and (inspect.isclass(value) or inspect.isroutine(value)):
            assert ">>>" in (value.__doc__ or ""), f"{name}.{key} has no example"
