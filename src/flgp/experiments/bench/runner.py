"""Runs methods on problems: alternating, one at a time, each in a child process."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from .cases import Case, Problem
from .child import METHODS, anonymous_bytes


@dataclass(frozen=True)
class Run:
    """One timed run, or the reason why there is none."""

    case: str
    method: str
    n: int
    repeat: int
    threads: int
    seconds: float = float("nan")
    memory: float = float("nan")  # peak bytes beyond the data (for R: of the whole process)
    error: float = float("nan")  # fraction of wrong classes, or root mean squared error; unlabelled rows
    cpu: float = float("nan")  # seconds of all threads: what a busy machine does not change
    status: str = "ok"


def available_methods(methods: Sequence[str], peers_python: str | None = None) -> dict[str, str]:
    """The methods that can run here, with the interpreter that has the package of each."""
    found = {}
    for method in methods:
        if method.startswith("r-"):
            if r_package():
                found[method] = "Rscript"
            continue
        for python in (sys.executable, *([peers_python] if peers_python else [])):
            if _imports(python, METHODS[method][0]):
                found[method] = python
                break
    return found


@cache
def _imports(python: str, package: str) -> bool:
    code = f"import importlib.util as u, sys; sys.exit(u.find_spec({package!r}) is None)"
    return subprocess.run([python, "-c", code], capture_output=True).returncode == 0


@cache
def r_package() -> bool:
    """Whether R and its package FLGP are installed."""
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", "library(FLGP)"], capture_output=True).returncode == 0


def run_case(
    case: Case,
    *,
    sizes: Sequence[int] | None = None,
    methods: Sequence[str] | None = None,
    repeats: int = 3,
    threads: int = 1,
    timeout: float = 3600.0,
    peers_python: str | None = None,
    report: Callable[[Run], None] = lambda run: None,
) -> list[Run]:
    """Every method on the case at every size, `repeats` times with a new problem, the methods in turn.

    Runs are stopped after `timeout` seconds, and the later repeats of that method are skipped. `peers_python`
    is another interpreter in which peers may be installed. `report` is called with every run as it ends.
    """
    wanted = case.methods if methods is None else tuple(methods)
    unknown = set(wanted) - set(METHODS) - {"r-flgp-lk", "r-flgp-sk"}
    if unknown:
        raise ValueError(f"unknown methods {sorted(unknown)}. Use some of {', '.join(case.methods)}.")
    interpreters = available_methods(wanted, peers_python)
    runs: list[Run] = []
    for n in case.sizes if sizes is None else sizes:
        trying = list(wanted)  # a method without a result is not tried again at this size
        for repeat in range(repeats):
            problem = case.make(n, repeat)
            options = {**case.settings, "seed": repeat, "task": problem.task}
            with tempfile.TemporaryDirectory(prefix="flgp-bench-") as name:
                _write(problem, Path(name), any(method.startswith("r-") for method in interpreters))
                for method in tuple(trying):
                    result: dict[str, Any]
                    if method not in interpreters:
                        result = {"status": "not installed"}
                    elif n > case.limits.get(method, n):
                        result = {"status": "n too large"}
                    else:
                        result = _run_child(method, interpreters[method], name, threads, options, timeout)
                    if "status" in result:
                        trying.remove(method)
                    runs.append(Run(case.name, method, n, repeat, threads, **result))
                    report(runs[-1])
    return runs


def _write(problem: Problem, folder: Path, for_r: bool) -> None:
    arrays = {name: getattr(problem, name) for name in ("X", "y", "labeled", "targets")}
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
        if for_r:
            np.ascontiguousarray(values, dtype="<f8").tofile(folder / f"{name}.bin")
    n, p = problem.X.shape
    (folder / "shape.txt").write_text(f"{n} {p} {len(problem.labeled)}\n")


def _run_child(
    method: str, interpreter: str, folder: str, threads: int, options: dict[str, Any], timeout: float
) -> dict[str, Any]:
    here = files(__package__)
    script = [str(here / "flgp.R")] if interpreter == "Rscript" else ["-P", str(here / "child.py")]
    pairs = [f"{name}={value}" for name, value in options.items()]
    command = [interpreter, *script, method, folder, str(threads), *pairs]
    with (
        tempfile.TemporaryFile("w+") as output,
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=output, stderr=errors, text=True) as process,
    ):
        peak, deadline = 0, time.monotonic() + timeout
        while process.poll() is None:
            peak = max(peak, anonymous_bytes(process.pid) or 0)
            if time.monotonic() > deadline:
                process.kill()
                return {"status": f"more than {timeout:g} s"}
            time.sleep(0.02)
        output.seek(0)
        errors.seek(0)
        lines = output.read().strip().splitlines()
        if process.returncode != 0 or not lines:
            reason = errors.read().strip().splitlines()
            return {"status": "failed: " + (reason[-1] if reason else f"exit {process.returncode}")}
    result = json.loads(lines[-1])
    if result["memory"] is None:
        result["memory"] = float(peak) if peak else float("nan")
    if result["error"] is None:
        result["error"] = float("nan")
    return result
