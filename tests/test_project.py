"""The files around the code agree: targets of make, workflows, the lock, versions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import flgp

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MAKEFILE = (ROOT / "Makefile").read_text()
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def targets_of_make():
    return {
        name for names in re.findall(r"^([\w -]+):(?!=)", MAKEFILE, re.MULTILINE) for name in names.split()
    }


def steps(path):
    """What the jobs of a workflow run, with the values of their matrix filled in."""
    yaml = pytest.importorskip("yaml")
    found = []
    for job in yaml.safe_load(path.read_text())["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        for step in job["steps"]:
            line = step.get("run", "")
            named = re.search(r"\$\{\{ matrix\.(\w+) \}\}", line)
            found += [line.replace(named[0], str(value)) for value in matrix[named[1]]] if named else [line]
    return [line for line in found if line]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_make_and_nothing_else(path):
    for line in steps(path):
        command, target = line.split()
        assert command == "make"
        assert target in targets_of_make()


def test_the_workflow_asks_what_the_gate_asks():
    gate = re.findall(r"^make ([\w-]+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert gate[0] == "install-locked"
    assert {"lint", "types", "coverage", "test-rest", "docs", "wheel-test", "audit"} == set(gate[1:])
    asked = {line.split()[1] for path in WORKFLOWS for line in steps(path)}
    # `test` is `coverage` and `test-rest` in one.
    assert (set(gate) - {"test-rest"}) | {"test", "test-lowest", "fuzz", "chaos"} <= asked


def test_the_tests_of_the_core_and_the_rest_are_all_tests():
    core = (
        re.search(r"^CORE_TESTS := ((?:.*\\\n)*.*)$", MAKEFILE, re.MULTILINE)[1].replace("\\\n", " ").split()
    )
    assert all((ROOT / name).exists() for name in core)
    assert "tests/test_interrupts.py" not in core
    assert "$(addprefix --ignore=,$(CORE_TESTS))" in MAKEFILE


def test_every_supported_python_is_tested():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    tested = set(re.findall(r"\d+\.\d+", re.search(r"python: \[(.*)\]", text)[1]))
    classifiers = " ".join(PROJECT["classifiers"])
    assert tested == set(re.findall(r"Python :: (\d\.\d+)", classifiers))
    assert PROJECT["requires-python"] == f">={min(tested, key=lambda version: int(version[2:]))}"


def test_the_lock_has_hashes_for_all_that_is_needed_and_names_no_host():
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    assert "--index" not in text
    entries = re.split(r"\n(?=\S)", text.replace("\\\n", " ").strip())
    locked = {}
    for entry in entries:
        name, version = re.match(r"([\w.-]+)(?:\[[^]]*\])?==([\w.+!-]+)", entry).groups()
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), name
        locked.setdefault(name.lower().replace("_", "-"), []).append(version)
    extras = PROJECT["optional-dependencies"]
    for rule in [*PROJECT["dependencies"], *(rule for rules in extras.values() for rule in rules)]:
        name, least = re.match(r"([\w.-]+)(?:\[[^]]*\])?(?:>=([\d.]+))?", rule).groups()
        if name != "flgp":
            for version in locked[name.lower()]:
                assert _numbers(version) >= _numbers(least), f"{name}: run `make lock`"


def _numbers(version):
    return [int(part) for part in re.findall(r"\d+", version)][:3]


def test_the_version_is_semantic_and_the_same_everywhere():
    assert re.fullmatch(r"\d+\.\d+\.\d+", flgp.__version__)
    assert f"version: {flgp.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == flgp.__version__


def test_hooks_before_a_commit_need_no_network():
    yaml = pytest.importorskip("yaml")
    for repository in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]:
        assert repository["repo"] == "local"
        assert all(hook["language"] == "system" for hook in repository["hooks"])


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_links_of_the_first_pages_lead_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target
